"""The identity of files: names that move to other files, and inodes that are reused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile

from .support import ioassay

REPLACED_BY_A_CHILD = """
import os, subprocess
def write(name, size):
    with open(name, "wb", buffering=0) as file:
        file.write(bytes(size))
    return os.stat(name).st_ino
ref = write("ref", 1000)
write("new", 500)
subprocess.run(["mv", "-f", "new", "ref"], check=True)
assert ref in [write(f"made{number}", 2000) for number in range(20)], "no inode was used again"
"""
"""The child's `mv` frees the inode of `ref`, and a file that is made afterwards gets it."""

MADE_ANEW = """
import os
def write(name, size):
    with open(name, "wb", buffering=0) as file:
        file.write(bytes(size))
    return os.stat(name).st_ino
inodes = set()
for number in range(40):
    inodes.add(write(f"temporary{number}", 100))
    os.unlink(f"temporary{number}")
assert len(inodes) < 40, "no inode was used again"
for number in range(5):
    write("checkpoint.new", 700)
    os.rename("checkpoint.new", "checkpoint")
    os.stat("checkpoint")
with open("checkpoint", "rb", buffering=0) as file:
    file.read(700)
for again in range(3):
    write("same", 10)
"""


@pytest.fixture
def recorded(disk: Callable[[str], Path], tmp_path: Path) -> Callable[[str, str], Profile]:
    """The profile of a Python program that ran on an ext4 file system, which uses inode numbers again at once."""
    work = disk("400m")

    def profile(program: str, via: str) -> Profile:
        # The working directory, which names are relative to, is the shell's.
        command = ("/bin/sh", "-c", 'cd "$1" && exec "$2" -c "$3"', "sh", work, sys.executable, program)
        code, _, err = ioassay("record", "--out", tmp_path / "record", "--via", via, "--", *command)
        assert code == 0, err
        return load_profile([tmp_path / "record"])

    return profile


def written(profile: Profile) -> dict[str, int]:
    """Bytes that were written to each file of the program, by its name."""
    sums = profile.file_operations.filter(pl.col("operation") == "write").group_by("file").agg(pl.sum("bytes"))
    named = profile.files.join(sums, on="file").filter(pl.col("kind") == "file")
    return {Path(path).name: moved for path, moved in named.select("path", "bytes").iter_rows()}


VIA = pytest.mark.parametrize("via", ["preload", "ptrace"])


@VIA
def test_bytes_belong_to_the_right_file_if_an_inode_is_reused(
    recorded: Callable[[str, str], Profile], via: str
) -> None:
    expected = {"ref": 1000, "new": 500} | {f"made{number}": 2000 for number in range(20)}
    assert written(recorded(REPLACED_BY_A_CHILD, via)) == expected


@VIA
def test_a_name_of_several_files_is_marked(recorded: Callable[[str, str], Profile], via: str) -> None:
    profile = recorded(MADE_ANEW, via)
    expected = {"checkpoint.new": 3500, "same": 30} | {f"temporary{number}": 100 for number in range(40)}
    assert written(profile) == expected
    later = {Path(path).name: files for path, files in profile.files.select("path", "replaced").iter_rows()}
    assert (later["checkpoint.new"], later["same"], later["temporary7"]) == (4, 0, 0)


IN_MEMORY = """
import os
from multiprocessing import shared_memory
descriptor = os.memfd_create("buffer")
os.write(descriptor, bytes(1000))
os.pread(descriptor, 1000, 0)
shared = shared_memory.SharedMemory(create=True, size=4096)
shared.close()
shared.unlink()
with open("/dev/shm/ioassay-test-memory", "wb", buffering=0) as file:
    file.write(bytes(3000))
os.unlink("/dev/shm/ioassay-test-memory")
with open("on a disk", "wb", buffering=0) as file:
    file.write(bytes(10))
"""


@VIA
def test_memory_with_a_name_is_not_storage(recorded: Callable[[str, str], Profile], via: str) -> None:
    profile = recorded(IN_MEMORY, via)
    kinds = {Path(path).name: kind for path, kind in profile.files.select("path", "kind").iter_rows()}
    expected = {"memfd:buffer (deleted)": "memory", "ioassay-test-memory": "memory", "on a disk": "file"}
    assert {name: kinds[name] for name in expected} == expected
    assert sum(kind == "memory" for kind in kinds.values()) >= 3
    assert profile.processes["written_bytes"].sum() == 10


OWN_AND_OF_CHILDREN = """
import os, subprocess, threading
def read():
    file = os.open("large", os.O_RDONLY)
    while os.read(file, 1 << 20):
        pass
with open("large", "wb") as file:
    file.write(bytes(3 << 20))
thread = threading.Thread(target=read)
thread.start()
thread.join()
{child}
os.execvp("cat", ["cat", "large", "/dev/null"])
"""


@pytest.mark.parametrize(
    "child", ["", 'subprocess.run(["cat", *["large"] * 10], stdout=subprocess.DEVNULL, check=True)']
)
@pytest.mark.parametrize("via", ["preload", "ptrace"])
def test_kernel_counts_of_children_are_not_their_parents(child: str, via: str, tmp_path: Path) -> None:
    program = OWN_AND_OF_CHILDREN.replace("{child}", child)
    command = (
        "record",
        "--out",
        tmp_path / "record",
        "--via",
        via,
        "--",
        "/bin/sh",
        "-c",
        'cd "$1" && exec "$2" -c "$3"',
    )
    code, _, err = ioassay(*command, "sh", tmp_path, sys.executable, program)
    assert code == 0, err
    parent = load_profile([tmp_path / "record"]).processes.row(0, named=True)
    # What the thread read, and the program that replaced it; and what loading Python took.
    assert (parent["threads"], parent["images"]) == (2, 3)
    assert 6 << 20 <= parent["kernel_read_bytes"] < 10 << 20

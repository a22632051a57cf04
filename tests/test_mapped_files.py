"""A record has the maps of programs and their page-cache residency."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from ioassay.processes.engine import find_engine
from ioassay.profiles.sources import load_profile

SOURCES = Path(__file__).parent / "recorder_truth/sources"


def maps_of(command: list[str], directory: Path, *options: str) -> pl.DataFrame:
    """The maps of what a command did in a directory, with the names of their files there."""
    record = directory.parent / "record"
    recording = [str(find_engine()), "record", *options, "--out", str(record), "--", *command]
    subprocess.run(recording, cwd=directory, check=True, capture_output=True, timeout=120)
    profile = load_profile([record])
    files = profile.files.select("file", name=pl.col("path").str.strip_prefix(f"{directory.resolve()}/"))
    return profile.maps.join(files, on="file", maintain_order="left").filter(~pl.col("name").str.starts_with("/"))


def compiled(source: str, directory: Path) -> list[str]:
    program = directory.parent / "program"
    subprocess.run(["gcc", "-O1", "-o", program, SOURCES / source], check=True)
    return [str(program)]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.mark.parametrize("options", [(), ("--via", "ptrace")], ids=["preloaded", "by ptrace"])
def test_each_map_is_kept_as_the_program_made_it(directory: Path, options: tuple[str, ...]) -> None:
    maps = maps_of(compiled("maps.c", directory), directory, *options)
    maps_found = maps.select(
        "name", "access", "maps", "mapped_bytes", "extent_bytes", "syncs", "synced_bytes",
        left=pl.col("last_unmap_s").is_null().cast(pl.Int64),
    )  # fmt: skip
    lines = (directory / "expected").read_text().splitlines()
    expected = [(name, access, *map(int, numbers)) for name, access, *numbers in (line.split("|") for line in lines)]
    if options:  # it does not stop at maps of memory without a file, one of which replaces these two
        is_replaced = pl.col("name").is_in(["replaced", "replaces"])
        maps_found = maps_found.with_columns(left=pl.when(~is_replaced).then("left").otherwise(0))
    assert sorted(maps_found.rows()) == sorted(expected)
    begin, end = maps["first_map_s"], maps["last_unmap_s"]
    assert ((end >= begin) | end.is_null()).all()


def test_page_cache_residency_is_recorded_when_maps_begin_and_end(directory: Path) -> None:
    maps = maps_of(compiled("maps.c", directory), directory)
    of_name = {row["name"]: row for row in maps.iter_rows(named=True)}
    for name, row in of_name.items():  # they were written just before, but for a hole
        resident = row["mapped_bytes"] // (2 if name == "moved" else 1)
        assert row["resident_begin_bytes"] == row["resident_end_bytes"] == resident, name
    # Two pages were written out, and one perhaps; all others were not.
    assert of_name["written"]["dirty_end_bytes"] <= 62 * 4096
    assert of_name["read"]["dirty_end_bytes"] is None, "no descriptor of it was open any more"


SHARED = """
import mmap, sys
for name in sys.argv[1:]:
    with open(name, "w+b") as file:
        file.truncate(1 << 20)
        mapped = mmap.mmap(file.fileno(), 0)
        mapped[0] = 1
        mapped.close()
"""


@pytest.mark.parametrize("options", [(), ("--via", "ptrace")], ids=["preloaded", "by ptrace"])
def test_a_map_counts_as_storage_if_calls_on_its_file_do(
    tmp_path: Path, mount: Callable[[str], Path], options: tuple[str, ...]
) -> None:
    """A tmpfs is a file system as any other, but in /dev/shm."""
    elsewhere, shared = mount("size=8m") / "mapped", Path(f"/dev/shm/ioassay-test-{os.getpid()}")
    program = [sys.executable, "-I", "-S", "-c", SHARED, str(elsewhere), str(shared)]
    record = tmp_path / "record"
    try:
        recording = [str(find_engine()), "record", *options, "--out", str(record), "--", *program]
        subprocess.run(recording, check=True, capture_output=True, timeout=120)
    finally:
        shared.unlink(missing_ok=True)
    profile = load_profile([record])
    files = profile.files.filter(pl.col("path").is_in([str(elsewhere), str(shared)]))
    assert dict(files.select("path", "kind").iter_rows()) == {str(elsewhere): "file", str(shared): "memory"}
    maps = profile.maps.join(files, on="file")
    assert maps.select("path", "access", "maps", "mapped_bytes").rows() == [(str(elsewhere), "write", 1, 1 << 20)]


FORKS = """
import mmap, os
with open("data", "wb") as file: file.write(bytes(20_000))
with open("data", "rb") as file: mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
child = os.fork()
if child == 0:
    open("data").close()
    os._exit(mapped[0])
os.waitpid(child, 0)
mapped.close()
"""


def test_a_forked_child_has_the_maps_of_its_parent(directory: Path) -> None:
    maps = maps_of([sys.executable, "-I", "-S", "-c", FORKS], directory).sort("process")
    assert maps.select("name", "access", "maps", "mapped_bytes", "resident_begin_bytes").rows() == [
        ("data", "read", 1, 20_000, 20_000),
        ("data", "read", 1, 20_000, None),
    ]
    assert maps["last_unmap_s"].is_null().to_list() == [False, True]

"""Uncached I/O: through the page cache, whose pages are dropped as soon as they were moved (RWF_DONTCACHE)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .support import ioassay, measure, study, workload

# They look at the machine's page cache, which tests beside them would empty.
pytestmark = pytest.mark.machine

RWF_DONTCACHE = 0x80

UNCACHED = "{cache: uncached}"

Disk = Callable[[str], Path]


def has_uncached(directory: Path) -> bool:
    """Whether kernel and file system have it, asked by a read of a file."""
    file = directory / "probe"
    file.write_bytes(b"1")
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.preadv(descriptor, [bytearray(1)], 0, RWF_DONTCACHE)
    except OSError:
        return False
    finally:
        os.close(descriptor)
        file.unlink()
    return True


@pytest.mark.parametrize(
    ("storage", "most_mib"),
    [
        (UNCACHED, 0),
        ("{cache: uncached, vectors: 4}", 0),
        # The kernel drops a page only if nothing else holds it just then, such as another transfer in flight.
        ("{api: uring, depth: 4, cache: uncached}", 3),
    ],
)
def test_data_of_uncached_io_is_not_resident(storage: str, most_mib: int, disk: Disk, tmp_path: Path) -> None:
    target = disk("400m")
    if not has_uncached(target):
        pytest.skip("this kernel has no RWF_DONTCACHE on ext4")
    steps = "[{write: {fsync: at-close}}, {read: {name: uncached, verify: reads}}, {read: {name: again}}]"
    file = study(
        tmp_path, workload("seq", transfer="1MiB", total="16MiB", payload="unique", storage=storage, steps=steps)
    )
    run = measure(file, target, tmp_path / "run")
    resident = run.measurements.filter(operation="read")["resident_bytes_before"].to_list()
    assert resident[0] == 0
    assert resident[1] <= most_mib << 20, "16 MiB were read"
    assert {job.uncached for case in run.document.cases for phase in case.phases for job in phase.jobs} == {True}


def test_a_file_system_without_uncached_io_is_refused_before_anything_is_written(
    mount: Callable[[str], Path], tmp_path: Path
) -> None:
    target = mount("size=64m")
    file = study(tmp_path, workload("seq", total="1MiB", storage=UNCACHED, steps="[write, read]"))
    for how in (["--dry-run"], ["--out", tmp_path / "run"]):
        code, _, complaint = ioassay("run", file, "--target", target, *how)
        message = " ".join(complaint.split())
        assert code != 0
        assert f"{target}: this kernel or file system has no uncached I/O (RWF_DONTCACHE)" in message
        assert "leave out `cache: uncached`" in message
    assert not any(target.iterdir())


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("{cache: uncached, direct: yes}", "direct I/O goes past the page cache already"),
        ("{api: mmap, cache: uncached}", "mmap does not support uncached I/O"),
        ("{cache: none}", "buffered"),
    ],
)
def test_storage_that_cannot_be_uncached_is_refused_with_the_line_of_the_study(
    storage: str, message: str, target: Path, tmp_path: Path
) -> None:
    file = study(tmp_path, workload("seq", storage=storage, steps="[write]"))
    code, _, complaint = ioassay("run", file, "--target", target, "--dry-run")
    assert code != 0
    assert message in " ".join(complaint.split()), complaint
    assert "storage.cache" in complaint

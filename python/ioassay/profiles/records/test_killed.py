"""Whether a recording that says it goes on was killed."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioassay.profiles.records.directory import Record, open_record
from ioassay.protocol.record_layout import State
from ioassay.testing.builder import environment
from ioassay.testing.record_tables import TableBuilder, store_record

BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
THIS_NODE = os.uname().nodename


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A directory with the table of a process that is no more: no number is so high."""
    directory = tmp_path / "tables"
    directory.mkdir()
    (directory / "999999999-1.table").write_bytes(TableBuilder(7, state=State.RUNNING).build())
    return directory


@pytest.fixture
def locked(tables: Path) -> Iterator[None]:
    """A recorder is running."""
    descriptor = os.open(tables, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


def opened(tables: Path, host: str, boot_id: str | None) -> Record:
    about = {**environment(host), "boot_id": boot_id}
    where = {"host": host, "environment": about, "tables": str(tables)}
    return open_record(store_record(tables.with_name("record"), state="running", **where))


def test_a_recording_of_which_nothing_is_left_was_killed(tables: Path) -> None:
    record = opened(tables, THIS_NODE, BOOT_ID)
    assert (record.was_killed, record.is_running) == (True, False)


@pytest.mark.usefixtures("locked")
def test_a_recording_that_holds_its_lock_goes_on(tables: Path) -> None:
    assert opened(tables, THIS_NODE, BOOT_ID).is_running


def test_a_recording_whose_process_still_has_its_table_goes_on(tables: Path) -> None:
    renamed = (tables / "999999999-1.table").rename(tables / f"{os.getpid()}-1.table")
    with renamed.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        assert opened(tables, THIS_NODE, BOOT_ID).is_running


def test_a_recording_ended_when_its_node_was_booted_again(tables: Path) -> None:
    assert opened(tables, THIS_NODE, "another").was_killed


@pytest.mark.parametrize("boot_id", ["another", None])
def test_a_recording_on_another_node_is_taken_to_go_on(tables: Path, boot_id: str | None) -> None:
    assert opened(tables, "elsewhere", boot_id).is_running

"""Which source a profile is read from."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.results.profiles import load_profile
from ioassay.testing.builder import run_of_writes
from ioassay.testing.record_tables import TableBuilder, store_record
from ioassay.testing.stored import store

LOGS = Path(__file__).parent / "darshan" / "testdata"


def text_of_a_log(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "job.txt"
    path.write_bytes(gzip.decompress((LOGS / "python.txt.gz").read_bytes()))
    return path


def test_a_record_and_a_log_are_recognised_by_their_content(tmp_path: Path) -> None:
    record, text = store_record(tmp_path / "record", TableBuilder()), text_of_a_log(tmp_path / "logs")
    assert load_profile([record]).source == "record"
    assert load_profile([tmp_path / "record"]).source == "record"
    assert load_profile([text]).source == "darshan"
    assert load_profile([text.parent]).names == (str(text.parent),)


def test_records_and_logs_are_not_one_profile(tmp_path: Path) -> None:
    record, text = store_record(tmp_path / "record", TableBuilder()), text_of_a_log(tmp_path / "logs")
    with pytest.raises(UsageError, match=r"These are Darshan logs \(.*job\.txt\) and records"):
        load_profile([text, record])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (bytes(4096), "begins with zeros"),
        (gzip.compress(b"2.05", mtime=0), "is compressed as a whole: a log of Darshan 2"),
        (b"BZh91AY", "is compressed as a whole"),
        (b"POSIX\t0\t1\tPOSIX_OPENS\t1\n", "is not a Darshan log of version 3"),
    ],
    ids=["empty", "zeros", "gzip", "bzip2", "text"],
)
def test_a_file_that_is_only_called_a_log_is_refused_with_its_reason(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "x.darshan"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason) as error:
        load_profile([path])
    assert str(path) in error.value.message
    assert error.value.remedy


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.darshan")
    for path in (
        tmp_path,
        tmp_path / "notes.txt",
        tmp_path / "pipe",
        tmp_path / "pipe.darshan",
        tmp_path / "missing.darshan",
    ):
        with pytest.raises(UsageError):
            load_profile([path])


def recorded_run(path: Path, *recorded: int, of: int = 2) -> Path:
    """A run of so many cases, of which these have a record with a process of that number more than 100."""
    run = run_of_writes(*[1e9] * of)
    run.document.recorded = bool(recorded)
    store(run, path)
    for at in recorded:
        store_record(path / "logs" / run.document.cases[at].id / "record", TableBuilder(100 + at))
    return path


def pids(*paths: Path) -> list[int]:
    return sorted(load_profile(paths).processes["pid"])


def test_a_run_stands_for_the_records_of_its_cases_alone_or_among_others(tmp_path: Path) -> None:
    first, second = recorded_run(tmp_path / "a" / "first", 0, 1), recorded_run(tmp_path / "a" / "second", 2, of=3)
    own = store_record(tmp_path / "a" / "app", TableBuilder(7))
    assert pids(first) == [100, 101]
    assert pids(first, second) == [100, 101, 102]
    assert pids(own, second) == [7, 102]
    assert pids(tmp_path / "a") == [7, 100, 101, 102]
    (case, *_) = (first / "logs").iterdir()
    assert pids(first, case / "record") == [100, 101]


def test_a_run_without_records_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "runs" / "plain")
    for path in (run, run.parent):
        with pytest.raises(UsageError, match="plain is a run without records") as error:
            load_profile([path])
        assert error.value.remedy is not None
        assert "ioassay run STUDY --record" in error.value.remedy
    store_record(run.parent / "app", TableBuilder(7))
    assert pids(run.parent) == [7]
    waiting = run_of_writes(1e9)
    waiting.document.recorded = True
    with pytest.raises(UsageError, match="none of its cases has begun"):
        load_profile([store(waiting, tmp_path / "waiting")])

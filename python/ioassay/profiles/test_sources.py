"""Which source a profile is read from."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.profiles.sources import load_profile
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


OLD_LOG = b"2.06\0\0\0\0" + (6567223).to_bytes(8, "little") + bytes(1000)
OLDEST_LOG = b"1.24" + bytes(8) + b"\0\0\x10\xb7" + bytes(1000)
LOG = b"3.41\0\0\0\0" + (6567223).to_bytes(8, "little") + bytes(1000)


@pytest.mark.parametrize("name", ["x.darshan", "x.darshan.gz", "x"])
@pytest.mark.parametrize(
    ("content", "reason", "remedy"),
    [
        (b"", "is empty, not a profile", "Name a record"),
        (bytes(4096), "is zeros from its beginning", "Name a record"),
        (OLD_LOG, r"is a log of Darshan 2 \(format 2\.06\)\. ioassay reads", "darshan-parser of Darshan 2"),
        (gzip.compress(OLD_LOG, mtime=0), r"is a log of Darshan 2 \(format 2\.06\), compressed with gzip", "Darshan 2"),
        (bz2.compress(OLDEST_LOG), r"is a log of Darshan 1 \(format 1\.24\), compressed with bzip2", "Darshan 1"),
        (gzip.compress(LOG, mtime=0), "is a log of Darshan 3, compressed with gzip", "Unpack it: gunzip"),
        (gzip.compress(b"nothing", mtime=0), "is compressed with gzip", "Name a record"),
        (b"\x1f\x8bnothing", "is compressed with gzip", "Name a record"),
        (b"BZh91AY", "is compressed with bzip2", "Name a record"),
        (b"root:x:0:0:root:/root:/bin/bash\n", "is text, not a profile", "Name a record"),
        ("ä".encode() * 5000, "is text, not a profile", "Name a record"),
        (b'{"kind": "other"}', "is JSON", "Name a record"),
        (b"\x7fELF\2\1\1", "is a program or a library", "Name a record"),
        (b"\xff\xfe\0\1nothing", "is binary data of an unknown kind", "Name a record"),
    ],
)
def test_a_file_that_is_no_profile_is_refused_with_what_it_is(
    tmp_path: Path, name: str, content: bytes, reason: str, remedy: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason) as error:
        load_profile([path])
    assert str(path) in error.value.message
    assert remedy in error.value.remedy
    assert "copy" not in error.value.remedy


def test_a_folder_of_old_logs_is_refused_as_such(tmp_path: Path) -> None:
    (tmp_path / "app.darshan.gz").write_bytes(gzip.compress(OLD_LOG, mtime=0))
    with pytest.raises(UsageError, match=r"app\.darshan\.gz is a log of Darshan 2"):
        load_profile([tmp_path])


def test_a_document_and_another_kind_of_ours_are_named(tmp_path: Path) -> None:
    record = store_record(tmp_path / "record", TableBuilder())
    with pytest.raises(UsageError, match=r"record\.json is the document of a record") as error:
        load_profile([record / "record.json"])
    assert error.value.remedy == f"Name its directory: {record}"
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "net.json").write_text('{"kind": "net", "version": 2}')
    with pytest.raises(UsageError, match=r"is of the kind net \(net\.json\), not a profile"):
        load_profile([tmp_path / "net"])


def test_damaged_tables_are_still_damaged_tables(tmp_path: Path) -> None:
    (tmp_path / "node.tables").write_bytes(b"nothing" * 1000)
    with pytest.raises(UsageError, match="are damaged"):
        load_profile([tmp_path / "node.tables"])


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
    for number in recorded:
        store_record(path / "logs" / run.document.cases[number].id / "record", TableBuilder(100 + number))
    return path


def pids(*paths: Path) -> list[int]:
    return sorted(load_profile(paths).processes["pid"])


def test_a_run_stands_for_the_records_of_its_cases_alone_or_among_others(tmp_path: Path) -> None:
    first, second = recorded_run(tmp_path / "a" / "first", 0, 1), recorded_run(tmp_path / "a" / "second", 2, of=3)
    record = store_record(tmp_path / "a" / "app", TableBuilder(7))
    assert pids(first) == [100, 101]
    assert pids(first, second) == [100, 101, 102]
    assert pids(record, second) == [7, 102]
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

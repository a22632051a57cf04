"""Which source a profile is read from."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.results.profiles import load_profile
from ioassay.testing.record_tables import TableBuilder, store_record

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

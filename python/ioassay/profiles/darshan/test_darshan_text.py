"""What darshan-parser printed, line by line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.profiles.darshan.log import counted
from ioassay.profiles.darshan.text import read_text

HEADER = """\
# darshan log version: 3.41
# compression method: ZLIB
# exe: /scratch/app/run --fast
# uid: 1000
# jobid: 17
# start_time: 1795626757
# end_time: 1795626760
# nprocs: 2
# run time: 2.5000

# log file regions
# -------------------------------------------------------
# POSIX module: 100 bytes (compressed), ver=4
"""

COUNTERS = ("POSIX_OPENS", "POSIX_READS", "POSIX_BYTES_READ", "POSIX_F_READ_TIME", "POSIX_F_VARIANCE_RANK_BYTES")


def record(name: str, values: dict[str, str], rank: int = 0, file: int = 7) -> str:
    return "".join(
        f"POSIX\t{rank}\t{file}\t{counter}\t{values.get(counter, '0')}\t{name}\t/\text4\n" for counter in COUNTERS
    )


def stored(directory: Path, text: str) -> Path:
    path = directory / "log.txt"
    path.write_text(text)
    return path


def test_the_header_is_the_job(tmp_path: Path) -> None:
    job = read_text(stored(tmp_path, HEADER + record("/a", {}))).job
    assert (job.job_id, job.user, job.processes, job.run_s) == (17, 1000, 2, 2.5)
    assert (job.command, job.start_unix_ns, job.was_killed) == ("/scratch/app/run --fast", 1795626757 * 10**9, False)


def test_a_negative_counter_is_unknown(tmp_path: Path) -> None:
    read = read_text(stored(tmp_path, HEADER + record("/a", {"POSIX_OPENS": "-1", "POSIX_READS": "5"})))
    rows = counted(read.records["POSIX"], "POSIX_")
    assert rows.select("POSIX_OPENS", "POSIX_READS").rows() == [(None, 5)]


def test_a_file_name_may_have_tabs_and_a_line_break_in_one_is_a_loss(tmp_path: Path) -> None:
    read = read_text(stored(tmp_path, HEADER + record("/a\tb", {}) + record("/c\nd", {}, file=8)))
    assert read.names == {7: "/a\tb"}
    assert [(loss.kind, loss.amount > 0) for loss in read.losses] == [("damaged-bytes", True)]


def test_a_record_without_its_last_counter_is_left_out(tmp_path: Path) -> None:
    whole, cut = record("/a", {"POSIX_READS": "5"}), record("/b", {"POSIX_READS": "6"}, file=8)
    read = read_text(stored(tmp_path, HEADER + whole + "".join(cut.splitlines(keepends=True)[:3])))
    assert read.records["POSIX"]["POSIX_READS"].to_list() == [5]
    assert [(loss.kind, loss.amount) for loss in read.losses] == [("partial", 1)]


def test_a_module_that_printed_no_record_is_a_loss(tmp_path: Path) -> None:
    read = read_text(stored(tmp_path, HEADER))
    assert [(loss.kind, loss.amount) for loss in read.losses] == [("damaged-bytes", 100)]


def test_a_warning_of_incomplete_data_is_a_loss(tmp_path: Path) -> None:
    text = HEADER + "\n# *WARNING*: The POSIX module contains incomplete data!\n" + record("/a", {})
    assert [loss.kind for loss in read_text(stored(tmp_path, text)).losses] == ["partial"]


@pytest.mark.parametrize("line", ["uid", "jobid", "start_time", "nprocs"])
def test_a_header_that_lacks_something_is_refused(tmp_path: Path, line: str) -> None:
    text = "\n".join(row for row in HEADER.splitlines() if not row.startswith(f"# {line}:"))
    with pytest.raises(UsageError, match=f"its header has no {line.replace('_', ' ')}"):
        read_text(stored(tmp_path, text))


def test_stripes_of_lustre_are_read_in_both_versions(tmp_path: Path) -> None:
    lines = "".join(
        f"LUSTRE\t-1\t{file}\t{counter}\t{value}\t/a\t/\tlustre\n"
        for file, counter, value in (
            (7, "LUSTRE_STRIPE_SIZE", 1 << 20),
            (8, "LUSTRE_COMP1_STRIPE_SIZE", 1 << 22),
            (8, "LUSTRE_COMP2_STRIPE_SIZE", 1 << 24),
            (9, "LUSTRE_STRIPE_SIZE", -1),
        )
    )
    assert read_text(stored(tmp_path, HEADER + lines)).stripes == {7: 1 << 20, 8: 1 << 22}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_line_is_a_counter_or_nothing(tmp_path_factory: pytest.TempPathFactory, noise: str) -> None:
    path = stored(tmp_path_factory.mktemp("text"), HEADER + record("/a", {"POSIX_READS": "5"}) + noise + "\n")
    rows = read_text(path).records["POSIX"]
    assert rows.filter(pl.col("id") == 7)["POSIX_READS"].to_list() == [5]

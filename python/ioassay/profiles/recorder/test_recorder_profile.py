"""Traces of Recorder and the profiles of them. They are real: `testdata/README.md`."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ioassay.analysis.profile.findings import ProfileFacts, findings
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.analysis.profile.totals import totals
from ioassay.errors import UsageError
from ioassay.profiles.model import FRAMES, Profile
from ioassay.profiles.sources import load_profile

DATA = Path(__file__).parent / "testdata"
(POSIX,) = DATA.glob("node-user-posix-*")
(MPI,) = DATA.glob("node-user-mpi-*")
KIB = 1024


@pytest.fixture(scope="module")
def posix() -> Profile:
    return load_profile([POSIX])


@pytest.fixture(scope="module")
def mpi() -> Profile:
    return load_profile([MPI])


def of_file(profile: Profile, path: str) -> dict[str, dict[str, object]]:
    """The operations on a file, by name."""
    file = profile.files.filter(path=path)["file"].item()
    return {row["operation"]: row for row in profile.file_operations.filter(file=file).iter_rows(named=True)}


def rows() -> pl.DataFrame:
    return pl.read_parquet(POSIX / "_parquet" / "0_0.parquet")


def written(folder: Path, table: pl.DataFrame) -> Path:
    table.write_parquet(folder / "0_0.parquet")
    return folder


def test_every_table_has_its_columns(posix: Profile, mpi: Profile) -> None:
    for profile in (posix, mpi):
        assert {name: getattr(profile, name).schema for name in FRAMES} == dict(FRAMES)


def test_totals_are_what_the_program_did_and_strace_counts(posix: Profile) -> None:
    assert posix.source == "recorder"
    assert posix.commands == ("posix",)
    sums = totals(posix)
    assert sums.of("write").bytes == 10 * 65536 + 8 * 512 + 1000 + 3 * 1000 + 20 * 500 + 6 + 6
    assert sums.of("write").calls == 10 + 8 + 1 + 3 + 20 + 2
    assert sums.of("read").bytes == 4 * 2000 + 8 * 100 + 1000 + 4096
    assert not posix.losses


def test_operations_of_a_file(posix: Profile) -> None:
    data = of_file(posix, "/scratch/app/data")
    assert {name: row["calls"] for name, row in data.items()} == {
        "open": 1, "close": 1, "seek": 1, "sync": 1, "truncate": 1, "read": 13, "write": 19,
    }  # fmt: skip
    assert data["open"]["failed"] is None
    assert data["sync"]["duration_ns"] is None
    stream = posix.files.filter(path="/scratch/app/stream").row(0, named=True)
    assert stream["names"] == 2
    assert set(of_file(posix, "/scratch/app/stream")) == {
        "open", "close", "stream write", "stream read", "stream seek", "rename", "remove",
    }  # fmt: skip


def test_order_and_extent_of_requests_with_and_without_an_offset(posix: Profile) -> None:
    data = of_file(posix, "/scratch/app/data")
    write, read = data["write"], data["read"]
    # 10 writes in a row; then 8 from the beginning, of which 7 skip 3584 B; then the vector, back
    # where the reads ended.
    assert (write["consecutive"], write["forward"], write["strided"]) == (10, 7, 6)
    assert (write["begin_bytes"], write["end_bytes"]) == (0, 10 * 65536)
    # 4 reads from 1000 on, 8 backwards, the first of which begins further; the vector behind the one that was written.
    assert (read["consecutive"], read["forward"]) == (3, 1 + 1 + 1)
    assert (read["begin_bytes"], read["end_bytes"]) == (0, 7 * 4096 + 100)


def test_time_lines_sizes_and_latencies_have_all_calls(posix: Profile, mpi: Profile) -> None:
    for profile in (posix, mpi):
        calls = profile.process_operations.group_by("operation").agg(pl.col("calls").sum()).sort("operation")
        for frame in (profile.timeline, profile.latencies):
            counted = frame.group_by("operation").agg(pl.col("calls").sum().cast(pl.Int64)).sort("operation")
            assert counted.rows() == calls.rows()
        assert profile.heat["written_bytes"].sum() == pytest.approx(profile.processes["written_bytes"].sum())
        sizes = profile.file_sizes.filter(operation="write")["calls"].sum()
        assert sizes == profile.file_operations.filter(operation="write")["calls"].sum()
    file = posix.files.filter(path="/scratch/app/thread")["file"].item()
    assert posix.common_sizes.filter(file=file).drop("file").rows() == [("write", 1000, 3)]


def test_mpi_io_and_what_it_did_through_posix_are_apart(mpi: Profile) -> None:
    assert mpi.processes["rank"].to_list() == [0, 1, 2, 3]
    shared = of_file(mpi, "/scratch/app/shared")
    assert {name: (row["calls"], row["bytes"]) for name, row in shared.items() if name.startswith("MPI")} == {
        "MPI file": (4 * 4, None),
        "MPI write": (4 * (4 + 1), 4 * 4 * 1000),
        "MPI collective write": (4, 4 * 8192 * 8),
        "MPI read": (4, 4 * 250 * 4),
        "MPI collective read": (4, 4 * 250 * 4),
        "MPI non-blocking read": (4, 4 * 100 * 4),
    }
    assert shared["write"]["bytes"] == 4 * 4 * 1000 + 4 * 8192 * 8 + 4 * 10 * 12
    assert any("4 calls of MPI-IO have a type" in sentence for sentence in mpi.unknown)
    written = [of_file(mpi, f"/scratch/app/own.{rank}")["write"]["bytes"] for rank in range(4)]
    assert written == [5 * 4 * KIB, 6 * 4 * KIB, 7 * 4 * KIB, 8 * 4 * KIB]


def test_findings_rest_on_a_trace(mpi: Profile) -> None:
    assert all(finding.rests_on for finding in findings(ProfileFacts(mpi, Thresholds())))


def test_the_trace_its_folder_and_its_files_are_one_profile(posix: Profile) -> None:
    for path in (POSIX / "_parquet", POSIX / "_parquet" / "0_0.parquet"):
        assert load_profile([path]).process_operations.equals(posix.process_operations)


def test_files_without_their_metadata_do_not_say_when(tmp_path: Path) -> None:
    profile = load_profile([written(tmp_path, rows())])
    assert profile.commands == ()
    assert any("When it began is unknown" in sentence for sentence in profile.unknown)


def test_ranks_that_are_missing_are_said(tmp_path: Path) -> None:
    directory = tmp_path / "trace"
    shutil.copytree(MPI, directory)
    file = directory / "_parquet" / "0_0.parquet"
    pl.read_parquet(file).filter(pl.col("rank") != 2).write_parquet(file)
    (loss,) = load_profile([directory]).losses
    assert (loss.kind, "1 of 4 ranks" in loss.reason) == ("partial", True)


def test_times_in_32_bits_are_said_where_they_are_coarse(tmp_path: Path) -> None:
    late = rows().with_columns((pl.col("tstart") + 1000).cast(pl.Float32), (pl.col("tend") + 1000).cast(pl.Float32))
    profile = load_profile([written(tmp_path, late)])
    assert any("in steps of 61.0 µs" in sentence for sentence in profile.unknown)
    assert profile.latencies.filter(pl.col("begin_ns") == 0)["end_ns"].unique().round().to_list() == [61035]


def test_a_trace_that_was_not_converted_is_refused_with_what_to_do(tmp_path: Path) -> None:
    shutil.copy(POSIX / "recorder.mt", tmp_path)
    with pytest.raises(UsageError, match="was not converted") as refused:
        load_profile([tmp_path])
    assert "recorder2parquet" in str(refused.value.remedy)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b"PAR1 and no more", "damaged"), (b"no Parquet at all\n", "damaged")],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "0_0.parquet").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load_profile([tmp_path])


def test_other_parquet_is_refused_by_name(tmp_path: Path) -> None:
    pl.DataFrame({"rank": [1], "value": [2.0]}).write_parquet(tmp_path / "table.parquet")
    with pytest.raises(UsageError, match="not of Recorder: it has no column index"):
        load_profile([tmp_path / "table.parquet"])


def test_without_calls_on_files_it_is_refused(tmp_path: Path) -> None:
    for table, message in ((rows().clear(), "no call"), (rows().with_columns(func_id=pl.lit("getcwd")), "none of its")):
        with pytest.raises(UsageError, match=message):
            load_profile([written(tmp_path, table)])


def test_a_damaged_file_beside_a_whole_one_is_said(tmp_path: Path, posix: Profile) -> None:
    written(tmp_path, rows())
    (tmp_path / "1_0.parquet").write_bytes(b"PAR1")
    profile = load_profile([tmp_path])
    assert profile.process_operations.equals(posix.process_operations)
    assert [loss.kind for loss in profile.losses] == ["partial"]


def test_rows_without_a_time_are_counted(tmp_path: Path) -> None:
    table = rows()
    bad = pl.Series("tstart", [None, float("nan"), *table["tstart"][2:]], dtype=pl.Float32)
    (loss,) = load_profile([written(tmp_path, table.with_columns(bad))]).losses
    assert (loss.kind, loss.amount) == ("untraced-calls", 2)


ODD_TEXT = ("", "-1", "%p", "9" * 30, "x", "/", "//a", "/proc/self", "MPI_INT", None)
ODD_NUMBERS = (-1, 0, 2**31 - 1, -(2**31), None)
ODD_TIMES = (float("inf"), -1.0, 1e30, float("nan"), 0.0, None)


@pytest.mark.parametrize("source", [POSIX, MPI])
def test_no_damage_of_rows_ends_in_a_traceback(tmp_path: Path, source: Path) -> None:
    whole = pl.read_parquet(source / "_parquet" / "0_0.parquet")
    dice = np.random.default_rng(7)
    read = 0
    for _ in range(25):
        columns = {}
        for name, kind in whole.schema.items():
            odd = ODD_TEXT if kind == pl.String else ODD_TIMES if kind == pl.Float32 else ODD_NUMBERS
            values = whole[name].to_list()
            for place in dice.integers(0, len(values), int(dice.integers(0, 12))):
                values[place] = odd[dice.integers(0, len(odd))]
            columns[name] = pl.Series(values, dtype=kind)
        try:
            profile = load_profile([written(tmp_path, pl.DataFrame(columns))])
        except UsageError:
            continue
        read += 1
        assert findings(ProfileFacts(profile, Thresholds())) is not None
        assert (profile.file_operations["bytes"].drop_nulls() >= 0).all()
        assert (profile.process_operations["duration_ns"] >= 0).all()
    assert read > 20

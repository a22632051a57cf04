"""Profiles of logs of Darshan."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ioassay.errors import CannotRun, UsageError
from ioassay.profiles.darshan import library
from ioassay.profiles.darshan.conftest import TESTDATA
from ioassay.profiles.darshan.profile import load_profile
from ioassay.profiles.model import DIRECTION, FRAMES, Profile

Named = Callable[[str], Path]

KIB = 1024
MOST_ROUNDED_NS = 10_000
"""Of ten records, each rounded to 1 µs."""


@pytest.fixture
def load(log: Named) -> Callable[..., Profile]:
    return lambda *names: load_profile([log(name) for name in names])


Load = Callable[..., Profile]


def rows(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return frame.select(columns).rows()


def of_file(profile: Profile, frame: pl.DataFrame, end: str) -> pl.DataFrame:
    """The rows of the only file whose path ends so."""
    ((file,),) = profile.files.filter(pl.col("path").str.ends_with(end)).select("file").rows()
    return frame.filter(pl.col("file") == file)


def total(profile: Profile, operation: str) -> int:
    return int(profile.process_operations.filter(pl.col("operation") == operation)["bytes"].sum())


def states(profile: Profile, words: str) -> bool:
    return any(words in sentence for sentence in profile.unknown)


def test_counters_become_operations_of_files(load: Load) -> None:
    profile = load("python.darshan")
    operations = of_file(profile, profile.file_operations, "/data.bin")
    columns = ("operation", "calls", "bytes", "consecutive", "forward", "end_bytes")
    assert rows(operations, *columns) == [
        ("open", 1, None, None, None, None),
        ("read", 23, 22 * 4096 + 1000, 0, 21, 63 * 4096 + 4096),
        ("seek", 1, None, None, None, None),
        ("sync", 1, None, None, None, None),
        ("write", 64, 64 * 4096, 63, 0, 64 * 4096),
    ]
    moved = operations.filter(pl.col("bytes").is_not_null())
    assert (moved["slowest_ns"] > 0).all()
    assert (moved["duration_ns"] >= moved["slowest_ns"]).all()
    file = of_file(profile, profile.files, "/data.bin").row(0, named=True)
    assert (file["kind"], file["block_bytes"], file["processes"]) == ("file", 4096, 1)
    assert 0 < file["first_open_s"] < file["last_close_s"] < profile.duration_s
    assert of_file(profile, profile.file_operations, "/text2.txt").filter(operation="rename")["calls"].to_list() == [1]


def test_what_darshan_does_not_count_is_null_and_stated(load: Load) -> None:
    profile = load("python.darshan")
    for column in ("failed", "strided", "begin_bytes"):
        assert profile.file_operations[column].null_count() == profile.file_operations.height
    for column in ("size_at_open_bytes", "open_flags", "last_errno"):
        assert profile.files[column].null_count() == profile.files.height
    process = profile.processes.row(0, named=True)
    unknown = ("node", "pid", "parent_pid", "rank", "threads", "kernel_read_bytes", "recorder_ns", "elsewhere_ns")
    assert {process[name] for name in unknown} == {None}
    assert profile.latencies.is_empty()
    assert profile.timeline["calls"].null_count() == profile.timeline.height
    assert not {"stat", "close", "remove"} & {*profile.process_operations["operation"]}
    assert states(profile, "only calls that succeeded")
    assert states(profile, "do not count stat and fstat")
    assert states(profile, "DXT did not trace all")
    assert profile.losses == ()


def test_sizes_have_darshans_own_bounds(load: Load) -> None:
    profile = load("python.darshan")
    assert rows(
        of_file(profile, profile.file_sizes, "/data.bin"), "operation", "begin_bytes", "end_bytes", "calls"
    ) == [
        ("read", 101, 1025, 1),
        ("read", 1025, 10_241, 22),
        ("write", 1025, 10_241, 64),
    ]
    common = of_file(profile, profile.common_sizes, "/data.bin")
    assert rows(common, "operation", "bytes", "calls") == [(None, 1000, 1), (None, 4096, 86)]
    assert states(profile, "common sizes are those of reads and writes together")


@pytest.mark.parametrize(
    ("writes", "reads", "common", "expected"),
    [
        (5, 0, {}, [("write", 102_401, 1_048_577, 5)]),
        (5, 0, {1 << 20: 5}, [("write", 1 << 20, 1_048_577, 5)]),
        (5, 0, {1 << 20: 3}, [("write", 102_401, 1 << 20, 2), ("write", 1 << 20, 1_048_577, 3)]),
        (5, 4, {1 << 20: 9}, [("read", 1 << 20, 1_048_577, 4), ("write", 1 << 20, 1_048_577, 5)]),
        # Two calls are smaller: one was a write, of the other it is unknown.
        (
            5,
            1,
            {1 << 20: 4, 200_000: 2},
            [
                ("read", 102_401, 1_048_577, 1),
                ("write", 102_401, 1 << 20, 1),
                ("write", 102_401, 1_048_577, 1),
                ("write", 1 << 20, 1_048_577, 3),
            ],
        ),
    ],
)
def test_requests_of_exactly_a_mebibyte_are_no_smaller_ones(
    tmp_path: Path, writes: int, reads: int, common: dict[int, int], expected: list[tuple[object, ...]]
) -> None:
    counters = {"READS": reads, "WRITES": writes, "SIZE_READ_100K_1M": reads, "SIZE_WRITE_100K_1M": writes}
    for rank, (size, calls) in enumerate([*common.items(), *[(0, 0)] * 4][:4], 1):
        counters |= {f"ACCESS{rank}_ACCESS": size, f"ACCESS{rank}_COUNT": calls}
    path = tmp_path / "log.txt"
    path.write_text(text_of(counters))
    assert rows(load_profile([path]).file_sizes, "operation", "begin_bytes", "end_bytes", "calls") == expected


def text_of(counters: dict[str, int]) -> str:
    """What darshan-parser prints of a record of POSIX; other counters are 0."""
    names = ("uid", "jobid", "start_time", "end_time", "nprocs")
    header = "# darshan log version: 3.41\n" + "".join(f"# {name}: 1\n" for name in names)
    with gzip.open(TESTDATA / "python.txt.gz", "rt") as lines:
        every = dict.fromkeys(line.split("\t")[3] for line in lines if line.startswith("POSIX\t"))
    values = {f"POSIX_{name}": value for name, value in counters.items()}
    return header + "".join(f"POSIX\t0\t7\t{name}\t{values.get(name, 0)}\t/a\t/\text4\n" for name in every)


def test_misaligned_calls_are_known_where_the_counters_determine_them(load: Load) -> None:
    python, mpi = load("python.darshan"), load("mpi.darshan")
    assert of_file(python, python.file_operations, "/data.bin")["misaligned"].drop_nulls().is_empty()
    assert states(python, "whether reads or writes were misaligned is unknown")
    writes = of_file(mpi, mpi.file_operations, ".rank2").filter(operation="write")
    assert rows(writes, "calls", "misaligned") == [(7, 6)]
    assert not states(mpi, "misaligned")


def test_processes_have_the_job_as_their_time(load: Load) -> None:
    profile = load("mpi.darshan")
    assert profile.commands == ("/scratch/app/shared /scratch/data/mpi.bin",)
    assert rows(profile.processes, "process", "rank", "executable", "state") == [
        (rank, rank, "/scratch/app/shared", "ended") for rank in range(4)
    ]
    assert set(profile.processes["begin_unix_ns"]) == {profile.begin_unix_ns} == {profile.origin_unix_ns}
    assert set(profile.processes["end_unix_ns"]) == {profile.end_unix_ns}


def test_a_shared_file_without_dxt_is_known_of_all_processes_together(load: Load) -> None:
    profile = load("mpi.darshan")
    shared = of_file(profile, profile.file_operations, "/mpi.bin").filter(operation="write")
    assert rows(shared, "calls", "bytes", "processes") == [(64, 4 * 8 * (64 + 4) * KIB, 4)]
    unattributed = profile.process_operations.filter(pl.col("process").is_null(), operation="write")
    assert rows(unattributed, "calls", "bytes") == rows(shared, "calls", "bytes")
    file = of_file(profile, profile.files, "/mpi.bin").row(0, named=True)
    assert 0 < file["fastest_process_ns"] <= file["slowest_process_ns"]
    # HEATMAP counts the bytes of each process, and nothing counts its time.
    assert profile.processes["written_bytes"].to_list() == [8 * 68 * KIB + 1000 * (5 + rank) for rank in range(4)]
    assert profile.processes["write_ns"].null_count() == 4
    assert states(profile, "adds up all processes of an MPI job")


def test_dxt_attributes_shared_files_to_processes(load: Load) -> None:
    profile = load("mpi-dxt.darshan")
    writes = profile.process_operations.filter(operation="write")
    assert rows(writes, "process", "bytes") == [(rank, 8 * 68 * KIB + 1000 * (5 + rank)) for rank in range(4)]
    assert profile.processes["write_ns"].null_count() == 0
    assert set(profile.processes["node"]) == {"node1"}
    shared = of_file(profile, profile.file_operations, "/mpi-dxt.bin").filter(operation="write")
    assert rows(shared, "begin_bytes", "misaligned") == [(0, 0)]
    assert not states(profile, "adds up all processes of an MPI job")
    assert not states(profile, "The node of a process")


def test_bytes_of_collective_and_independent_calls_are_counted_together(load: Load) -> None:
    profile = load("mpi.darshan")
    calls = of_file(profile, profile.file_operations, "/mpi.bin").filter(pl.col("operation").str.starts_with("MPI"))
    assert rows(calls, "operation", "calls", "bytes") == [
        ("MPI collective read", 16, None),
        ("MPI collective write", 32, None),
        ("MPI file", 8, None),
        ("MPI read", 16, None),
        ("MPI write", 32, None),
    ]
    assert states(profile, "several kinds of calls of MPI-IO")


@pytest.mark.parametrize("name", ["python", "mpi", "mpi-dxt", "threads-dxt", "killed", "partial-dxt"])
def test_time_line_and_heat_have_all_bytes(load: Load, name: str) -> None:
    profile = load(f"{name}.darshan")
    for operation in {*profile.timeline["operation"]}:
        moved = profile.timeline.filter(operation=operation)["bytes"].sum()
        assert moved == pytest.approx(total(profile, operation))
    stored = profile.process_operations.filter(pl.col("operation").is_in([*DIRECTION]))
    moved = profile.heat.select(pl.sum_horizontal("read_bytes", "written_bytes").sum()).item()
    assert moved == pytest.approx(stored["bytes"].sum())
    assert max(profile.timeline["start_s"]) <= profile.duration_s
    assert profile.timeline_step_s == pytest.approx(0.1)


def test_a_complete_dxt_has_latencies_and_calls_over_time(load: Load) -> None:
    profile = load("threads-dxt.darshan")
    calls = {"read": 400, "write": 16}
    for frame in (profile.latencies, profile.timeline):
        assert dict(frame.group_by("operation").agg(pl.col("calls").sum()).rows()) == calls
    spent = profile.timeline.group_by("operation").agg(pl.col("duration_ns").sum(), pl.col("slowest_ns").max())
    assert (spent["duration_ns"] > spent["slowest_ns"]).all()
    assert not states(profile, "DXT did not trace all")


def test_an_incomplete_dxt_is_a_loss_and_no_source_of_sums(load: Load) -> None:
    profile = load("partial-dxt.darshan")
    assert [(loss.kind, loss.where.split(", ")[1]) for loss in profile.losses] == [("partial", "module DXT_POSIX")]
    assert profile.latencies.is_empty()
    assert profile.timeline["calls"].null_count() == profile.timeline.height
    assert total(profile, "read") == 400 * 4096


def test_a_module_that_had_no_room_is_a_loss(load: Load) -> None:
    profile = load("partial.darshan")
    assert [(loss.kind, loss.where.split(", ")[1]) for loss in profile.losses] == [("partial", "module POSIX")]
    assert profile.files.height < load("python.darshan").files.height


def test_a_process_that_was_killed_ends_with_its_last_call(load: Load) -> None:
    profile = load("killed-raw.darshan")
    assert profile.processes["state"].to_list() == ["killed"]
    assert [loss.kind for loss in profile.losses] == ["partial"]
    assert 0.5 < profile.duration_s < 1.5
    merged = load("killed.darshan")
    assert merged.processes["state"].to_list() == ["ended"]
    assert rows(merged.process_operations, "operation", "calls", "bytes") == rows(
        profile.process_operations, "operation", "calls", "bytes"
    )


@pytest.mark.parametrize("form", ["merged.darshan", "merged.txt"])
def test_a_log_merged_of_processes_that_are_no_ranks_has_as_many_as_any_file_has_records(load: Load, form: str) -> None:
    profile, apart = load(form), load("worker1.darshan", "worker2.darshan")
    assert profile.losses == ()
    processes = profile.processes
    assert (processes.height, processes["rank"].to_list()) == (2, [None, None])
    assert processes["metadata_ns"].to_list() == [None, None]
    assert profile.process_operations["process"].to_list() == [None] * profile.process_operations.height
    assert states(profile, "merged from logs of at least 2 processes")
    assert not states(apart, "merged")
    counted = ("file", "operation", "calls", "bytes", "processes", "consecutive", "forward", "end_bytes")
    assert rows(profile.file_operations, *counted) == rows(apart.file_operations, *counted)
    assert profile.files["processes"].to_list() == apart.files["processes"].to_list()
    for operation in ("read", "write"):
        assert total(profile, operation) == total(apart, operation) > 0


def test_a_log_of_no_file_is_an_empty_profile(load: Load) -> None:
    profile = load("empty.darshan")
    assert (profile.files.height, profile.processes.height, profile.commands) == (0, 1, ("/bin/true",))
    assert profile.processes["read_bytes"].to_list() == [0]
    assert states(profile, "no record of any file")


def test_logs_of_several_processes_are_one_profile(load: Load) -> None:
    first, second = load("worker1.darshan"), load("worker2.darshan")
    both = load("worker2.darshan", "worker1.darshan")
    assert rows(both.processes, "process", "begin_unix_ns") == [
        (0, first.begin_unix_ns),
        (1, second.begin_unix_ns),
    ]
    assert both.duration_s == pytest.approx((second.end_unix_ns - first.begin_unix_ns) / 1e9)
    file = of_file(both, both.files, "/data.bin").row(0, named=True)
    later_s = (second.begin_unix_ns - first.begin_unix_ns) / 1e9
    assert file["processes"] == 2
    assert file["last_close_s"] == pytest.approx(
        of_file(second, second.files, "/data.bin")["last_close_s"].item() + later_s
    )
    assert total(both, "write") == 2 * total(first, "write")
    assert max(both.timeline["start_s"]) >= 0.3
    assert states(both, "The logs name 2 jobs")
    assert not states(first, "The logs name")


def assert_alike(first: Profile, second: Profile) -> None:
    """Two profiles of the same run, of which one has times of 1 µs and a start of a second."""
    for name, schema in FRAMES.items():
        dropped = [column for column in schema if column.endswith("_unix_ns")]
        left, right = (
            getattr(profile, name).drop(dropped).with_columns(pl.selectors.numeric().cast(pl.Float64))
            for profile in (first, second)
        )
        rounding = [column for column in left.columns if column.endswith("_ns")]
        assert_frame_equal(left.select(rounding), right.select(rounding), abs_tol=MOST_ROUNDED_NS, rel_tol=0)
        assert_frame_equal(left.drop(rounding), right.drop(rounding), abs_tol=1e-6, rel_tol=1e-6)
    others = {field.name for field in fields(Profile)} - {*FRAMES, "names", "unknown"}
    for name in others - {"begin_unix_ns", "end_unix_ns", "origin_unix_ns"}:
        assert getattr(first, name) == getattr(second, name), name
    assert first.duration_s == pytest.approx(second.duration_s, abs=1e-3)
    assert second.begin_unix_ns == first.begin_unix_ns // 10**9 * 10**9


@pytest.mark.parametrize("name", ["python", "mpi", "killed"])
def test_the_text_of_a_log_has_the_same_profile(load: Load, name: str) -> None:
    binary, text = load(f"{name}.darshan"), load(f"{name}.txt")
    assert_alike(binary, text)
    assert set(binary.unknown) < set(text.unknown)
    assert states(text, "darshan-parser prints neither")


def test_a_log_and_its_text_are_not_added_up(load: Load) -> None:
    for names in (
        ("python.darshan", "python.darshan"),
        ("python.darshan", "python.txt"),
        ("killed-raw.darshan", "killed.txt"),
    ):
        with pytest.raises(UsageError, match="are the same log"):
            load(*names)


@pytest.mark.parametrize(
    ("name", "what"),
    [("mpi-dxt.dxt.txt", "what darshan-dxt-parser prints"), ("python-total.txt", "sums of darshan-parser")],
)
def test_a_text_without_the_counters_of_files_is_refused(load: Load, name: str, what: str) -> None:
    with pytest.raises(UsageError, match=what) as error:
        load(name)
    assert "darshan-parser --show-incomplete" in error.value.remedy


def sample(name: str) -> Path:
    """A log that PyDarshan brings along for its own tests."""
    spec = importlib.util.find_spec("darshan")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("PyDarshan is not installed: pip install 'ioassay[darshan]'")
    log = next(Path(spec.submodule_search_locations[0]).rglob(f"{name}.darshan"), None)
    return log or pytest.skip(f"this PyDarshan has no {name}.darshan")


def test_older_logs_have_no_time_line_and_the_stripes_of_lustre() -> None:
    profile = load_profile([sample("sample-goodost")])
    assert profile.processes.height == 48
    assert profile.timeline.is_empty()
    assert states(profile, "When POSIX and STDIO moved bytes is unknown")
    written = profile.files.filter(pl.col("path").str.starts_with("/scratch"))
    assert set(written["block_bytes"]) == {1 << 20}
    assert profile.losses == ()


def test_modules_that_are_not_read_are_named() -> None:
    profile = load_profile([sample("ior_hdf5_example")])
    assert states(profile, "does not read the modules H5D and H5F")


def test_many_ranks_of_a_job_are_processes() -> None:
    profile = load_profile([sample("sample-badost")])
    assert profile.processes.height == 2048
    # All of them wrote to standard output, which is so little that it is left out.
    assert profile.processes["written_bytes"].sum() == total(profile, "write")


def test_without_pydarshan_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    path = tmp_path / "x.darshan"
    path.write_bytes(b"3.41\0\0\0\0" + (6567223).to_bytes(8, "little") + bytes(100))
    with pytest.raises(CannotRun, match="PyDarshan is not installed") as error:
        load_profile([path])
    assert "ioassay[darshan]" in error.value.remedy
    assert "darshan-parser" in error.value.remedy


def test_a_pydarshan_that_does_not_work_is_an_error(
    log: Named, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = log("python.darshan")
    package = tmp_path / "darshan"
    (package / "backend").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "backend" / "api_def_c.py").write_text("def load_darshan_header():\n    return ''\n")
    (package / "discover_darshan.py").write_text(
        "def find_utils(*_):\n    raise RuntimeError('libdarshan-util.so was not found')\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(library.__file__).parents[3]}")
    with pytest.raises(CannotRun, match=r"libdarshan-util\.so was not found"):
        load_profile([path])


def test_the_kinds_of_calls_of_mpi_io_are_distinguished(log: Named, tmp_path: Path) -> None:
    text = log("mpi.txt").read_text()
    for kind, calls in (("INDEP_WRITES\t32", "0"), ("NB_WRITES\t0", "32"), ("SPLIT_READS\t0", "7")):
        name = kind.split("\t")[0]
        assert f"MPIIO_{kind}\t" in text
        text = text.replace(f"MPIIO_{kind}\t", f"MPIIO_{name}\t{calls}\t")
    changed = tmp_path / "kinds.txt"
    changed.write_text(text)
    profile = load_profile([changed])
    of_mpi = of_file(profile, profile.file_operations, "/mpi.bin").filter(pl.col("operation").str.starts_with("MPI"))
    assert of_mpi.select("operation", "calls").rows() == [
        ("MPI collective read", 16),
        ("MPI collective write", 32),
        ("MPI file", 8),
        ("MPI non-blocking write", 32),
        ("MPI read", 16),
        ("MPI split collective read", 7),
    ]
    assert "MPI non-blocking collective write" in profile.uncounted
    assert "MPI non-blocking write" not in profile.uncounted


def test_what_has_no_counter_is_not_counted_and_stat_only_where_darshan_saw_any(log: Named, tmp_path: Path) -> None:
    text = log("python.txt")
    seen = tmp_path / "seen.txt"
    seen.write_text(text.read_text().replace("\tPOSIX_STATS\t0\t", "\tPOSIX_STATS\t3\t", 1))
    with_stats, without = load_profile([seen]).uncounted, load_profile([text]).uncounted
    assert {"close", "remove"} <= with_stats
    assert without - with_stats == {"stat"}


def test_who_used_a_file_is_known_of_each_process_or_of_all_of_a_job_together(load: Load) -> None:
    profile = load("mpi.txt")
    used = profile.file_processes.join(profile.files.select("file", "path"), on="file")
    assert set(used["processes"]) == {1, 4}
    together = used.filter(processes=4)
    assert set(together["process"]) == {0}
    assert together["removes"].null_count() == together.height
    moved = used["written_bytes"].sum()
    assert moved == profile.file_operations.filter(pl.col("operation").is_in(["write", "stream write"]))["bytes"].sum()

"""Traces of DFTracer and the profiles of them. They are real: `testdata/README.md`."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ioassay.analysis.profile.findings import ProfileFacts, findings
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.analysis.profile.totals import totals
from ioassay.analysis.profile.workflow import workflow
from ioassay.errors import UsageError
from ioassay.profiles.model import FRAMES, Profile
from ioassay.profiles.sources import load_profile

TRACES = Path(__file__).parent / "testdata"
KIB = 1024


@pytest.fixture(scope="module")
def writer() -> Profile:
    return load_profile([TRACES / "writer.pfw"])


def of_file(profile: Profile, path: str) -> dict[str, dict[str, object]]:
    """The operations on a file, by name."""
    file = profile.files.filter(path=path)["file"].item()
    return {row["operation"]: row for row in profile.file_operations.filter(file=file).iter_rows(named=True)}


def lines_of(name: str) -> list[bytes]:
    content = (TRACES / name).read_bytes()
    return (gzip.decompress(content) if name.endswith(".gz") else content).splitlines(keepends=True)


def test_every_table_has_its_columns(writer: Profile) -> None:
    assert {name: getattr(writer, name).schema for name in FRAMES} == dict(FRAMES)


def test_what_the_program_did(writer: Profile) -> None:
    assert writer.source == "dftracer"
    assert writer.commands == ("./writer",)
    process = writer.processes.row(0, named=True)
    assert (process["node"], process["state"], process["threads"]) == ("vm", "ended", 1)
    assert (process["read_bytes"], process["written_bytes"]) == (8000 + 500, 655360 + 8000 + 1000 + 20004)
    assert process["elsewhere_ns"] >= 0
    sums = totals(writer)
    assert (sums.of("read").calls, sums.of("write").calls) == (8 + 1, 10 + 9 + 22)
    assert sums.of("write").bytes == process["written_bytes"]
    assert not writer.losses


def test_operations_of_a_file(writer: Profile) -> None:
    part = of_file(writer, "/scratch/app/part.tmp")
    assert {name: row["calls"] for name, row in part.items()} == {
        "open": 1, "close": 1, "sync": 1, "rename": 1, "write": 10, "stat": 1,
    }  # fmt: skip
    assert (part["write"]["bytes"], part["write"]["consecutive"], part["write"]["failed"]) == (655360, 10, 0)
    assert (part["write"]["begin_bytes"], part["write"]["end_bytes"]) == (0, 655360)
    assert part["open"]["failed"] is None
    assert part["sync"]["duration_ns"] is None
    assert writer.files.filter(path="/scratch/app/part.tmp")["names"].item() == 2


def test_the_order_of_requests_with_offsets_of_their_own(writer: Profile) -> None:
    strided = of_file(writer, "/scratch/app/strided")
    write, read = strided["write"], strided["read"]
    # Of the 8 strided writes the first is at the beginning; the 7 others skip as much, which the first of them cannot
    # say. What follows them is written at the beginning again.
    assert (write["consecutive"], write["forward"], write["strided"]) == (1, 7, 6)
    assert (read["consecutive"], read["forward"]) == (0, 1)
    assert (read["begin_bytes"], read["end_bytes"]) == (0, 7 * 4096 + 1000)
    assert strided["map"]["calls"] == strided["truncate"]["calls"] == strided["remove"]["calls"] == 1


def test_sizes_and_common_sizes(writer: Profile) -> None:
    file = writer.files.filter(path="/scratch/app/part.tmp")["file"].item()
    assert writer.file_sizes.filter(file=file).drop("file").rows() == [("write", 65536, 131072, 10)]
    assert writer.common_sizes.filter(file=file).drop("file").rows() == [("write", 65536, 10)]


def test_time_lines_and_latencies_have_all_calls(writer: Profile) -> None:
    calls = writer.process_operations.group_by("operation").agg(pl.col("calls").sum()).sort("operation")
    for frame in (writer.timeline, writer.latencies):
        counted = frame.group_by("operation").agg(pl.col("calls").sum().cast(pl.Int64)).sort("operation")
        assert counted.rows() == calls.rows()
    moved = writer.process_operations.filter(pl.col("operation") == "write")["bytes"].sum()
    assert writer.timeline.filter(pl.col("operation") == "write")["bytes"].sum() == pytest.approx(moved)
    assert writer.heat["written_bytes"].sum() == pytest.approx(writer.processes["written_bytes"].sum())
    shortest = writer.latencies.filter(pl.col("begin_ns") < 800)
    assert set(shortest.select("begin_ns", "end_ns").rows()) <= {(0.0, 1000.0)}


def test_what_is_no_storage_is_elsewhere(writer: Profile) -> None:
    assert writer.files.filter(path="/dev/null")["kind"].item() == "character device"
    elsewhere = writer.process_operations.filter(pl.col("operation") == "elsewhere write")
    assert elsewhere.select("calls", "bytes").rows() == [(1, 100)]


def test_traces_of_several_processes_are_one_profile_and_a_workflow(tmp_path: Path) -> None:
    for name in ("writer.pfw", "reader.pfw.gz"):
        shutil.copy(TRACES / name, tmp_path)
    profile = load_profile([tmp_path])
    assert profile.processes["command"].to_list() == ["./writer", "./reader"]
    flow = workflow(profile)
    assert [step.name for step in flow.steps] == ["writer", "reader"]
    (exchange,) = flow.exchanges
    assert (exchange.files, exchange.written_bytes, exchange.read_bytes) == (1, 655360, 655360)


def test_findings_rest_on_a_trace(writer: Profile) -> None:
    assert all(finding.rests_on for finding in findings(ProfileFacts(writer, Thresholds())))


def test_a_trace_without_arguments_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="neither files nor bytes") as refused:
        load_profile([TRACES / "no-arguments.pfw.gz"])
    assert "DFTRACER_INC_METADATA=1" in str(refused.value.remedy)


def test_a_decorated_function_is_a_region_with_its_calls() -> None:
    profile = load_profile([TRACES / "python.pfw.gz"])
    assert profile.regions["entries"].to_list() == [3]
    assert profile.region_operations.filter(operation="write")["bytes"].to_list() == [300_000]
    files = profile.files.filter(pl.col("path").str.starts_with("/scratch/app/py."))
    assert profile.file_operations.join(files, on="file").filter(operation="write")["bytes"].sum() == 300_000


def test_the_form_before_version_2_2_has_letters_for_phases_and_a_bracket(tmp_path: Path, writer: Profile) -> None:
    older = b"[\n" + b"".join(lines_of("writer.pfw")).replace(b'"ph":1', b'"ph":"X"').replace(b'"ph":4', b'"ph":"M"')
    (tmp_path / "older.pfw").write_bytes(older)
    assert load_profile([tmp_path]).process_operations.equals(writer.process_operations)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_trace_that_was_cut_has_what_is_left_and_says_so(tmp_path: Path, writer: Profile, share: float) -> None:
    content = (TRACES / "writer.pfw").read_bytes()
    cut = tmp_path / "cut.pfw"
    cut.write_bytes(content[: round(share * len(content))])
    profile = load_profile([cut])
    assert 0 < profile.process_operations["calls"].sum() < writer.process_operations["calls"].sum()
    assert "partial" in {loss.kind for loss in profile.losses}
    assert profile.processes["state"].to_list() == ["killed"]


def test_a_packed_trace_that_was_cut_has_what_is_left(tmp_path: Path) -> None:
    content = gzip.compress(b"".join(lines_of("writer.pfw")))
    cut = tmp_path / "cut.pfw.gz"
    cut.write_bytes(content[: len(content) * 2 // 3])
    profile = load_profile([cut])
    assert profile.process_operations["calls"].sum() > 10
    assert "partial" in {loss.kind for loss in profile.losses}


def test_bytes_that_are_no_lines_are_counted_and_the_calls_that_are_missing(tmp_path: Path) -> None:
    lines = lines_of("writer.pfw")
    lines[20:22] = [b'{"id":\n', b"\x00\xff\n"]
    (tmp_path / "damaged.pfw").write_bytes(b"".join(lines))
    losses = {loss.kind: loss.amount for loss in load_profile([tmp_path]).losses}
    assert losses == {"damaged-bytes": 8, "untraced-calls": 2}


def test_reading_goes_on_behind_a_damaged_piece_of_gzip(tmp_path: Path) -> None:
    lines = lines_of("writer.pfw")
    pieces = [gzip.compress(b"".join(lines[first : first + 10])) for first in range(0, len(lines), 10)]
    pieces[2] = pieces[2][:30] + bytes(20) + pieces[2][50:]
    (tmp_path / "damaged.pfw.gz").write_bytes(b"".join(pieces))
    profile = load_profile([tmp_path])
    assert profile.processes["state"].to_list() == ["ended"]
    assert {"damaged-bytes", "untraced-calls"} <= {loss.kind for loss in profile.losses}


def test_no_damage_ends_in_a_traceback(tmp_path: Path) -> None:
    content = np.frombuffer((TRACES / "writer.pfw").read_bytes(), np.uint8)
    dice = np.random.default_rng(3)
    read = 0
    for _ in range(40):
        damaged = content.copy()
        positions = dice.integers(0, len(content), 200)
        damaged[positions] = dice.integers(0, 256, 200)
        (tmp_path / "damaged.pfw").write_bytes(damaged.tobytes())
        try:
            profile = load_profile([tmp_path])
        except UsageError:
            continue
        read += 1
        assert findings(ProfileFacts(profile, Thresholds())) is not None
    assert read > 20


@pytest.mark.parametrize("content", [b"[\n]\n", b"[", gzip.compress(b"[\n", mtime=0), *lines_of("writer.pfw")[:1]])
def test_a_trace_without_a_call_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "empty.pfw").write_bytes(content)
    with pytest.raises(UsageError, match="no call"):
        load_profile([tmp_path])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"),
        (b"root:x:0:0:root:/root:/bin/bash\n", "text"),
        (bytes(range(256)), "binary data of an unknown kind"),
        (b'{"name": 1}\n', "JSON"),
        (gzip.compress(b"text", mtime=0), "compressed with gzip"),
        (b"\x1f\x8b\x08rest", "compressed with gzip"),
    ],
)
def test_what_is_no_trace_in_spite_of_its_name_is_refused_as_what_it_is(
    tmp_path: Path, content: bytes, what: str
) -> None:
    trace = tmp_path / "other.pfw"
    trace.write_bytes(content)
    for path in (trace, tmp_path):
        with pytest.raises(UsageError, match=f"other.pfw is {what}, not a profile"):
            load_profile([path])


def test_a_fifo_is_named_as_one(tmp_path: Path) -> None:
    for name, words in (("x.pfw", "is a FIFO"), ("x", "not a regular file, but a FIFO"), ("x.darshan", "but a FIFO")):
        os.mkfifo(tmp_path / name)
        with pytest.raises(UsageError, match=words):
            load_profile([tmp_path / name])


def test_a_trace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        load_profile([tmp_path / "missing.pfw"])

"""Counters of servers stand beside a run of the same minutes: stored, compared and shown."""

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ioassay import reports
from ioassay.analysis.findings import RunFacts, findings
from ioassay.analysis.findings.counted_bytes import CountedBytesEvidence
from ioassay.analysis.findings.counter_clock import CounterClockEvidence
from ioassay.analysis.watch.counted import ImportedCounters, counted
from ioassay.analysis.watch.phases import activity
from ioassay.analysis.watch.timeline import timeline
from ioassay.cli.import_ import import_
from ioassay.errors import UsageError
from ioassay.figures import servers as figure
from ioassay.reports.run import RunReport
from ioassay.store.loaded import LoadedRun
from ioassay.store.run_directory import load
from ioassay.store.watch_document import WatchedHost
from ioassay.testing import stored
from ioassay.testing.builder import RunBuilder
from ioassay.testing.importer_samples import FILES

GB = 10**9
T = 1_780_000_000
PHASES = ((10.0, 20.0, "write"), (40.0, 20.0, "read"), (90.0, 30.0, "write"))
"""Beginning and length in seconds, and what is done: each at 1 GB/s."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with these phases."""
    built = RunBuilder().workload("w").clients(1).repetitions(2).build()
    rows = []
    for row in built.measurements.iter_rows(named=True):
        occurrences = [phase for phase in PHASES if phase[2] == row["phase"]]
        if len(occurrences) >= row["repetition"]:
            start_s, length_s, _ = occurrences[row["repetition"] - 1]
            rows.append(
                row
                | {
                    "started_unix_ns": int((T + start_s) * GB),
                    "duration_ns": int(length_s * GB),
                    "bytes": int(length_s * GB),
                    "rate_bytes_per_s": 1e9,
                }
            )
    path = tmp_path / "run"
    stored.store(replace(built, measurements=pl.DataFrame(rows, schema=built.measurements.schema)), path)
    return path


def moved(way: str, at_s: float) -> float:
    """Bytes moved in this direction until `at_s`."""
    return sum(GB * min(max(at_s - start, 0.0), length) for start, length, phase_way in PHASES if phase_way == way)


def counters(
    *, step_s: float = 2, factor: float = 1, ahead_s: float = 0, first_s: float = 0, last_s: float = 140
) -> str:
    """What `lctl get_param obdfilter.*.stats` printed of two targets every `step_s`."""
    lines = []
    for number in range(round((last_s - first_s) / step_s) + 1):
        at_s = first_s + number * step_s
        for target in (0, 1):
            wrote, was_read = (round(moved(way, at_s) * factor / 2) for way in ("write", "read"))
            lines += [
                f"obdfilter.scratch-OST000{target}.stats=",
                f"snapshot_time             {T + at_s + ahead_s:.9f} secs.nsecs",
                f"read_bytes                {1 + was_read // 4096} samples [bytes] 4096 4096 {5_000 + was_read}",
                f"write_bytes               {1 + wrote // 4096} samples [bytes] 4096 4096 {7_000 + wrote}",
            ]
    return "\n".join(lines) + "\n"


def beside(run: Path, text: str, name: str = "oss1", clock_ahead: float = 0.0) -> LoadedRun:
    """The run after an import beside it."""
    file = run.parent / f"{name}.txt"
    file.write_text(text)
    assert import_("lustre", [file], beside=run, clock_ahead=clock_ahead) == 0
    return load(run)


def counters_of(run: LoadedRun) -> ImportedCounters:
    """The comparison of the run with its counters."""
    comparison = counted(activity(run))
    assert comparison is not None
    return comparison


def evidence(run: LoadedRun) -> list[CountedBytesEvidence | CounterClockEvidence]:
    """Evidence of the findings about the counters."""
    all_evidence = (finding.evidence for finding in findings(RunFacts(run)))
    return [item for item in all_evidence if isinstance(item, CountedBytesEvidence | CounterClockEvidence)]


def test_the_seconds_add_up_to_what_was_counted(run: Path) -> None:
    seconds = counters_of(beside(run, counters(step_s=7, last_s=147))).seconds
    total = sum(length for _, length, _ in PHASES) * GB
    assert seconds.select(pl.sum_horizontal("write_bytes", "read_bytes").sum()).item() == pytest.approx(total, abs=200)
    assert seconds["write_bytes"].max() == pytest.approx(GB, abs=4)


@pytest.mark.parametrize("step_s", [1, 2, 5])
def test_without_other_jobs_counters_equal_the_clients_bytes(run: Path, step_s: float) -> None:
    run_with_counters = beside(run, counters(step_s=step_s))
    rows = counters_of(run_with_counters).phases.to_dicts()
    ratios = [row[f"counted_{way}_bytes"] / row[f"{way}_bytes"] for row, (_, _, way) in zip(rows, PHASES, strict=True)]
    assert ratios == pytest.approx([1, 1, 1], rel=0.01)
    assert evidence(run_with_counters) == []


@pytest.mark.parametrize(("factor", "role"), [(1.6, "more"), (0.5, "less")])
def test_clearly_more_or_fewer_bytes_are_a_warning(run: Path, factor: float, role: str) -> None:
    run_with_counters = beside(run, counters(factor=factor))
    items = evidence(run_with_counters)
    assert items
    assert all(
        isinstance(item, CountedBytesEvidence) and item.ratio == pytest.approx(factor, rel=0.02) for item in items
    )
    text = reports.build(RunReport(run_with_counters), "md").decode()
    assert ("Other jobs used the file system" in text) == (role == "more")
    assert ("page cache" in text) >= (role == "less")


@pytest.mark.parametrize("ahead_s", [45, -25])
def test_a_wrong_clock_is_detected_and_can_be_corrected(run: Path, ahead_s: float) -> None:
    text = counters(ahead_s=ahead_s, first_s=-60, last_s=220)
    (clock,) = evidence(beside(run, text))
    assert clock == CounterClockEvidence(round(ahead_s))
    assert f"--clock-ahead {ahead_s}" in reports.build(RunReport(load(run)), "md").decode()
    run_with_counters = beside(run, text, clock_ahead=ahead_s)
    assert evidence(run_with_counters) == []
    assert counters_of(run_with_counters).phases.height == len(PHASES)


def test_readings_too_far_apart_are_not_compared(run: Path) -> None:
    run_with_counters = beside(run, counters(step_s=35))
    assert counters_of(run_with_counters).phases.is_empty()
    assert "only the timeline can be compared" in reports.build(RunReport(run_with_counters), "md").decode()


def test_a_reset_leaves_seconds_unknown_and_not_zero(run: Path) -> None:
    text = counters()
    first, second = text[: len(text) // 2], text[len(text) // 2 :]
    cut = second.index("obdfilter.scratch-OST0000")
    lower = re.sub(r"4096 4096 (\d+)", lambda match: f"4096 4096 {int(match[1]) // 1000}", second[cut:])
    seconds = counters_of(beside(run, first + second[:cut] + lower)).seconds["second"].to_list()
    missing = set(range(seconds[0], seconds[-1] + 1)) - set(seconds)
    assert 0 < len(missing) <= 4


def test_the_counters_are_in_the_figure_and_in_every_form_of_the_report(run: Path) -> None:
    run_with_counters = beside(run, counters())
    line = timeline(activity(run_with_counters))  # type: ignore[arg-type]
    assert line is not None
    assert line.counted["host"].unique().to_list() == ["oss1"]
    assert line.counted["write"].max() == pytest.approx(GB, rel=0.01)
    assert "oss1: counters of the file system" in json.dumps(figure.chart(line))
    assert "counted_write_bytes_per_s" in figure.data(line).columns
    markdown = reports.build(RunReport(run_with_counters), "md").decode()
    assert "write (writes) | 1.00 GB/s | 1.00 GB/s | 1.00 |" in markdown
    watched = json.loads(reports.build(RunReport(run_with_counters), "json"))["watched"]
    assert watched["hosts"][0]["imported"][0]["path"].endswith("oss1.txt")


def test_a_second_import_replaces_the_first_and_other_hosts_stay(run: Path) -> None:
    beside(run, counters(factor=3))
    beside(run, counters(), "oss2")
    run_with_counters = beside(run, counters())
    assert [host.name for host in run_with_counters.watch.document.hosts] == ["oss2", "oss1"]  # type: ignore[union-attr]
    ratio = (
        counters_of(run_with_counters).phases.select(pl.col("counted_write_bytes") / pl.col("write_bytes")).to_series()
    )
    assert ratio[0] == pytest.approx(2, rel=0.01)


def test_job_stats_alone_represent_their_target(run: Path) -> None:
    lines = []
    for at_s in range(0, 142, 2):
        lines += ["obdfilter.scratch-OST0000.job_stats=", "job_stats:"]
        if wrote := round(moved("write", at_s)):
            lines += [
                "- job_id:          dd.1000",
                f"  snapshot_time:   {T + at_s:.9f} secs.nsecs",
                f"  start_time:      {T + 10:.9f} secs.nsecs",
                f"  write_bytes:     {{ samples: {wrote // 4096}, unit: bytes, min: 1, max: 4096, sum: {wrote} }}",
            ]
    phases = counters_of(beside(run, "\n".join(lines) + "\n")).phases
    assert phases["counted_write_bytes"].to_list()[0] == pytest.approx(20 * GB, rel=0.02)


@pytest.fixture
def problems(run: Path) -> tuple[Path, Path]:
    """The run, and a file to import."""
    return run, run.parent / "oss1.txt"


def refusal(run: Path, file: Path, tool: str = "lustre", **options: object) -> str:
    """Why an import beside the run is refused."""
    with pytest.raises(UsageError) as error:
        import_(tool, [file], beside=run, **options)  # type: ignore[arg-type]
    return error.value.message


def test_unusable_counters_are_refused(problems: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    run, file = problems
    file.write_text(counters(ahead_s=7200))
    assert "took place from" in refusal(run, file)
    assert "too much" in refusal(run, file, clock_ahead=1e9)
    assert "too much" in refusal(run, file, clock_ahead=float("nan"))
    assert "no run of its own" in refusal(run, file, out=run.parent / "other")
    assert "cannot stand beside" in refusal(run, file, tool="ior")
    file.write_text("".join(counters().splitlines(keepends=True)[:4]))
    assert "Nothing was imported" in refusal(run, file)
    assert "a time line needs two" in capsys.readouterr().err
    assert not (run / "watch").exists()


def test_the_same_file_twice_does_not_count_twice(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run.parent / "servers"
    folder.mkdir()
    for name in ("oss1", "oss2"):
        (folder / f"{name}.txt").write_text(counters())
    assert import_("lustre", [folder], beside=run) == 1
    assert "the same content" in capsys.readouterr().err
    assert evidence(load(run)) == []


def test_a_host_that_an_agent_watched_is_not_replaced(problems: tuple[Path, Path]) -> None:
    run, file = problems
    run_with_counters = beside(run, counters())
    document = run_with_counters.watch.document  # type: ignore[union-attr]
    document.hosts = [WatchedHost(name="oss1", role="server", file="oss1.jsonl")]
    (run / "watch" / "watch.json").write_text(document.model_dump_json())
    assert "watched by an agent" in refusal(run, file)


def test_a_run_without_times_is_refused(problems: tuple[Path, Path]) -> None:
    run, file = problems
    other = run.parent / "imported"
    import_("iozone", [FILES / "iozone" / "iozone-3.414-throughput-excel.txt"], out=other)
    file.write_text(counters())
    assert "does not say when" in refusal(other, file)

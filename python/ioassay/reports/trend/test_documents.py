from __future__ import annotations

import csv
import io
import json
import re
from datetime import datetime

import pytest

from ioassay import reports
from ioassay.analysis.compare import measured_run
from ioassay.analysis.test_given_rates import paced_reads
from ioassay.analysis.trend.history import Run
from ioassay.reports.compare import configuration
from ioassay.reports.trend import TrendReport
from ioassay.reports.trend.content import Content, Stored, assemble
from ioassay.reports.trend.wording import percent
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.testing.nightly_runs import night

NIGHTS = 12
KERNEL = 8
"""From this night on the kernel is another, and writes are slower."""


def stored(name: str, run: LoadedRun) -> Stored:
    document = run.document
    started = datetime.fromisoformat(document.started)
    seen = Run(measured_run.subject(run, name), document.study.name, document.where, started)
    return Stored(seen, configuration.run_facts(document))


def night_run(index: int, write: float = 1.0, transfer_bytes: int = 1 << 20) -> LoadedRun:
    """A night; the storage scatters by some percent."""
    builder = RunBuilder().clients(1, 8).repetitions(3).workload("seq", "Sequential", transfer_bytes=transfer_bytes)
    for clients in (1, 8):
        rate = clients * 1e9 * (1 + 0.01 * (index * 7 % 5))
        builder.rates("seq", "write", clients, *(write * rate * scatter for scatter in (0.99, 1.0, 1.02)))
        builder.rates("seq", "read", clients, *(rate * scatter for scatter in (0.98, 1.0, 1.01)))
    return night(index, builder)


def build(content: Content, form: reports.Format) -> bytes:
    return reports.build(TrendReport(content), form)


@pytest.fixture(scope="module")
def runs() -> list[Stored]:
    nights = []
    for index in range(NIGHTS):
        run = night_run(index, write=0.7 if index >= KERNEL else 1.0, transfer_bytes=4096 if index == 3 else 1 << 20)
        run.document.environment[0]["kernel"] = "6.6.0" if index >= KERNEL else "6.1.0"
        nights.append(stored(f"night-{index:02}", run))
    return nights


@pytest.fixture(scope="module")
def content(runs: list[Stored]) -> Content:
    return assemble(runs, ["an-import"], 0.05)


def test_a_change_is_reported_with_its_runs_rates_and_configuration_changes(content: Content) -> None:
    (part,) = content.groups
    (moment,) = part.moments
    assert moment.between == "Between night-07 (2026-02-09 02:40:00) and night-08 (2026-02-10 02:40:00)"
    fell = r"Sequential, write at (1 client|8 clients) fell by (29|3[01]) %, from \d{4} MB/s to (\d{3}|\d{4}) MB/s\."
    assert len(moment.sentences) == 2
    assert all(re.fullmatch(fell, text) for text in moment.sentences)
    assert [(row.what, row.values) for row in moment.configuration] == [("Kernel", ("6.1.0", "6.6.0"))]


def test_every_point_has_a_verdict_that_says_why(content: Content) -> None:
    assert [(line.group, line.name, line.judgement) for line in content.lines] == [
        ("Sequential, write", "1 client", "failed"),
        ("Sequential, write", "8 clients", "failed"),
        ("Sequential, read", "1 client", "passed"),
        ("Sequential, read", "8 clients", "passed"),
    ]
    assert re.search(r"since night-08 against .* before: (29|3[01]) % less", content.lines[0].says)
    assert re.search(r"of 10 earlier runs: .*; smallest detectable drop: \d.* %", content.lines[2].says)


def test_a_run_that_was_not_measured_alike_is_named_with_what_is_unlike(content: Content) -> None:
    sentence = (
        "Left out (different conditions): night-03 (transfer 4 KiB against 1 MiB of night-11). To compare them, repeat "
        "the study with the settings of one run."
    )
    assert [series.notes for series in content.groups[0].series] == [(sentence,), (sentence,)]


def test_a_gradual_decline_is_reported_once_for_each_point() -> None:
    runs = [stored(f"night-{index:02}", night_run(index, write=0.97**index)) for index in range(14)]
    (part,) = assemble(runs, [], 0.05).groups
    assert part.moments == ()
    pattern = (
        r"Sequential, write at (1 client|8 clients) declined gradually by 3\d % from night-00 to night-13 \(95 % .*"
    )
    assert len(part.trends) == 2
    assert all(re.fullmatch(pattern, text) for text in part.trends)


@pytest.mark.parametrize(
    ("change", "text"),
    [(0.031, "+3.1 %"), (1.5, "+150 %"), (-0.29, "−29 %"), (-0.9955, "−99.6 %"), (-0.99999, "−99.9 %")],
)
def test_a_fall_is_by_less_than_everything(change: float, text: str) -> None:
    assert percent(change) == text


def test_verdicts_distinguish_two_targets() -> None:
    runs = []
    for index in range(4):
        run = night_run(index)
        run.document.target = f"/mnt/{index % 2}"
        runs.append(stored(f"night-{index}", run))
    content = assemble(runs, [], 0.05)
    assert [part.title for part in content.groups] == ["example on /mnt/0", "example on /mnt/1"]
    assert len({(line.group, line.name) for line in content.lines}) == len(content.lines) == 8
    assert {line.judgement for line in content.lines} == {"not judged"}
    assert assemble(runs, [], 0.05, any_target=True).title == "example on 2 targets"
    assert content.lines[0].says.endswith("of 1 earlier run: 4.0 % more; a verdict needs 5 runs")


def test_points_that_the_latest_run_lacks_fail() -> None:
    last = RunBuilder().clients(1).repetitions(3).workload("seq", "Sequential")
    content = assemble([stored("a", night_run(0)), stored("b", night(1, last))], [], 0.05)
    failed = [(line.name, line.says) for line in content.lines if line.judgement == "failed"]
    sentence = "a has Sequential, write at 8 clients, and b has no valid measurement of it."
    assert failed[0] == ("8 clients", sentence)
    assert sentence in build(content, "md").decode()


def test_every_format_has_every_run_and_point(content: Content) -> None:
    document = json.loads(build(content, "json"))
    rows = list(csv.DictReader(io.StringIO(build(content, "csv").decode())))
    in_json = [(point["series"], point["clients"], run["run"]) for point in document["points"] for run in point["runs"]]
    assert [(row["series"], int(row["clients"]), row["run"]) for row in rows] == in_json
    assert len(rows) == 4 * (NIGHTS - 1)
    assert {row["level"] for row in rows if row["series"] == "Sequential, write"} == {"1", "2"}
    assert document["accepted"] is False
    assert [point["reason"] for point in document["points"]] == ["declined", "declined", "held", "held"]
    assert document["points"][0]["changes"][0]["first_run_after"] == "night-08"
    assert document["points"][0]["left_out"][0]["run"] == "night-03"
    text = build(content, "md").decode()
    assert all(cell in text for part in content.groups for series in part.series for row in series.rows for cell in row)
    assert "an-import is left out: it has no timestamp." in text


def test_the_page_has_a_figure_for_each_series_and_is_the_same_every_time(content: Content) -> None:
    page = build(content, "html").decode()
    assert page == build(content, "html").decode()
    assert page.count("<svg") == 2
    assert "2026-02-04" in page[page.index("<svg") : page.index("</svg>")]
    assert "Kernel" in page


def test_very_many_runs_that_were_not_measured_alike_are_counted() -> None:
    runs = [
        stored(f"night-{index}", night_run(index, transfer_bytes=4096 if index < 7 else 1 << 20)) for index in range(8)
    ]
    note, few = assemble(runs, [], 0.05).groups[0].series[0].notes
    assert note.startswith("Left out (different conditions): 7 runs from night-0 to night-6 (transfer ")
    assert few == "A verdict needs 5 runs that were measured alike: at least 4 more runs of the study."


def test_doubts_about_the_latest_run_stand_below_its_series() -> None:
    doubtful = RunBuilder().clients(1, 8).repetitions(3).workload("seq", "Sequential")
    doubtful.doubt("seq-c8-r2", "write", "short-phase").doubt("seq-c1-r1", "read", "late-sampler")
    runs = [stored("a", night_run(0)), stored("b", night(1, doubtful))]
    notes = [series.notes for series in assemble(runs, [], 0.05).groups[0].series]
    assert [note[-1] for note in notes] == [
        "b is doubted: short-phase (at 8 clients).",
        "b is doubted: late-sampler (at 1 client).",
    ]


def test_the_only_run_of_a_study_is_left_out_and_named(runs: list[Stored]) -> None:
    only_run = Stored(Run(runs[1].run.subject, "other", "/t", runs[1].run.started), runs[1].facts)
    content = assemble([runs[0], only_run, *runs[2:]], [], 0.05)
    assert [part.title for part in content.groups] == ["example on /mnt/store/iotest"]
    assert content.left_out == ("night-01 is left out: it is the only run of other on /t.",)
    assert all(content.left_out[0] in build(content, form).decode() for form in ("html", "md", "json"))


def test_two_runs_are_shown_and_not_judged() -> None:
    content = assemble([stored("a", night_run(0)), stored("b", night_run(1))], [], 0.05)
    page = build(content, "html").decode()
    assert page.count("<svg") == 2
    assert page.count("too few runs") == 4
    assert "No level shift and no trend is significant." in page


def test_runs_that_scatter_too_much_are_shown_and_not_judged() -> None:
    runs = [stored(f"night-{index}", night_run(index, write=(1, 1.3, 0.8)[index % 3])) for index in range(7)]
    content = assemble(runs, [], 0.05)
    (writes, _) = content.groups[0].series
    assert {row.verdict for row in writes.rows} == {"runs scatter too much to judge"}
    assert [line.judgement for line in content.lines] == ["not judged", "not judged", "passed", "passed"]
    assert re.search(r"smallest detectable drop: \d\d %, too large for a verdict: add more runs", content.lines[0].says)


def test_series_whose_rate_the_study_sets_are_named_and_not_judged() -> None:
    before = night(0, RunBuilder().workload("w").clients(1, 2, 4, 8).repetitions(3))  # its reads had no given rate
    content = assemble([stored("a", before), stored("b", paced_reads())], [], 0.05, any_target=True)
    (part,) = content.groups
    assert {line.group.rpartition(", ")[2] for line in content.lines} == {"write"}
    (sentence,) = part.given
    (title,) = (curve.title for curve in part.group.latest.subject.given)
    assert sentence.startswith(f"Not judged, because the study sets their rate or pauses: {title}.")
    assert build(content, "md").decode().count(sentence.split(":")[0]) == 1
    assert json.loads(build(content, "json"))["given_rates"] == [{"study_and_target": part.title, "series": [title]}]

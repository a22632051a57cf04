from __future__ import annotations

import csv
import io
import json
import re

import pytest

from ioassay import reports
from ioassay.analysis.compare import measured_run, published_system
from ioassay.analysis.compare.subject import Subject
from ioassay.analysis.test_given_rates import paced_reads
from ioassay.reports.compare import ComparisonReport, configuration
from ioassay.reports.compare.content import DoubtRow, Side, assemble
from ioassay.reports.compare.wording import why_no_intervals
from ioassay.store.loaded import LoadedRun
from ioassay.systems.library import builtin_systems
from ioassay.testing.builder import RunBuilder
from ioassay.testing.net_measurement import net


def run(factor: float = 1.0, repetitions: int = 5, transfer_bytes: int = 1 << 20) -> LoadedRun:
    builder = RunBuilder().clients(1, 8, 64).repetitions(repetitions)
    builder.workload("seq", "Sequential", write=8e9 * factor, read=12e9, transfer_bytes=transfer_bytes)
    return builder.build()


def side(of: LoadedRun, name: str) -> Side:
    return Side(measured_run.subject(of, name), configuration.run_facts(of.document))


def system(name: str) -> Side:
    known = builtin_systems()
    return Side(published_system.subject(known[name]), configuration.system_facts(known[name], known))


def build(sides: list[Side], form: reports.Format) -> bytes:
    return reports.build(ComparisonReport(assemble(sides)), form)


@pytest.fixture(scope="module")
def sides() -> list[Side]:
    return [side(run(), "before"), side(run(2.0), "after"), system("isilon-f800")]


def test_a_difference_is_reported_as_in_papers_with_its_interval_and_its_point(sides: list[Side]) -> None:
    sentences = [text for part in assemble(sides).series for text in part.sentences]
    up_to = r"after is up to 2\.00 times as fast as before in Sequential, write \(95 % interval .* at \d+ clients?\)\."
    assert sum(bool(re.fullmatch(up_to, text)) for text in sentences) == 1
    assert "No significant difference between after and before in Sequential, read." in sentences


def test_a_slower_run_is_reported_as_the_faster_one_being_ahead() -> None:
    part = assemble([side(run(2.0), "before"), side(run(), "after")]).series[0]
    assert all(text.startswith("before is") and "as fast as after" in text for text in part.sentences)


def test_a_sentence_about_unlike_things_says_what_is_unlike() -> None:
    content = assemble([side(run(), "a"), side(run(2.0, transfer_bytes=4096), "b")])
    assert all(text.endswith("; unlike: transfer 4 KiB against 1 MiB of a.") for text in content.series[0].sentences)
    assert content.common_remarks == ("b, different conditions: transfer 4 KiB against 1 MiB of a.",)


def test_a_published_peak_has_a_ratio_no_verdict_and_a_remark_on_unpublished_conditions(sides: list[Side]) -> None:
    content = assemble([sides[0], sides[2]])
    write = content.series[0]
    assert [(line.place, line.interval, line.differs) for line in write.lines] == [("peak", "–", False)]
    assert write.sentences == ()
    assert write.unlike == ("isilon-f800: its sequential N-N (write).", "isilon-f800, not published: fsync.")
    assert content.common_remarks[0] == "isilon-f800, different conditions: tool IOR against ioassay of before."
    assert content.common_remarks[1] == (
        "isilon-f800, not published: number of clients, total, ranks, storage API, direct I/O, uncached I/O, "
        "depth, payload."
    )
    assert "single figures are published" in why_no_intervals(content.comparisons[0])


def test_too_few_repetitions_are_reported_once_for_all_series() -> None:
    content = assemble([side(run(repetitions=2), "a"), side(run(2.0, repetitions=2), "b")])
    assert [text for part in content.series for text in part.sentences] == []
    assert why_no_intervals(content.comparisons[0]).endswith("a verdict needs 3 valid repetitions on both sides.")


def test_only_what_differs_in_configuration_is_shown(sides: list[Side]) -> None:
    other = run()
    other.document.environment[0]["kernel"] = "6.1.0"
    other.document.study.settings["total"] = "2GiB"
    other.document.study.method[0] = "A fixed total of 2 GiB is divided among the clients."
    rows = assemble([sides[0], side(other, "other")]).differences
    assert {row.what: row.values for row in rows} == {
        "Setting total": ("1GiB", "2GiB"),
        "Method": (
            "A fixed total of 1 GiB is divided among the clients.",
            "A fixed total of 2 GiB is divided among the clients.",
        ),
        "Kernel": ("3.10.0-327.13.1.el7.x86_64", "6.1.0"),
    }


def test_methods_and_lists_show_only_steps_and_items_that_differ() -> None:
    def changed_side(steps: str, options: list[str]) -> Side:
        other = run()
        other.document.study.method[0] = f"Sequential takes these steps: write, with an fsync; {steps}; remove."
        mount = other.document.environment[0]["mount"]
        assert mount is not None
        mount["options"] = options
        return side(other, "other")

    rows = assemble([changed_side("wait 1 s", ["rw", "noatime"]), changed_side("wait 9 s", ["rw"])]).differences
    assert {row.what: row.values for row in rows} == {
        "Method": (
            "Sequential takes these steps: … wait 1 s; …",
            "Sequential takes these steps: … wait 9 s; …",
        ),
        "Mount options": ("noatime", "–"),
    }


def test_a_run_that_lacks_what_another_run_has_differs_in_it() -> None:
    other = run()
    other.document.environment[0]["client_parameters"] = {"max_rpcs_in_flight": "32"}
    rows = assemble([side(run(), "a"), side(other, "b")]).differences
    assert [(row.what, row.values) for row in rows] == [("Client parameters", ("–", "max_rpcs_in_flight 32"))]


def test_the_clients_of_a_published_system_stand_beside_those_of_a_run(sides: list[Side]) -> None:
    rows = {row.what: row.values for row in assemble([sides[0], sides[2]]).differences}
    assert rows["Mount options"] == ("rw, relatime, errors=remount-ro", "tcp,vers=3")


def test_every_format_has_every_ratio(sides: list[Side]) -> None:
    document = json.loads(build(sides, "json"))
    rows = list(csv.DictReader(io.StringIO(build(sides, "csv").decode())))
    assert len(rows) == len(document["ratios"])
    assert {(row["other"], row["at"]) for row in rows} == {
        ("after", "point"),
        ("after", "peak"),
        ("after", "sustained"),
        ("isilon-f800", "peak"),
    }
    ratio = next(ratio for ratio in document["ratios"] if ratio["differs"])
    assert ratio["low"] <= ratio["ratio"] <= ratio["high"]
    text = build(sides, "md").decode()
    lines = [line for part in assemble(sides).series for line in part.lines]
    assert all(line.reference_rate in text and line.ratio in text for line in lines)
    assert len(lines) == len(rows)


def test_the_page_has_a_figure_with_a_line_for_every_run_and_is_the_same_every_time(sides: list[Side]) -> None:
    page = build(sides, "html").decode()
    assert page == build(sides, "html").decode()
    assert page.count("<svg") == 2
    assert "Dashed: the peak of isilon-f800; its other points are unknown." in page
    drawn = page[page.index("<svg") : page.index("</svg>")]
    assert ">before</text>" in drawn
    assert ">after</text>" in drawn
    assert ">isilon-f800</text>" in drawn


def test_subjects_without_anything_alike_have_a_page_that_says_so(sides: list[Side]) -> None:
    content = [system("astra"), sides[0]]
    assert "Not compared" in build(content, "html").decode()
    assert json.loads(build(content, "json"))["ratios"] == []


def test_doubts_about_a_point_stand_below_its_ratio() -> None:
    builder = RunBuilder().clients(1, 8).repetitions(3).workload("seq")
    plain = side(builder.build(), "plain")
    builder.doubt("seq-c8-r1", "write", "late-sampler").doubt("seq-c1-r2", "write", "short-phase")
    content = assemble([side(builder.doubt("seq-c8-r2", "write", "short-phase").build(), "doubted"), plain])
    assert content.series[0].doubts == ("doubted is doubted: short-phase, late-sampler (at 8 clients).",)
    assert content.series[1].doubts == ()


def test_rates_are_shown_with_their_share_of_the_ceiling() -> None:
    limited = RunBuilder().clients(1).workload("seq", write=1.2e9).rates("seq", "write", 1, 6e8).build()
    limited.document.ceilings = net(1, (1, 1, "to-servers", 9.6))
    (line,) = assemble([side(limited, "a"), side(limited, "b")]).series[0].lines
    assert (line.other_rate, line.other_note) == ("600 MB/s", "50 % of the ceiling")


def test_a_single_point_has_its_ratio_once_and_a_published_peak_beside_it() -> None:
    eight_clients = RunBuilder().clients(8).workload("seq").build()
    lines = assemble([side(eight_clients, "a"), side(eight_clients, "b"), system("isilon-f800")]).series[0].lines
    assert [(line.place, line.other) for line in lines] == [("8 clients", "b"), ("peak", "isilon-f800")]


def test_peaks_at_different_clients_name_their_points() -> None:
    shared = RunBuilder().clients(1, 8).workload("shared", layout="N-1").build()
    unlike = assemble([side(shared, "mine"), system("isilon-f800")]).series[0].unlike
    assert "isilon-f800, not at the same point: its peak is at 2 clients, that of mine at 8 clients." in unlike


def test_remarks_on_every_series_are_reported_once(sides: list[Side]) -> None:
    wider = RunBuilder().clients(1, 8, 64).repetitions(5)
    wider.workload("seq", "Sequential", write=8e9, read=12e9, transfer_bytes=4096)
    wider.doubt("seq-c8-r1", "write", "short-phase").doubt("seq-c8-r1", "read", "short-phase")
    compared = [sides[0], side(wider.build(), "wider")]
    text = build(compared, "json").decode()
    assert text.count("transfer 4 KiB against 1 MiB of before") == 1
    assert text.count("wider is doubted: short-phase (at 8 clients)") == 1
    assert text.count("In every series: ") == 2
    content = assemble(compared)
    assert all(part.unlike == part.doubts == () for part in content.series)
    assert content.conditions == ("wider, different conditions: transfer 4 KiB against 1 MiB of before.",)
    assert content.doubts == (DoubtRow("short-phase", ("–", "everywhere (at 8 clients)")),)


def test_the_page_begins_with_the_answer_and_has_what_changed_before_the_doubts_and_the_sweeps(
    sides: list[Side],
) -> None:
    smaller = run(2.0, transfer_bytes=4096)
    smaller.document.study.settings["transfer"] = "4KiB"
    smaller.document.environment[0]["kernel"] = "6.1.0"
    text = build([sides[0], side(smaller, "after")], "md").decode()
    parts = ["after is faster than before in 1 of 2 phases; no significant difference in 1."]
    parts += ["## How much faster or slower", "| faster | **2.00**, ", "## What changed", "| Kernel |", "## Each point"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_answer_of_a_sweep_is_the_peak_and_the_largest_lead_and_lag() -> None:
    builder = RunBuilder().clients(1, 8, 64).repetitions(5).workload("seq", "Sequential")
    for clients, rate in ((1, 1e9), (8, 4e9), (64, 9e9)):
        builder.rates("seq", "write", clients, *(rate * (1 + step / 1000) for step in range(5)))
    before = side(builder.build(), "before")
    for clients, rate in ((1, 3e9), (8, 1e9), (64, 9e9)):
        builder.rates("seq", "write", clients, *(rate * (1 + step / 1000) for step in range(5)))
    content = assemble([before, side(builder.build(), "after")])
    answers = [(line.place, line.verdict, line.other_note) for line in content.series[0].answers]
    assert answers == [
        ("1 client", "faster", ""),
        ("8 clients", "slower", ""),
        ("peak", "no significant difference", "at 64 clients"),
    ]
    assert content.answer[0] == (
        "after is faster than before at some points and slower at others in 1 of 2 phases; "
        "no significant difference in 1."
    )


def test_a_condition_is_named_once_with_the_series_that_it_holds_for() -> None:
    builder = RunBuilder().clients(8).repetitions(3).workload("seq", "Sequential").workload("rnd", "Random")
    before = side(builder.build(), "before")
    builder = RunBuilder().clients(8).repetitions(3)
    builder.workload("seq", "Sequential", transfer_bytes=4096).workload("rnd", "Random")
    assert assemble([before, side(builder.build(), "after")]).conditions == (
        "after, different conditions: transfer 4 KiB against 1 MiB of before (Sequential, write; Sequential, read).",
    )


def test_remarks_on_one_series_stand_below_it(sides: list[Side]) -> None:
    only_reads = [
        Side(Subject(original.subject.name, "run", original.subject.curves[1:2]), original.facts)
        for original in (sides[0], side(run(transfer_bytes=4096), "b"))
    ]
    content = assemble(only_reads)
    assert content.common_remarks == ()
    assert content.series[0].unlike == ("b, different conditions: transfer 4 KiB against 1 MiB of before.",)


def test_a_comparison_says_how_many_of_its_differences_are_no_chance(sides: list[Side]) -> None:
    content = assemble(sides)
    assert content.chance == [
        "3 of 6 points of after differ significantly (0.190 expected by chance): at least 2 differences are real (95 % "
        "confidence)."
    ]
    (chance,) = json.loads(build(sides, "json"))["chance"]
    assert (chance["other"], chance["judged"], chance["differing"], chance["certain"]) == ("after", 6, 3, 2)


def test_one_difference_among_many_points_is_reported_as_possible_chance() -> None:
    clients = tuple(2**power for power in range(10))
    builder = RunBuilder().clients(*clients).repetitions(5).workload("seq", "Sequential")
    for operation in ("write", "read"):
        for count in clients:
            builder.rates("seq", operation, count, *(1e9 * (1 + step / 100) for step in range(5)))
    same = side(builder.build(), "b")
    builder.rates("seq", "write", 8, *(2e9 * (1 + step / 100) for step in range(5)))
    odd = side(builder.build(), "c")
    content = assemble([same, odd])
    assert any(line.differs for line in content.series[0].lines)
    assert sum("c measured up to 2.00 times as fast" in text for text in content.sentences) == 1
    assert content.verdict[-1] == (
        "1 of 20 points of c differs, but not significantly: among 20 points, it may be chance (0.635 expected by "
        "chance). Repeat at least 6 times."
    )


def test_a_given_rate_has_no_ratio_and_stands_side_by_side_with_its_latencies() -> None:
    sides = [side(paced_reads(100_000_000), "before"), side(paced_reads(), "after")]
    content = assemble(sides)
    assert len(content.series) == 1
    assert content.series[0].title.endswith(", write")
    assert content.not_compared == ()
    assert [(point.place, point.subject.name) for point in content.given[:3]] == [
        ("1 client", "before"),
        ("1 client", "after"),
        ("2 clients", "before"),
    ]
    text = build(sides, "md").decode()
    table = text[text.index("## At a given rate") :]
    assert "| 1 client | before | 100 MB/s | 100 MB/s |" in table
    assert "| after | – | 100 MB/s |" in table  # an older version does not store the requested rate
    rows = json.loads(build(sides, "json"))["given_rates"]
    assert len(rows) == 8
    assert {row["given_per_s"] for row in rows} == {100_000_000, None}
    assert all(row["p50_ns"] <= row["p99_ns"] for row in rows)


def test_a_series_at_a_given_rate_on_one_side_only_is_shown_beside_what_is_not_compared() -> None:
    throughput = RunBuilder().workload("w").clients(1).repetitions(3).build()
    content = assemble([side(throughput, "before"), side(paced_reads(), "after")])
    assert [text.endswith("read.") for text in content.not_compared] == [True]
    assert {point.subject.name for point in content.given} == {"after"}


def test_rates_of_a_series_have_one_unit_in_its_table() -> None:
    far = RunBuilder().workload("w").clients(1, 8).repetitions(3)
    far.rates("w", "write", 1, 3.45e8, 3.45e8, 3.45e8).rates("w", "write", 8, 1.58e9, 1.58e9, 1.58e9)
    lines = assemble([side(far.build(), "a"), side(far.build(), "b")]).series[0].lines
    assert [line.other_rate for line in lines[:2]] == ["345 MB/s", "1580 MB/s"]

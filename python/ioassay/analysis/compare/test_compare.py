from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.compare import measured_run, published_system
from ioassay.analysis.compare.measured_run import NO_COLD_CACHE, cold_cache
from ioassay.analysis.compare.ratios import Compared, Comparison, compare, verdict
from ioassay.analysis.compare.subject import Conditions, Curve, Point, Rates, Subject
from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.systems.library import builtin_systems, read
from ioassay.testing.builder import RunBuilder
from ioassay.yaml_models.source import parse_source

FASTER = (3.0e9, 3.1e9, 3.2e9, 3.3e9, 3.4e9)
SLOWER = (1.0e9, 1.1e9, 1.2e9, 1.05e9, 1.15e9)


def swept(name: str, *rates: float, clients: tuple[int, ...] = (1, 8), transfer: int = 1 << 20) -> Subject:
    builder = RunBuilder().clients(*clients).repetitions(len(rates)).workload("seq", transfer_bytes=transfer)
    for count in clients:
        for operation in ("write", "read"):
            builder.rates("seq", operation, count, *rates)
    return measured_run.subject(builder.build(), name)


def series_of(comparison: Comparison, operation: str) -> Compared:
    return next(series for series in comparison.series if series.reference.operation == operation)


def test_a_run_that_is_faster_at_every_point_has_ratios_whose_intervals_exclude_1() -> None:
    write = series_of(compare(swept("a", *SLOWER), swept("b", *FASTER)), "write")
    assert [ratio.reference.clients for ratio in write.points] == [1, 8]
    for ratio in write.points:
        assert ratio.value == pytest.approx(3.2 / 1.1, rel=1e-6)
        assert ratio.differs
        assert ratio.unlike == ()
    judgement = verdict(write)
    assert judgement.outcome == "differs"
    assert (judgement.fastest is not None, judgement.slowest) == (True, None)


def test_a_run_against_itself_shows_no_difference() -> None:
    read = series_of(compare(swept("a", *SLOWER), swept("b", *SLOWER)), "read")
    assert verdict(read).outcome == "no difference"
    assert {ratio.value for ratio in read.points} == {1.0}


def test_two_repetitions_have_a_ratio_and_no_verdict() -> None:
    write = series_of(compare(swept("a", 1e9, 1.1e9), swept("b", 9e9, 9.1e9)), "write")
    assert all(ratio.interval is None and not ratio.differs for ratio in write.ratios)
    assert verdict(write).outcome == "too few repetitions"


def test_series_of_one_name_are_compared_and_report_different_transfers() -> None:
    write = series_of(compare(swept("a", *SLOWER), swept("b", *FASTER, transfer=4096)), "write")
    differences = [(difference.what, difference.reference, difference.other) for difference in write.points[0].unlike]
    assert differences == [("transfer_bytes", 1 << 20, 4096)]


def test_series_of_other_names_are_compared_only_where_they_were_measured_alike() -> None:
    def named(name: str, transfer: int) -> Subject:
        return measured_run.subject(RunBuilder().workload(name, transfer_bytes=transfer).build(), name)

    assert len(compare(named("a", 4096), named("b", 4096)).series) == 2
    comparison = compare(named("a", 4096), named("b", 8192))
    assert comparison.series == ()
    assert [(side.name, curve.operation) for side, curve in comparison.unmatched] == [
        ("a", "write"),
        ("a", "read"),
        ("b", "write"),
        ("b", "read"),
    ]


def test_two_series_that_fit_equally_well_match_neither() -> None:
    reference = measured_run.subject(RunBuilder().workload("a").build(), "one")
    other = measured_run.subject(RunBuilder().workload("b").workload("c").build(), "two")
    assert compare(reference, other).series == ()


def test_points_of_only_one_side_are_listed() -> None:
    write = series_of(compare(swept("a", *SLOWER, clients=(1, 2)), swept("b", *SLOWER, clients=(2, 4))), "write")
    assert [ratio.other.clients for ratio in write.points] == [2]
    assert sorted(point.clients or 0 for point in write.unmatched_points) == [1, 4]
    assert write.peak is not None


def test_a_published_peak_is_compared_with_the_peak_of_the_same_layout_order_and_transfer() -> None:
    run = RunBuilder().clients(1, 8).workload("seq").workload("shared", layout="N-1").workload("small", order="random")
    system = published_system.subject(builtin_systems()["isilon-f800"])
    comparison = compare(measured_run.subject(run.build(), "mine"), system)
    pairs = {series.reference.title: series.other.title for series in comparison.series}
    assert pairs["seq, write"] == "sequential N-N (write)"
    assert pairs["shared, read"] == "sequential N-1 (read)"
    # Its random tests move 4 KiB, these 1 MiB.
    assert not any(title.startswith("small") for title in pairs)
    peak = series_of(comparison, "read").peak
    assert peak is not None
    assert peak.other.rates == (12e9,)
    assert peak.interval is None
    assert {difference.what: difference.other for difference in peak.unlike if difference.is_stated} == {"tool": "IOR"}


def test_two_published_systems_are_compared_by_test_and_configuration() -> None:
    known = builtin_systems()
    comparison = compare(published_system.subject(known["isilon-h600"]), published_system.subject(known["isilon-f800"]))
    reads = next(series for series in comparison.series if series.reference.title == "sequential N-N (read)")
    assert reads.peak is not None
    assert reads.peak.value == pytest.approx(2.0)


IOPS = """\
name: lab
title: What our own lab has written down
sources: {book: {title: Our notebook}}
figures:
  - {id: small-reads, test: random N-N, operation: read, layout: N-N, transfer: TRANSFER, clients: 64, value: 90K,
     unit: IOPS, at: book}
"""


@pytest.mark.parametrize(("transfer", "compared"), [("4KiB", 1), ("8KiB", 0)])
def test_rates_that_count_operations_are_compared_where_the_transfer_is_the_same(transfer: str, compared: int) -> None:
    run = RunBuilder().clients(64).workload("small", order="random", transfer_bytes=4096).build()
    system = read(parse_source(IOPS.replace("TRANSFER", transfer), "lab.yaml", "system"), {})
    comparison = compare(measured_run.subject(run, "mine"), published_system.subject(system))
    assert [series.column for series in comparison.series] == ["rate_operations_per_s"] * compared


def test_published_metadata_rates_do_not_match_data_of_the_same_size() -> None:
    run = RunBuilder().workload("small", order="random", transfer_bytes=4096).build()
    system = published_system.subject(builtin_systems()["pixstor-capacity-expanded"])
    assert compare(measured_run.subject(run, "mine"), system).series == ()


def test_the_cold_cache_step_is_read_from_the_study_with_its_settings() -> None:
    study = RunBuilder().workload("w").build().document.study
    study.settings["caches"] = ["drop-caches", "fadvise"]
    study.text = "steps: [write, cold-cache: '${caches}', read]\nworkloads: {w: {}, own: {steps: [write, read]}}"
    assert cold_cache(study, "w") == "drop-caches, fadvise"
    assert cold_cache(study, "own") == NO_COLD_CACHE
    study.text = ""
    assert cold_cache(study, "w") is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "\x1b[2J", "[" * 500, "- a list", "a: [", "workloads: [w]\n", "workloads:\n  w: word\n"),
        "a: &a [1, 1]\nb: &b [*a, *a]\nsteps:\n  - cold-cache: *b\n",
    ],
)
def test_a_stored_text_that_is_no_study_has_no_cold_cache_step(text: str) -> None:
    study = RunBuilder().workload("w").build().document.study
    study.text = text
    assert cold_cache(study, "w") is None


@pytest.mark.parametrize(
    ("study", "workload", "methods"),
    [
        ("isilon-2018", "sequential-n-n", "drop-caches, fadvise, read-other-rank"),
        ("io500", "io500", "drop-caches, fadvise"),
    ],
)
def test_the_cold_cache_step_of_a_built_in_study_is_found(study: str, workload: str, methods: str) -> None:
    entry = resolve(find_study(study), None, []).entry
    assert cold_cache(entry, workload) == methods


def one_point(name: str, rates: list[float]) -> Subject:
    point = Point(1, Conditions(ranks=1), tuple(rates))
    curve = Curve(("w",), "w", "write", "rate_bytes_per_s", {"rate_bytes_per_s": Rates((point,), point, None)})
    return Subject(name, "run", (curve,))


repeated = st.lists(st.floats(1e6, 1e11), min_size=3, max_size=8)


@given(repeated, repeated)
def test_exchanging_the_sides_inverts_ratio_and_interval(first: list[float], second: list[float]) -> None:
    there = series_of(compare(one_point("a", first), one_point("b", second)), "write").points[0]
    back = series_of(compare(one_point("b", second), one_point("a", first)), "write").points[0]
    assert there.value * back.value == pytest.approx(1)
    assert there.interval is not None
    assert back.interval is not None
    assert there.interval.low * back.interval.high == pytest.approx(1)
    assert there.interval.confidence == back.interval.confidence

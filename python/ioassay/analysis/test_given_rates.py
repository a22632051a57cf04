from __future__ import annotations

from ioassay.analysis import scalability
from ioassay.analysis.compare import measured_run
from ioassay.analysis.findings import RunFacts, findings
from ioassay.analysis.given_rates import given_rates, throughput, with_own_pauses
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder

CLIENTS = (1, 2, 4, 8)


def paced_reads(given_per_s: int | None = None) -> LoadedRun:
    """Writes at full speed, and reads that achieve the rate of their plan."""
    builder = RunBuilder().workload("w").clients(*CLIENTS).repetitions(3)
    for clients in CLIENTS:
        builder.rates("w", "read", clients, 1e8, 1e8, 1e8)
        for repetition in (1, 2, 3):
            builder.doubt(f"w-c{clients}-r{repetition}", "read", "paced")
    run = builder.build()
    for case in run.document.cases:
        case.job("read", "read").rate_bytes_per_s = given_per_s
    return run


def test_a_phase_at_a_given_rate_has_its_achieved_rate_and_latencies() -> None:
    all_rates = given_rates(paced_reads(100_000_000))
    assert [(given_rate.point["operation"], given_rate.point["clients"]) for given_rate in all_rates] == [
        ("read", count) for count in CLIENTS
    ]
    first = all_rates[0]
    assert (first.column, first.given_per_s, round(first.kept_per_s)) == ("rate_bytes_per_s", 100_000_000, 100_000_000)
    assert first.p50_ns is not None
    assert first.p99_ns is not None
    assert len(first.places) == 3


def test_a_run_of_an_older_version_does_not_know_which_rate_was_given() -> None:
    assert given_rates(paced_reads())[0].given_per_s is None


def test_a_given_rate_is_no_throughput_and_has_no_law_no_finding_and_no_curve_to_compare() -> None:
    run = paced_reads()
    assert set(throughput(run)["operation"]) == {"write"}
    assert {sweep.series.operation for sweep in scalability.sweeps(run.document, throughput(run))} == {"write"}
    assert {place.operation for finding in findings(RunFacts(run)) for place in finding.measurements} <= {"write"}
    assert {curve.operation for curve in measured_run.subject(run, "r").curves} == {"write"}


def test_only_phases_without_a_given_rate_make_pauses_of_their_own() -> None:
    assert with_own_pauses(paced_reads(100_000_000)).is_empty()
    without_rate = paced_reads()
    assert set(with_own_pauses(without_rate)["operation"]) == {"read"}
    assert len(with_own_pauses(without_rate)) == 3 * len(CLIENTS)
    assert {drift.place.operation for drift in RunFacts(without_rate).drifts} <= {"write"}


def test_a_run_at_full_speed_has_no_phase_at_a_given_rate() -> None:
    run = RunBuilder().workload("w").build()
    assert given_rates(run) == []
    assert throughput(run).height == run.measurements.height

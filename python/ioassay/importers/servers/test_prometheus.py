"""Scrapes of Lustre's exporters become counters at their times, or are refused with the line that broke."""

import re

import pytest
from hypothesis import given

from ioassay.importers.gather import Reader
from ioassay.importers.model import Case
from ioassay.importers.servers import cases as cases_of
from ioassay.importers.servers import prometheus
from ioassay.importers.source import Refused
from ioassay.testing.importer_samples import cases, damages, measured, refused, sample, samples, source

read: Reader = cases_of.reader(prometheus.read)

S = 10**9
T = 1_780_000_000 * S

STAMPED, OPENMETRICS = sample("prometheus/stamped.prom"), sample("prometheus/openmetrics.txt")


def case_of(text: str, *words: str) -> Case:
    """The case whose settings have these words."""
    (found,) = (case for case in cases(read, text) if set(words) == {one.value for one in case.settings[1:]})
    return found


@pytest.mark.parametrize("text", [STAMPED, OPENMETRICS])
def test_scrapes_become_rates_between_their_times(text: str) -> None:
    for target, rate in (("scratch-OST0000", 5 * GB // 15), ("scratch-OST0001", 2 * GB // 15)):
        write = next(one for one in case_of(text, target).measured if one.phase == "write")
        assert (write.started_unix_ns, write.duration_ns) == (T + S // 4, 45 * S)
        assert (write.bytes or 0) // 45 == rate


GB = 10**9


def test_times_of_samples_are_milliseconds_in_text_and_seconds_in_openmetrics() -> None:
    text = re.sub(r" (\d{10})\.25$", r" \g<1>250", OPENMETRICS.replace("# EOF\n", ""), flags=re.MULTILINE)
    assert text != OPENMETRICS
    assert {one.at_ns for one in prometheus.read(source(text))} == {T + S // 4 + 15 * S * at for at in range(4)}
    assert {one.at_ns for one in prometheus.read(source(OPENMETRICS))} == {T + S // 4 + 15 * S * at for at in range(4)}


def test_jobs_operations_and_the_network_have_their_own_series() -> None:
    assert case_of(STAMPED, "scratch-OST0000", "job SLURM 4711:0:node001").measured[0].bytes == 12 * GB
    (opened,) = case_of(STAMPED, "scratch-MDT0000").measured
    assert (opened.phase, opened.operations) == ("open", 900)
    (sent,) = case_of(STAMPED, "10.0.0.1@o2ib").measured
    assert sent.bytes == 30_000_000


def test_bytes_and_samples_of_one_direction_are_one_counter() -> None:
    write = next(one for one in case_of(STAMPED, "scratch-OST0001").measured if one.phase == "write")
    assert (write.bytes, write.operations) == (6 * GB, 6 * GB // 4194304)


def test_a_client_counts_as_itself_whatever_the_type_of_its_metric() -> None:
    for kind in ("counter", "gauge", "untyped"):
        text = f'# TYPE lustre_client_stats {kind}\nlustre_client_stats{{operation="open",target="s-ffff1"}} 5\n'
        (reading,) = prometheus.read(source(text))
        assert (reading.counter_source.origin, reading.counter_source.file_system, reading.counts["open"].times) == (
            "client",
            "s",
            5,
        )


def test_one_scrape_is_an_amount_and_no_rate() -> None:
    one = STAMPED[: STAMPED.index("1780000015")]
    assert {doubt.kind for found in measured(read, one) for doubt in found.doubts} == {"totals-only"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# HELP up Up.\n# TYPE up gauge\nup 1\n", "none of the counters"),
        (re.sub(r"^\d{10}\.\d+\n", "", STAMPED, flags=re.MULTILINE), "scrapes need times"),
        (STAMPED.replace('target="scratch-OST0000"}', 'target="scratch-OST0000', 1), "not Prometheus"),
        (STAMPED.replace("} 1000000000000\n", "} NaN\n", 1), "where a counter should be"),
        (STAMPED.replace("} 1000000000000\n", "} -5\n", 1), "where a counter should be"),
        (STAMPED.replace("} 1000000000000\n", "} 1e300\n", 1), "where a counter should be"),
        (STAMPED.replace("} 1000000000000\n", "} " + "9" * 400 + "\n", 1), "where a counter should be"),
        (OPENMETRICS.replace("1780000000.25", "5e30"), "has a time"),
        (OPENMETRICS.replace("1780000000.25", "9" * 400), "not Prometheus"),
        (STAMPED.rstrip("\n"), "cut off"),
        (re.sub(r"\} \d+$", "} 0", STAMPED, flags=re.MULTILINE), "all 0"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, reason: str) -> None:
    assert reason in refused(read, text).reason


def test_a_refusal_names_the_line() -> None:
    text = STAMPED.replace("lustre_write_bytes_total{", "lustre_write_bytes_total{{", 1)
    line = next(at for at, line in enumerate(text.splitlines(), start=1) if "{{" in line)
    assert refused(read, text).line in (line, line - 1)


def test_a_scrape_that_a_line_too_many_cuts_in_two_is_refused() -> None:
    described = "# TYPE lustre_write_bytes_total counter\n"
    why = refused(read, STAMPED.replace(described, described * 2, 1))
    assert "without a time" in why.reason
    assert STAMPED.splitlines()[(why.line or 0) - 2] == described.strip()


@given(damages(samples("prometheus")))
def test_damage_makes_no_traceback_and_no_amount_that_was_not_counted(texts: tuple[str, str]) -> None:
    whole, damaged = texts
    highest = max(count.bytes or 0 for one in prometheus.read(source(whole)) for count in one.counts.values())
    try:
        found = measured(read, damaged)
    except Refused:
        return
    assert all((one.bytes or 0) <= highest for one in found)

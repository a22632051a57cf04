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
    (matching,) = (case for case in cases(read, text) if set(words) == {setting.value for setting in case.settings[1:]})
    return matching


@pytest.mark.parametrize("text", [STAMPED, OPENMETRICS])
def test_scrapes_become_rates_between_their_times(text: str) -> None:
    for target, rate in (("scratch-OST0000", 5 * GB // 15), ("scratch-OST0001", 2 * GB // 15)):
        write = next(measurement for measurement in case_of(text, target).measured if measurement.phase == "write")
        assert (write.started_unix_ns, write.duration_ns) == (T + S // 4, 45 * S)
        assert (write.bytes or 0) // 45 == rate


GB = 10**9


def test_times_of_samples_are_milliseconds_in_text_and_seconds_in_openmetrics() -> None:
    text = re.sub(r" (\d{10})\.25$", r" \g<1>250", OPENMETRICS.replace("# EOF\n", ""), flags=re.MULTILINE)
    assert text != OPENMETRICS
    assert {reading.at_ns for reading in prometheus.read(source(text))} == {
        T + S // 4 + 15 * S * number for number in range(4)
    }
    assert {reading.at_ns for reading in prometheus.read(source(OPENMETRICS))} == {
        T + S // 4 + 15 * S * number for number in range(4)
    }


def test_jobs_operations_and_networks_have_their_own_series() -> None:
    assert case_of(STAMPED, "scratch-OST0000", "job SLURM 4711:0:node001").measured[0].bytes == 12 * GB
    (opened,) = case_of(STAMPED, "scratch-MDT0000").measured
    assert (opened.phase, opened.operations) == ("open", 900)
    (sent,) = case_of(STAMPED, "10.0.0.1@o2ib").measured
    assert sent.bytes == 30_000_000


def test_bytes_and_samples_of_one_direction_are_one_counter() -> None:
    write = next(
        measurement for measurement in case_of(STAMPED, "scratch-OST0001").measured if measurement.phase == "write"
    )
    assert (write.bytes, write.operations) == (6 * GB, 6 * GB // 4194304)


def test_a_client_is_a_client_whatever_the_type_of_its_metric() -> None:
    for kind in ("counter", "gauge", "untyped"):
        text = f'# TYPE lustre_client_stats {kind}\nlustre_client_stats{{operation="open",target="s-ffff1"}} 5\n'
        (reading,) = prometheus.read(source(text))
        assert (reading.counter_source.origin, reading.counter_source.file_system, reading.counts["open"].times) == (
            "client",
            "s",
            5,
        )


def test_a_single_scrape_is_an_amount_without_a_rate() -> None:
    single = STAMPED[: STAMPED.index("1780000015")]
    assert {doubt.kind for measurement in measured(read, single) for doubt in measurement.doubts} == {"totals-only"}


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
def test_malformed_text_is_refused(text: str, reason: str) -> None:
    assert reason in refused(read, text).reason


def test_a_refusal_names_the_line() -> None:
    text = STAMPED.replace("lustre_write_bytes_total{", "lustre_write_bytes_total{{", 1)
    line = next(number for number, line in enumerate(text.splitlines(), start=1) if "{{" in line)
    assert refused(read, text).line in (line, line - 1)


def test_a_scrape_split_by_an_excess_line_is_refused() -> None:
    described = "# TYPE lustre_write_bytes_total counter\n"
    why = refused(read, STAMPED.replace(described, described * 2, 1))
    assert "without a time" in why.reason
    assert STAMPED.splitlines()[(why.line or 0) - 2] == described.strip()


@given(damages(samples("prometheus")))
def test_damage_causes_neither_a_traceback_nor_a_higher_amount(texts: tuple[str, str]) -> None:
    intact, damaged = texts
    highest = max(count.bytes or 0 for reading in prometheus.read(source(intact)) for count in reading.counts.values())
    try:
        measurements = measured(read, damaged)
    except Refused:
        return
    assert all((measurement.bytes or 0) <= highest for measurement in measurements)

"""What mmpmon prints becomes counters, in both of its forms, or is refused with the line that broke."""

import pytest
from hypothesis import given

from ioassay.importers.gather import Reader
from ioassay.importers.servers import cases as cases_of
from ioassay.importers.servers import gpfs
from ioassay.importers.servers.counters import Count, CounterSource
from ioassay.importers.source import Refused
from ioassay.testing.importer_samples import cases, damages, measured, refused, sample, samples, source

read: Reader = cases_of.reader(gpfs.read)

S = 10**9
T = 1_780_000_000 * S

KEYWORDS, PLAIN = sample("gpfs/mmpmon-p.txt"), sample("gpfs/mmpmon.txt")


@pytest.mark.parametrize("text", [KEYWORDS, PLAIN])
def test_both_formats_have_the_same_readings(text: str) -> None:
    first = gpfs.read(source(text))[0]
    assert first.counter_source == CounterSource("gpfs", "node001: scratch", "scratch")
    assert first.at_ns is not None
    assert first.at_ns // S == T // S
    assert first.counts == {
        "read": Count(1000, 10**9),
        "write": Count(2000, 2 * 10**9),
        "open": Count(10),
        "close": Count(9),
    }


def test_the_microseconds_belong_to_the_moment() -> None:
    assert {(reading.at_ns or 0) % S for reading in gpfs.read(source(KEYWORDS))} == {407_431_000}


def test_counters_become_a_rate_of_each_file_system_that_was_used() -> None:
    (case,) = cases(read, KEYWORDS)
    assert case.target == "scratch"
    write = next(measurement for measurement in case.measured if measurement.phase == "write")
    assert (write.bytes, write.operations, write.duration_ns) == (15 * 10**9, 3600, 15 * S)
    assert write.samples is not None
    assert list(write.samples.bytes) == [5 * 10**9] * 3


def test_the_sum_of_a_node_is_left_out_beside_its_file_systems() -> None:
    assert {reading.counter_source.name for reading in gpfs.read(source(KEYWORDS))} == {
        "node001: scratch",
        "node001: home",
    }
    alone = "".join(line for line in KEYWORDS.splitlines(keepends=True) if line.startswith("_io_s_"))
    (case,) = cases(read, alone)
    assert next(measurement for measurement in case.measured if measurement.phase == "write").bytes == 15 * 10**9


def test_a_node_without_mounts_has_no_case() -> None:
    nothing = "_fs_io_s_ _n_ 10.0.0.2 _nn_ node002 _rc_ 1 _t_ 1780000000 _tu_ 407431 _cl_ - _fs_ -\n"
    assert measured(read, KEYWORDS + nothing) == measured(read, KEYWORDS)
    assert "nothing was measured" in refused(read, nothing).reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no mmpmon\n", "no response of mmpmon"),
        (KEYWORDS[:-20], "cut off"),
        (KEYWORDS.replace(" _bw_ 2000000000", "", 1), "bytes written"),
        (KEYWORDS.replace("_bw_ 2000000000", "_bw_", 1), "cut off"),
        (PLAIN.replace("bytes read:     1000000000\n", "", 1), "bytes read"),
        (PLAIN.replace("timestamp:", "time:", 1), "without a time"),
        (KEYWORDS.replace("_br_ 1000000000", "_br_ 99999999999999999999", 1), "bytes read"),
        ("Legend:\n 1:\tnode|GPFSFilesystem|c|fs|gpfs_fs_bytes_read\n", "mmperfmon"),
    ],
)
def test_malformed_responses_are_refused(text: str, reason: str) -> None:
    assert reason in refused(read, text).reason


@given(damages(samples("gpfs")))
def test_damage_causes_neither_a_traceback_nor_a_higher_amount(texts: tuple[str, str]) -> None:
    intact, damaged = texts
    highest = max(count.bytes or 0 for reading in gpfs.read(source(intact)) for count in reading.counts.values())
    try:
        measurements = measured(read, damaged)
    except Refused:
        return
    assert all((measurement.bytes or 0) <= highest for measurement in measurements)

"""Lustre's statistics of all versions become counters at their moments, or are refused with the line that broke."""

import re

import pytest
from hypothesis import given

from ioassay.importers.gather import Reader
from ioassay.importers.model import Measurement
from ioassay.importers.servers import cases as cases_of
from ioassay.importers.servers import lustre
from ioassay.importers.servers.counters import CounterSource, Reading, series
from ioassay.importers.source import Refused
from ioassay.testing.importer_samples import (
    assert_same_or_refused,
    cases,
    damages,
    measured,
    refused,
    sample,
    samples,
    source,
)

read: Reader = cases_of.reader(lustre.read)

S = 10**9
T = 1_780_000_000 * S

OLD, NEW = sample("lustre/2.8-oss.txt"), sample("lustre/2.17-oss.txt")
MDS, CLIENT = sample("lustre/2.12-mds.txt"), sample("lustre/2.14-client.txt")


def readings(text: str) -> list[Reading]:
    """The counters of a text."""
    return lustre.read(source(text))


def of(text: str, name: str, job: str | None = None, origin: str = "target") -> list[Reading]:
    """The readings of one target, or of one of its jobs."""
    return [
        reading
        for reading in readings(text)
        if (reading.counter_source.name, reading.counter_source.job, reading.counter_source.origin)
        == (name, job, origin)
    ]


def phases(text: str, job: str | None = None) -> dict[str, Measurement]:
    """The measurements of the case without a job, or of one job, by phase."""
    words = [] if job is None else [f"job {job}"]
    matching = [case for case in cases(read, text) if [s.value for s in case.settings if s.name == "job"] == words]
    return {measurement.phase: measurement for case in matching for measurement in case.measured}


def test_times_up_to_2_8_have_microseconds_after_the_point() -> None:
    assert [reading.at_ns for reading in of(OLD, "scratch-OST0000")] == [T + 5_000, T + 10 * S + 7_000]
    assert "microseconds" in refused(read, OLD.replace("000.5 secs", "000.1000000 secs")).reason


def test_times_since_2_10_have_nine_digits() -> None:
    assert [reading.at_ns for reading in of(MDS, "scratch-MDT0000")] == [T + S // 4, T + 30 * S + S // 4]


def test_counters_between_two_readings_become_a_rate() -> None:
    (write,) = (measurement for measurement in phases(OLD).values() if measurement.operation == "write")
    assert (write.bytes, write.operations, write.duration_ns) == (2_097_152_000, 2000, 10 * S + 2000)
    assert write.started_unix_ns == T + 5_000


def test_unchanged_counters_are_not_measured() -> None:
    assert set(phases(MDS)) == {"open", "close", "mknod", "getattr"}
    assert phases(MDS)["mknod"].operation == "create"


def test_a_client_and_lnet_count_as_themselves() -> None:
    assert readings(CLIENT)[0].counter_source == CounterSource("client", "scratch-ff47bce9ca35d800", "scratch")
    (network,) = (group for group in series(readings(NEW)) if group.counter_source.origin == "network")
    (interval,) = network.intervals
    assert interval.counts is not None
    assert (interval.counts["receive"].bytes, interval.end_ns - interval.begin_ns) == (4_200_000_000, 5 * S)


def test_lnetctl_has_the_same_readings_as_the_parameter() -> None:
    names = ("msgs_alloc", "errors", "send_count", "recv_count", "route_count", "send_length", "recv_length")
    text = "statistics:\n" + "".join(f"    {name}: {number}\n" for number, name in enumerate(names, start=1))
    (reading,) = readings(text)
    assert {name: (count.times, count.bytes) for name, count in reading.counts.items()} == {
        "send": (3, 6),
        "receive": (4, 7),
    }


def test_histograms_of_the_disks_are_counted_apart_and_kept_as_shares() -> None:
    (case,) = (case for case in cases(read, NEW) if case.settings[0].value.startswith("as the server's disks"))
    assert case.measured[0].operations == 1000
    facts = {fact.name: fact.value for fact in case.facts}
    assert facts["disk I/O size, reads"] == "4K 2 %, 4M 98 %"


def test_disks_that_only_wrote_have_no_shares_of_reads() -> None:
    text = re.sub(r":\t\t +\d+ +\d+ +\d+ ", ":\t\t         0   0   0 ", NEW)
    (case,) = (case for case in cases(read, text) if case.settings[0].value.startswith("as the server's disks"))
    assert {fact.name for fact in case.facts if fact.name.startswith("disk")} == {"disk I/O size, writes"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"SLURM\\x204711:0:node001"', "SLURM 4711:0:node001"),
        ('"@dd.0"', "@dd.0"),
        ("cp x.1000", "cp x.1000"),
        ("kworker/0:1.0", "kworker/0:1.0"),
        ('"\\x22quoted\\x22.1"', '"quoted".1'),
        ("", "none"),
    ],
)
def test_jobs_have_their_unescaped_name(text: str, name: str) -> None:
    changed = OLD.replace("job_id:          4711", f"job_id:          {text}".rstrip())
    assert {reading.counter_source.job for reading in readings(changed)} >= {name}


def test_a_new_job_is_counted_from_its_beginning() -> None:
    write = phases(NEW, "@dd.0")["write"]
    assert (write.bytes, write.duration_ns, write.started_unix_ns) == (1_677_721_600, 3 * S, T + S)
    # Without a printed beginning: after the last operation that was counted before.
    write = phases(OLD, "cp x.1000")["write"]
    assert (write.bytes, write.duration_ns) == (1_048_576_000, 9 * S)


def test_times_since_boot_need_a_printed_time_before() -> None:
    """Lustre 2.15 prints the monotonic clock."""
    boot = re.sub(r"(snapshot_time +)17800000(\d\d)\.25", r"\g<1>1000\2.25", MDS)
    write = phases(boot)["open"]
    assert (write.duration_ns, write.started_unix_ns) == (30 * S, None)
    first, second = boot.split("mdt.scratch-MDT0000.md_stats=\n")[1:]
    name = "mdt.scratch-MDT0000.md_stats=\n"
    stamped = f"1780000100\n{name}{first}1780000130.5\n{name}{second}"
    assert phases(stamped)["open"].started_unix_ns == T + 100 * S
    assert phases(stamped)["open"].duration_ns == 30 * S + S // 2


def test_2_15_puts_the_colon_of_job_stats_after_the_spaces() -> None:
    text = re.sub(r"  (snapshot_time|start_time|elapsed_time): +", lambda match: f"{match[1]:<16}: ", NEW)
    assert text != NEW
    assert phases(text, "@dd.0")["write"].bytes == phases(NEW, "@dd.0")["write"].bytes


def test_a_counter_that_falls_is_a_gap_and_never_a_negative_rate() -> None:
    name, last = "mdt.scratch-MDT0000.md_stats=\n", MDS.split("md_stats=\n")[2]
    text = MDS + name + re.sub(r" \d+ samples", " 5 samples", last).replace("1780000030", "1780000060")
    opened = phases(text)["open"]
    assert (opened.operations, opened.duration_ns, opened.samples) == (3000, 30 * S, None)
    assert "counters-reset" in {doubt.kind for doubt in opened.doubts}


def test_reset_counters_are_a_gap_even_if_they_grew() -> None:
    text = NEW.replace("1779000000.000000000", "1780000001.000000000").replace("1780000001", "1779000000", 1)
    assert "write" not in phases(text)


def test_a_single_reading_is_an_amount_without_a_rate() -> None:
    opens = phases(MDS.split("mdt.scratch-MDT0000.md_stats=")[1].join(["mdt.scratch-MDT0000.md_stats=", ""]))["open"]
    assert (opens.operations, opens.duration_ns, opens.rate_operations_per_s) == (1000, None, None)
    (doubt,) = opens.doubts
    assert (doubt.kind, doubt.invalidates) == ("totals-only", True)
    assert "1000 operations" in doubt.message


def test_intervals_of_one_length_are_samples() -> None:
    first, second = MDS.split("mdt.scratch-MDT0000.md_stats=\n")[1:]
    third = second.replace("1780000030", "1780000060").replace("4000", "4500")
    name = "mdt.scratch-MDT0000.md_stats=\n"
    sampled = phases(name + first + name + second + name + third)["open"].samples
    assert sampled is not None
    assert (sampled.interval_ns, list(sampled.operations)) == (30 * S, [3000, 500])


@pytest.mark.parametrize(
    "unnamed",
    [
        MDS.replace("mdt.scratch-MDT0000.md_stats=\n", ""),
        MDS.replace("mdt.scratch-MDT0000.md_stats=", "==> /proc/fs/lustre/mdt/scratch-MDT0000/md_stats <=="),
        "".join(
            f"/proc/fs/lustre/mdt/scratch-MDT0000/md_stats:{line}"
            for line in MDS.replace("mdt.scratch-MDT0000.md_stats=\n", "").splitlines(keepends=True)
        ),
        MDS.replace("mdt.scratch", "Thu Nov 28 15:00:00 UTC 2026\n\nmdt.scratch"),
        MDS.replace("mdt.scratch", "error: get_param: param_path 'x': No such file or directory\nmdt.scratch"),
    ],
)
def test_a_parameter_is_found_in_every_format(unnamed: str) -> None:
    assert {name: measurement.operations for name, measurement in phases(unnamed).items()} == {
        name: measurement.operations for name, measurement in phases(MDS).items()
    }


def test_counters_that_are_all_zero_measured_nothing() -> None:
    assert "all 0" in refused(read, re.sub(r" \d+ samples", " 0 samples", MDS)).reason
    first, _ = MDS.split("mdt.scratch-MDT0000.md_stats=\n")[1:]
    same = f"mdt.x-MDT0000.md_stats=\n{first}mdt.x-MDT0000.md_stats=\n{first.replace('00.25', '10.25')}"
    assert "did not change" in refused(read, same).reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (MDS.replace("1780000000.25", "99999999999.25"), "snapshot_time of"),
        ("health_check=healthy\n", "has none of Lustre's"),
        ("job_stats:\n", "no counter"),
        (OLD.replace("1048576, sum:      1048576000 }", "1048", 1), "cut off"),
        (OLD.replace("samples [bytes] 4096 1048576 104857600", "samples [bytes] 4096", 1), "without their sum"),
        (OLD.replace("1048576000", "99999999999999999999"), "beyond 2^62"),
        (OLD.replace("write_bytes ", "read_bytes ", 1), "twice"),
        ('- job_id: "x\n', "has none of"),
        (NEW.replace('"@dd.0"', '"@dd.0'), "job_id that is cut off"),
    ],
)
def test_malformed_counters_are_refused(text: str, reason: str) -> None:
    assert reason in refused(read, text).reason


@given(damages(samples("lustre")))
def test_damage_causes_neither_a_traceback_nor_a_higher_amount(texts: tuple[str, str]) -> None:
    intact, damaged = texts
    highest = max(count.bytes or 0 for reading in readings(intact) for count in reading.counts.values())
    try:
        measurements = measured(read, damaged)
    except Refused:
        return
    for measurement in measurements:
        assert (measurement.bytes or 0) <= highest
        assert measurement.duration_ns is None or measurement.duration_ns > 0


def test_the_samples_are_read_whole() -> None:
    for text in samples("lustre"):
        assert_same_or_refused(read, text, text)
        assert measured(read, text)

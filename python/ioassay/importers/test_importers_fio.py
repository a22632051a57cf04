"""fio's JSON in all its shapes becomes the numbers that fio printed, or is refused."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.importers.fio import read
from ioassay.importers.fio.latencies import bins
from ioassay.importers.fio.options import Options
from ioassay.importers.json_text import Parsed
from ioassay.importers.model import Measurement
from ioassay.testing.importer_samples import (
    assert_same_or_refused,
    cases,
    damages,
    measured,
    refused,
    sample,
    samples,
)


@pytest.mark.parametrize(
    ("time_fields", "ended_ms"),
    [
        ('"timestamp": 1795204191, "timestamp_ms": 1795204191956,', 1795204191956),
        ('"timestamp": 1795204191,', 1795204191000),
        ('"timestamp_ms": 1795204191956,', 1795204191956),
        ('"timestamp": 1795204191, "timestamp_ms": 86400123,', 1795204191000),
        ('"timestamp": 1795204191, "timestamp_ms": -1,', 1795204191000),
        ('"timestamp": 1795204191, "timestamp_ms": "1795204191956",', 1795204191000),
        ("", None),
    ],
)
def test_the_end_ignores_milliseconds_of_another_second(time_fields: str, ended_ms: int | None) -> None:
    (case,) = cases(read, OLD.replace('"jobs"', f'{time_fields} "jobs"', 1))
    assert case.ended_unix_ns == (None if ended_ms is None else ended_ms * 1_000_000)


def test_the_start_without_job_starts_is_before_the_longest_job() -> None:
    timestamp = '"timestamp_ms": 1795204191956,'
    (case,) = cases(read, OLD.replace('"jobs"', f'{timestamp} "jobs"', 1))
    assert case.started_unix_ns == (1795204191956 - 10010) * 1_000_000
    (case,) = cases(read, OLD.replace('"jobs"', f'{timestamp} "jobs"', 1).replace('"error"', '"job_start": 7, "error"'))
    assert case.started_unix_ns == 7_000_000
    assert cases(read, OLD)[0].started_unix_ns is None


OLD = """{
  "fio version" : "fio-2.1.11",
  "jobs" : [
    {
      "jobname" : "old",
      "groupid" : 0,
      "error" : 0,
      "read" : {
        "io_bytes" : 0,
        "bw" : 0,
        "iops" : 0,
        "runtime" : 0
      },
      "write" : {
        "io_bytes" : 1048575,
        "bw" : 104752,
        "iops" : 26188,
        "runtime" : 10010
      }
    }
  ]
}
"""
"""What 2.1 prints: KiB that it calls bytes, whole operations per second, neither options nor a number of I/Os."""

NUMBERED = """{"fio version" : "fio-2.14", "jobs" : [{"jobname" : "n", "groupid" : 0, "error" : 0,
"job options" : {"rw" : "randread", "bs" : "4k"},
"read" : {"io_bytes" : 12, "bw" : 6, "iops" : 1.50, "runtime" : 2000, "total_ios" : 3, "clat" : {"bins" : {
"0" : 0, "100" : 1, "128" : 1, "300" : 1,
"FIO_IO_U_PLAT_BITS" : 6, "FIO_IO_U_PLAT_VAL" : 64, "FIO_IO_U_PLAT_NR" : 1216}}},
"write" : {"io_bytes" : 0, "bw" : 0, "iops" : 0.00, "runtime" : 0, "total_ios" : 0}}]}
"""
"""json+ of 2.14: bins of microseconds by their numbers."""


def only_measurement(text: str, **attributes: str) -> Measurement:
    """The measurement with these attributes."""
    measurements = [
        m for m in measured(read, text) if all(getattr(m, name) == value for name, value in attributes.items())
    ]
    assert len(measurements) == 1
    return measurements[0]


def test_jobs_of_a_group_run_side_by_side_and_a_stonewall_begins_a_phase() -> None:
    measurements = measured(read, sample("fio/fio-3.33-two-groups.json"))
    assert [(m.phase, m.job, m.operation) for m in measurements] == [
        ("group 0", "writer", "write"),
        ("group 0", "side", "read"),
        ("reader", "reader", "read"),
    ]


def test_processes_of_one_job_are_ranks_of_one_measurement() -> None:
    writer = only_measurement(sample("fio/fio-3.33-two-groups.json"), job="writer")
    assert writer.ranks == 2
    assert writer.each is not None
    assert writer.bytes == writer.each["bytes"].sum() == 16 << 20
    assert writer.duration_ns == writer.each["end_ns"].max()


def test_a_measurement_names_the_line_of_its_part_of_the_file() -> None:
    text = sample("fio/fio-3.33-two-groups.json")
    for m in measured(read, text):
        assert f'"{m.operation}" : {{' in text.splitlines()[m.line - 1]


def test_the_sum_of_different_jobs_has_no_options_and_no_ranks() -> None:
    summed = only_measurement(sample("fio/fio-3.33-group-reporting.json"), job="writer", operation="write")
    assert (summed.ranks, summed.transfer_bytes, summed.order, summed.bytes) == (None, None, "", 16 << 20)


def test_clients_are_counted_by_their_hosts_and_their_sum_is_left_out() -> None:
    document = json.loads(sample("fio/fio-3.33-clients.json"))
    for job in document["client_stats"]:
        job["hostname"] = "node002" if job["jobname"] == "side" else "node001"
    (case,) = cases(read, json.dumps(document))
    assert case.clients == 2
    assert "All clients" not in {m.job for m in case.measured}
    assert {node for m in case.measured if m.each is not None for node in m.each["node"]} == {"node001", "node002"}


def test_the_last_of_several_documents_counts() -> None:
    text = sample("fio/fio-3.33-status.json")
    assert text.count('"fio version"') == 3
    (measurement,) = measured(read, text)
    assert measurement.line > text[: text.rindex('"fio version"')].count("\n")


def test_a_file_that_ends_with_a_status_before_the_end_is_refused() -> None:
    text = sample("fio/fio-3.33-status.json")
    ends = [match.end() for match in re.finditer(r"^}\n", text, re.MULTILINE)]
    for end in ends[:-1]:
        assert "before the end" in refused(read, text[:end]).reason
    late = sample("fio/fio-3.33-normal-and-json.json")
    assert "before the end" in refused(read, re.sub(r'"eta" : \d+', '"eta" : 3', late)).reason


def test_lines_around_the_document_do_not_matter() -> None:
    text = sample("fio/fio-3.33-normal-and-json.json")
    assert not text.startswith("{")
    assert only_measurement(text).bytes == 8 << 20


def test_latencies_of_json_plus_hold_every_operation_within_its_bin() -> None:
    text = sample("fio/fio-3.33-plus.json")
    for m in measured(read, text):
        assert m.latencies is not None
        assert sum(m.latencies.count) == m.operations
        document = json.loads(text)["jobs"][0][m.operation]["clat_ns"]
        assert m.latencies.lowest_ns[0] <= document["min"] <= m.latencies.highest_ns[0]
        assert m.latencies.lowest_ns[-1] <= document["max"] <= m.latencies.highest_ns[-1]


def test_bins_of_old_versions_are_microseconds_by_number() -> None:
    latencies = only_measurement(NUMBERED).latencies
    assert latencies is not None
    assert list(zip(latencies.lowest_ns, latencies.highest_ns, latencies.count, strict=True)) == [
        (100_000, 100_999, 1),
        (128_000, 129_999, 1),
        (864_000, 871_999, 1),
    ]


@given(st.integers(0, 2**34))
def test_every_latency_is_in_the_bin_of_fio(time: int) -> None:
    # plat_val_to_idx and plat_idx_to_val of fio's stat.c.
    shift = max(0, time.bit_length() - 7)
    middle = time if time < 128 else ((time >> shift) << shift) + (1 << shift) // 2
    (edges,) = bins(Parsed({"clat_ns": {"bins": {str(middle): 1}}}, 1))
    assert edges[0] <= time <= edges[1]


def test_a_bin_of_no_version_is_refused() -> None:
    text = sample("fio/fio-3.33-plus.json")
    name = re.findall(r'"(\d{5,})" : \d', text)[0]
    assert "latency bin" in refused(read, text.replace(f'"{name}"', f'"{int(name) + 1}"')).reason


def test_bins_that_do_not_hold_all_operations_are_refused() -> None:
    text = sample("fio/fio-3.33-plus.json")
    name = re.findall(r'"(\d{5,})" : \d', text)[0]
    assert "add up" in refused(read, re.sub(rf' *"{name}" : \d+,\n', "", text)).reason


def test_bytes_before_2_21_are_kib() -> None:
    old = only_measurement(OLD)
    assert (old.bytes, old.operations, old.ranks) == (1048575 * 1024, None, None)
    assert old.rate_operations_per_s == 26188


def test_bytes_are_never_read_as_kib() -> None:
    text = sample("fio/fio-3.33-normal-and-json.json")
    without = re.sub(r' *"(io_kbytes|bw_bytes)" : \d+,\n', "", text)
    assert "do not agree" in refused(read, without).reason


def test_a_failed_job_invalidates_its_results() -> None:
    text = sample("fio/fio-3.33-plus.json").replace('"error" : 0', '"error" : 5')
    assert next((d.kind, d.invalidates) for d in measured(read, text)[0].doubts) == ("job-failed", True)


def test_a_job_that_failed_at_once_invalidates_concurrent_jobs() -> None:
    document = json.loads(sample("fio/fio-3.33-two-groups.json"))
    side = next(job for job in document["jobs"] if job["jobname"] == "side")
    side["error"] = 2
    side["read"] = document["jobs"][0]["read"]
    measurements = measured(read, json.dumps(document))
    assert {m.job: any(d.invalidates for d in m.doubts) for m in measurements} == {"writer": True, "reader": False}


def test_a_file_with_failures_only_names_the_error() -> None:
    text = re.sub(r'"(io_bytes)" : \d+', r'"\1" : 0', sample("fio/fio-3.33-plus.json"))
    assert "error 28" in refused(read, text.replace('"error" : 0', '"error" : 28')).reason


@pytest.mark.parametrize("other", ["trim", "mixed"])
def test_operations_without_a_table_are_left_out(other: str) -> None:
    document = json.loads(sample("fio/fio-3.33-plus.json"))
    job = document["jobs"][0]
    job[other] = job.pop("read")
    job["read"] = dict.fromkeys(["io_bytes", "bw", "iops", "runtime"], 0)
    kinds = {m.operation: {d.kind for d in m.doubts} for m in measured(read, json.dumps(document))}
    assert list(kinds) == ["write"]
    assert ("not-imported" in kinds["write"]) == (other == "trim")


def test_reads_and_writes_in_one_number_are_refused() -> None:
    document = json.loads(sample("fio/fio-3.33-plus.json"))
    job = document["jobs"][0]
    job["mixed"] = job.pop("read")
    del job["write"], job["trim"]
    assert "unified_rw_reporting" in refused(read, json.dumps(document)).reason


def test_a_write_without_fsync_is_doubted_and_a_direct_or_synced_one_is_not() -> None:
    text = sample("fio/fio-3.33-verify.json")
    for option, doubted in (("", True), ('"direct" : "1",', False), ('"end_fsync" : "1",', False)):
        write = only_measurement(text.replace('"job options" : {', '"job options" : {' + option), operation="write")
        assert ("unsynced-write" in {d.kind for d in write.doubts}) == doubted


def test_the_block_size_may_differ_by_direction() -> None:
    options = Options({"bs": "8k,16k"}, is_printed=True)
    assert {name: options.transfer_bytes(name) for name in ("read", "write")} == {"read": 8192, "write": 16384}


def test_sizes_of_a_job_in_si_units_are_powers_of_ten() -> None:
    assert Options({"bs": "4k", "kb_base": "1000"}, is_printed=True).transfer_bytes("read") == 4000


@pytest.mark.parametrize(
    ("text", "ms"), [("7", 7000), ("7s", 7000), ("2m", 120_000), ("1h", 3_600_000), ("250ms", 250), ("5msec", 5)]
)
def test_times_have_the_units_of_fio(text: str, ms: int) -> None:
    assert Options({"runtime": text}, is_printed=True).most_runtime_ms == ms


def unlike(text: str) -> list[str]:
    """What tells that the entries are sums of jobs that differ."""
    return [d.message for m in measured(read, text) for d in m.doubts if d.kind == "unlike-jobs"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("unlike-jobs-read-and-write", "its options have it write, but it did a read"),
        ("unlike-jobs-write", "its processes took 3.333 s together, but its options have 1 of at most 1.584 s"),
    ],
)
def test_the_sum_of_unlike_jobs_has_no_conditions_and_names_the_reason(name: str, why: str) -> None:
    text = sample(f"fio/fio-3.33-{name}.json")
    assert "group_reporting" not in text, "fio does not say it"
    (case,) = cases(read, text)
    assert [setting.value for setting in case.settings] == ["sum of unlike jobs", "fio 3.33"]
    for m in case.measured:
        assert (m.ranks, m.transfer_bytes, m.order, m.layout, m.files) == (None, None, "", "", None)
        assert next(why in d.message for d in m.doubts if d.kind == "unlike-jobs")


def test_an_entry_that_no_job_has_filled_is_left_out() -> None:
    """fio 3.33 prints one where `group_reporting` stands with the second of two jobs alone."""
    document = json.loads(OLD)
    unused = json.loads(OLD)["jobs"][0]
    del unused["jobname"]
    for direction in ("read", "write"):
        unused[direction]["io_bytes"] = 0
    text = json.dumps(document | {"jobs": [*document["jobs"], unused | {"error": 4294967295}]})
    assert [case.measured for case in cases(read, text)] == [
        case.measured for case in cases(read, json.dumps(document))
    ]
    unused["read"]["io_bytes"] = 1
    assert "jobname" in refused(read, json.dumps(document | {"jobs": [*document["jobs"], unused]})).reason


def test_a_sum_whose_mean_transfer_is_not_that_of_its_options_is_of_unlike_jobs() -> None:
    document = json.loads(sample("fio/fio-3.33-unlike-jobs-write.json"))
    job = document["jobs"][0]
    job["job_runtime"] = job["write"]["runtime"]
    assert not unlike(json.dumps(document))
    job["job options"]["bs"] = "16k"
    assert ["moved 1 MiB in the mean" in message for message in unlike(json.dumps(document))] == [True]
    job["job options"]["bs"] = "4m"
    assert ["moved 1 MiB in the mean" in message for message in unlike(json.dumps(document))] == [True]


def test_the_sum_of_equal_processes_keeps_their_conditions() -> None:
    (case,) = cases(read, sample("fio/fio-3.42-alike.json"))
    (m,) = case.measured
    assert (case.ranks, m.transfer_bytes, m.layout, m.bytes) == (3, 1 << 20, "N-N", 48 << 20)
    assert not unlike(sample("fio/fio-3.42-alike.json"))


def test_counters_below_0_of_one_direction_do_not_affect_the_other() -> None:
    text = sample("fio/fio-absurd-read-after-verify.json")
    (m,) = measured(read, text)
    assert (m.operation, m.bytes, m.operations, m.ranks) == ("write", 128 << 20, 128, 2)
    assert next("io_bytes 18446744073709547520" in d.message for d in m.doubts if d.kind == "not-imported")
    document = json.loads(text)
    document["jobs"][0]["trim"]["total_ios"] = 2**64 - 1
    assert [m.operation for m in measured(read, json.dumps(document))] == ["write"]
    for job in document["jobs"]:
        job["write"]["io_bytes"] = 0
    assert "impossible counters for read" in refused(read, json.dumps(document)).reason


def test_percentiles_in_the_last_bin_are_lower_bounds() -> None:
    (m,) = measured(read, sample("fio/fio-percentiles-at-the-last-bin.json"))
    (doubt,) = (d for d in m.doubts if d.kind == "latencies-beyond-bins")
    assert "94.4 s" in doubt.message
    assert "at least 17.0 s" in doubt.remedy
    assert "latencies-beyond-bins" not in {d.kind for d in measured(read, sample("fio/fio-3.33-plus.json"))[0].doubts}


@pytest.mark.parametrize(("unit", "factor", "last"), [("clat_ns", 1, "17112760320"), ("clat", 1000, "16711680")])
def test_the_last_bin_ends_with_the_slowest_operation(unit: str, factor: int, last: str) -> None:
    direction = {unit: {"bins": {last: 2, "100": 1}, "N": 3, "max": 94_000_000_000 // factor}}
    assert max(bins(Parsed(direction, 1)))[1] == 94_000_000_000


def test_a_job_that_took_many_times_its_runtime_is_doubted() -> None:
    document = json.loads(sample("fio/fio-3.33-unlike-jobs-write.json"))
    for runtime, doubted in (("1", False), ("200ms", True), ("0", False), ("1m", False)):
        document["jobs"][0] |= {
            "eta": 0,
            "job options": {"rw": "write", "bs": "1m", "numjobs": "3", "runtime": runtime},
        }
        kinds = {d.kind for d in measured(read, json.dumps(document))[0].doubts}
        assert ("time-limit-overrun" in kinds) == doubted, runtime


def test_a_ramp_as_long_as_the_runtime_is_doubted_or_named() -> None:
    document = json.loads(sample("fio/fio-3.33-ramp.json"))
    assert "ramp-measured" in {d.kind for d in measured(read, json.dumps(document))[0].doubts}
    write = document["jobs"][0]["write"]
    write |= dict.fromkeys(("io_bytes", "io_kbytes", "bw", "bw_bytes", "iops", "runtime", "total_ios"), 0)
    assert "ended within its ramp" in refused(read, json.dumps(document)).reason
    document["jobs"][0]["job options"]["ramp_time"] = "500ms"
    assert "moved nothing" in refused(read, json.dumps(document)).reason


def test_the_last_of_repeated_options_counts() -> None:
    text = sample("fio/fio-3.42-alike.json").replace('"bs" : "1m"', '"bs" : "4k", "bs" : "1m"')
    assert measured(read, text)[0].transfer_bytes == 1 << 20


def test_a_repeated_number_with_different_values_is_refused() -> None:
    text = sample("fio/fio-3.42-alike.json").replace('"groupid" : 0', '"groupid" : 0, "groupid" : 1')
    assert "has 'groupid' 2 times" in refused(read, text).reason


def test_nan_and_infinity_do_not_break_the_document() -> None:
    text = sample("fio/fio-3.33-plus.json")
    broken = re.sub(r'"bw_dev" : [\d.]+', '"bw_dev" : -nan', text)
    assert [m.latencies for m in measured(read, broken)] == [m.latencies for m in measured(read, text)]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"jobs": []}', '{"fio version": 3}', "fio-3.33\n", "{" * 99])
def test_foreign_files_are_refused(text: str) -> None:
    assert refused(read, text).reason


@given(damages([*samples("fio"), OLD, NUMBERED]))
def test_damage_changes_no_number(texts: tuple[str, str]) -> None:
    assert_same_or_refused(read, *texts)


def test_uncached_io_is_distinguished_from_buffered() -> None:
    def of(**more: str) -> set[str]:
        return {
            setting.name
            for setting in Options({"rw": "read", "ioengine": "io_uring", **more}, is_printed=True).settings
        }

    assert of(uncached="1") - of() == {"uncached"}
    assert of(uncached="0") == of()

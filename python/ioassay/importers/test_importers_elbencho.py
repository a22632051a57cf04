"""elbencho's CSV and JSON of all versions become the numbers that elbencho printed, or are refused."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.importers.elbencho import read
from ioassay.importers.elbencho.latencies import of_bins
from ioassay.importers.model import Measurement
from ioassay.importers.source import Refused, Source
from ioassay.testing.importer_samples import assert_same_or_refused, cases, damages, measured, refused, sample, samples

MIB = 1 << 20

OLD = (
    "ISO date,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random aligned,"
    "random amount,IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],"
    "entries/s [last],entries [first],entries [last],IOPS [first],IOPS [last],I/Os [first],I/Os [last],MiB/s [first],"
    "MiB/s [last],MiB [first],MiB [last],Ent lat us [min],Ent lat us [avg],Ent lat us [max],IO lat us [min],"
    "IO lat us [avg],IO lat us [max]\n"
    "2020-09-14T10:00:00+0200,dir,1,2,4,3,5,4096,4096,0,0,,,1,1,0,MKDIRS,11,12,2000,2000,22,24,,,,,,,,,,,,,,\n"
    "2020-09-14T10:00:01+0200,dir,1,2,4,3,5,4096,4096,0,0,,,1,1,0,WRITE,2000,2500,50,48,100,120,50,48,100,120,"
    "0,0,0,0,,,,,,\n"
    "2020-09-14T10:00:09+0200,dir,1,2,4,3,5,4096,4096,0,0,,,1,1,0,RMFILES,20,25,5000,4800,100,120,,,,,,,,,,,,,,\n"
)
"""What 1.0 prints: another order of columns, the numbers of I/Os, neither version nor command."""


def table(*rows: tuple[str, str, str, str]) -> str:
    """elbencho's console table, with columns as wide as in its format (`source/Statistics.h`)."""
    head = (
        ("OPERATION", "RESULT TYPE", "FIRST DONE", "LAST DONE"),
        ("===========", "================", "=" * 10, "=" * 9),
    )
    lines = [f"{a:<11} {b:<17}  {c:>11} {d:>11}" for a, b, c, d in head]
    return "\n".join([*lines, *(f"{a:<11} {b:<17}: {c:>11} {d:>11}" for a, b, c, d in rows)]) + "\n"


CONSOLE = table(
    ("WRITE", "Elapsed time", "2m3.241s", "2m5.755s"),
    ("", "IOPS", "33395", "33352"),
    ("", "Throughput MiB/s", "33395", "33352"),
    ("", "Total MiB", "4115703", "4194304"),
)
"""The numbers of elbencho's own example (`docs/result-columns-explanation.md`)."""

TREE = table(
    ("MKDIRS", "Elapsed ms", "11", "12"),
    ("", "Dirs/s", "2000", "1990"),
    ("", "Dirs total", "22", "24"),
) + table(
    ("WRITE", "Elapsed time", "987ms", "1.000s"),
    ("", "Files/s", "100", "99"),
    ("", "IOPS", "200", "198"),
    ("", "Throughput MB/s", "210", "208"),
    ("", "Total MiB", "190", "198"),
    ("", "Files total", "90", "99"),
)

LIVE_HEADER = (
    "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Lat Ent us,Lat IO us,"
    "Active,CPU,Service,\n"
)


def live(*rows: tuple[str, int, int, int, int], rank: str = "Total", mix: str = "") -> str:
    """Rows of live statistics: phase, ms, %, bytes, operations per second."""
    return "".join(
        f"2026-11-20T19:49:{second:02}.003+0000,,{phase},{at_ms},{rank},{mix},{percent},{moved},0,{iops},0,0,0,530,2,100,,\n"
        for second, (phase, at_ms, percent, moved, iops) in enumerate(rows)
    )


LIVE = LIVE_HEADER + live(
    ("WRITE", 2000, 40, 400 * MIB, 200), ("WRITE", 4001, 80, 820 * MIB, 210), ("READ", 2000, 90, 900 * MIB, 450)
)


def mixed(phase: str, read_part: Mapping[str, str]) -> str:
    """The CSV of 3.1 with a phase that reads and writes."""
    header, row, *_ = sample("elbencho/elbencho-3.1.csv").splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=True))
    return header + "\n" + ",".join({**values, "operation": phase, **read_part}.values()) + "\n"


def test_rows_of_one_command_are_phases_of_one_case() -> None:
    (case,) = cases(read, sample("elbencho/elbencho-3.1.json"))
    assert [(m.phase, m.operation, m.bytes) for m in case.measured] == [
        ("write", "write", 64 * MIB),
        ("read", "read", 64 * MIB),
    ]
    assert (case.clients, case.ranks, case.tool_version) == (1, 2, "3.1-10")


def test_rates_are_of_the_last_thread_beside_those_of_the_first() -> None:
    write = measured(read, sample("elbencho/elbencho-3.1.json"))[0]
    assert (write.duration_ns, write.rate_bytes_per_s) == (88_000_000, 761398064)
    assert write.first_finished is not None
    assert (write.first_finished.at_ns, write.first_finished.bytes) == (87_000_000, 66060288)


def test_csv_and_json_agree_within_their_digits() -> None:
    exact = measured(read, sample("elbencho/elbencho-3.1.json"))
    rounded = measured(read, sample("elbencho/elbencho-3.1.csv"))
    for from_json, from_csv in zip(exact, rounded, strict=True):
        assert (
            from_json.phase,
            from_json.duration_ns,
            from_json.bytes,
            from_json.transfer_bytes,
            from_json.files,
            from_json.started_unix_ns,
        ) == (
            (
                from_csv.phase,
                from_csv.duration_ns,
                from_csv.bytes,
                from_csv.transfer_bytes,
                from_csv.files,
                from_csv.started_unix_ns,
            )
        )
        assert from_json.rate_bytes_per_s is not None
        assert from_csv.rate_bytes_per_s == from_json.rate_bytes_per_s // MIB * MIB


def test_the_json_beside_a_csv_replaces_it(tmp_path: Path) -> None:
    text = sample("elbencho/elbencho-3.1.json")
    opened = []

    def open_sibling(name: str) -> Source:
        opened.append(name)
        return Source(tmp_path / name, text, hashlib.sha256(text.encode()).hexdigest(), len(text))

    text_of_csv = sample("elbencho/elbencho-3.1.csv")
    (case,) = read(Source(tmp_path / "a.csv", text_of_csv, "", len(text_of_csv)), open_sibling)
    assert opened == ["elbencho-3.1.json"]
    assert [(m.operation, m.rate_bytes_per_s) for m in case.measured] == [("write", 761398064), ("read", 3303577040)]


def test_a_repeated_phase_begins_another_case() -> None:
    text = sample("elbencho/elbencho-3.1.csv")
    again = text + "".join(text.splitlines(keepends=True)[1:])
    assert len(cases(read, again)) == 2
    assert len(cases(read, text + text)) == 2, "files put together have their header twice"


def test_another_configuration_begins_another_case() -> None:
    header, write, reads = sample("elbencho/elbencho-3.1.csv").splitlines(keepends=True)
    assert len(cases(read, header + write + reads.replace(",1048576,", ",4096,"))) == 2


def test_columns_are_found_by_name() -> None:
    (case,) = cases(read, OLD)
    assert (case.clients, case.ranks, case.tool_version) == (2, 8, None)
    by_phase = {(m.phase, m.operation): (m.operations, m.rate_operations_per_s) for m in case.measured}
    assert by_phase == {
        ("mkdirs", "create-tree"): (24, 2000),
        ("write", "write"): (120, 48),
        ("write", "create"): (120, 48),
        ("rmfiles", "remove"): (120, 4800),
    }


def test_less_than_a_mib_is_not_read_as_zero() -> None:
    write = next(m for m in measured(read, OLD) if m.operation == "write")
    assert (write.bytes, write.rate_bytes_per_s) == (None, None)


def test_files_of_a_tree_are_counted_over_all_threads_and_hosts() -> None:
    assert {m.files for m in measured(read, OLD)} == {2 * 4 * 3 * 5}


def test_the_time_of_old_versions_is_not_a_beginning() -> None:
    assert {m.started_unix_ns for m in measured(read, OLD)} == {None}


def test_reads_and_writes_of_a_mix_are_measurements_of_their_own() -> None:
    read_part = {"rwmix read IOPS [last]": "70", "rwmix read MiB/s [last]": "70", "rwmix read MiB [last]": "640"}
    measurements = measured(read, mixed("RWMIX70", read_part))
    assert [(m.phase, m.operation, m.bytes) for m in measurements] == [
        ("rwmix70", "write", 64 * MIB),
        ("rwmix70", "read", 640 * MIB),
    ]


def test_a_mix_in_one_number_is_refused() -> None:
    assert refused(read, mixed("RWMIX70", {})).line == 2


def test_a_phase_of_no_version_is_refused_with_its_line() -> None:
    assert refused(read, mixed("FLY", {})).line == 2


def test_a_phase_that_measures_nothing_is_left_out() -> None:
    text = sample("elbencho/elbencho-3.1.csv")
    assert measured(read, text + mixed("SYNC", {}).splitlines()[1] + "\n") == measured(read, text)


def test_operations_without_a_table_are_reported() -> None:
    text = sample("elbencho/elbencho-3.1.csv")
    measurements = measured(read, text + mixed("PUTOBJACL", {}).splitlines()[1] + "\n")
    assert [m.operation for m in measurements if "not-imported" in {d.kind for d in m.doubts}] == ["write"]


def test_writes_through_the_cache_are_doubted_and_direct_ones_are_not() -> None:
    text = sample("elbencho/elbencho-3.1.csv")
    direct = text.replace(",1048576,0,", ",1048576,1,")
    assert [[d.kind for d in m.doubts if d.kind != "short-phase"] for m in measured(read, text)] == [
        ["unsynced-write"],
        ["may-be-cached"],
    ]
    assert not [d for m in measured(read, direct) for d in m.doubts if d.kind != "short-phase"]


@pytest.mark.parametrize("column", ["time ms [last]", "threads", "operation"])
def test_a_header_without_a_column_that_is_needed_is_refused(column: str) -> None:
    assert column in refused(read, OLD.replace(f"{column},", "", 1)).reason


def test_live_statistics_are_not_results() -> None:
    assert refused(read, "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes\n").reason


@pytest.mark.parametrize("text", ["", "{}", '{"phase_type": 3}', "OPERATION RESULT TYPE\n", "ISO date,\n", OLD[:400]])
def test_foreign_files_are_refused(text: str) -> None:
    assert refused(read, text).reason


def test_a_console_table_has_the_rates_of_both_columns() -> None:
    (write,) = measured(read, CONSOLE)
    assert (write.operation, write.bytes, write.rate_bytes_per_s) == ("write", 4194304 * MIB, 33352 * MIB)
    assert (write.duration_ns, write.rate_operations_per_s, write.transfer_bytes) == (125_755_000_000, 33352, None)
    assert write.first_finished is not None
    assert write.first_finished.at_ns == 123_241_000_000


def test_a_results_file_has_the_command_and_time() -> None:
    head = (
        'ISO DATE: 2026-11-20T19:49:52+0000\nLABEL: night\nCOMMAND LINE: "elbencho" "-w" "-t" "8" "-b" "1m" "--direct" '
    )
    head += '"--hosts" "a,b" "-s" "16g" "/mnt/f"\n\n'
    (case,) = cases(read, head + CONSOLE + "\n")
    assert (case.clients, case.ranks, case.measured[0].transfer_bytes) == (2, 16, MIB)
    settings = {setting.name: setting.value for setting in case.settings}
    assert settings == {"label": "night", "block": "blocks of 1 MiB", "direct": "direct I/O"}
    prompt = "[user@node001 ~]$ elbencho -w -t8 -b 1m --direct /mnt/f\n\n"
    assert cases(read, prompt + CONSOLE)[0].ranks == 8


def test_phases_of_trees_have_entries_and_older_versions_milliseconds() -> None:
    phases = [(m.phase, m.operation, m.operations, m.rate_operations_per_s) for m in measured(read, TREE)]
    assert phases == [("mkdirs", "create-tree", 24, 1990), ("write", "write", None, 198), ("write", "create", 99, 99)]
    assert measured(read, TREE)[1].rate_bytes_per_s == 208_000_000
    assert measured(read, TREE)[0].duration_ns == 12_000_000


def test_results_below_a_damaged_row_are_not_those_of_the_phase_above() -> None:
    assert "without a phase" in refused(read, TREE.replace("Elapsed time     :", "Elapsed time      ")).reason


def test_a_truncated_table_is_refused_or_has_no_other_number() -> None:
    expected = {(m.phase, m.operation, m.rate_bytes_per_s, m.duration_ns) for m in measured(read, CONSOLE + TREE)}
    for length in range(len(CONSOLE + TREE)):
        try:
            measurements = measured(read, (CONSOLE + TREE)[:length])
        except Refused:
            continue
        assert {(m.phase, m.operation, m.rate_bytes_per_s, m.duration_ns) for m in measurements} <= expected


def test_a_table_of_versions_1_and_2_has_the_numbers_of_both_columns() -> None:
    (write,) = measured(read, sample("elbencho/elbencho-2.1-console.txt"))
    assert (write.operation, write.bytes, write.rate_bytes_per_s) == ("write", 448859 * MIB, 4446 * MIB)
    assert write.duration_ns == 100_936_000_000
    assert write.first_finished is not None
    assert (write.first_finished.at_ns, write.first_finished.rate_bytes_per_s) == (61_339_000_000, 7285 * MIB)


FORMATS = {
    "1.0": "{:<9} {:<13} {:1} {:>10} {:>10}",
    "1.3": "{:<9} {:<16} {:1} {:>10} {:>10}",
    "2.0-7": "{:<9} {:<17}{:1} {:>10} {:>10}",
    "2.3": "{:<9} {:<17}{:1} {:>11} {:>11}",
}
"""The rows of elbencho's table (`phaseResultsFormatStr` of `source/Statistics.h`), by the first version that has it."""


def printed(version: str, *rows: tuple[str, str, str, str]) -> str:
    """A table as a version prints it."""
    head = ("OPERATION", "RESULT TYPE", "", "FIRST DONE", "LAST DONE")
    lines = [head, *((phase, name, ":", first, last) for phase, name, first, last in rows)]
    return "".join(FORMATS[version].format(*line) + "\n" for line in lines)


@pytest.mark.parametrize("version", ["1.3", "2.0-7", "2.3"])
def test_tables_of_each_width_are_read_and_their_cut_rows_refused(version: str) -> None:
    text = printed(
        version,
        ("WRITE", "Elapsed ms", "169100", "170210"),
        ("", "Files/s", "6163", "6160"),
        ("", "Throughput MiB/s", "6", "6"),
        ("", "Total files" if version == "1.3" else "Files total", "1042336", "1048576"),
        ("", "Total MiB", "1017", "1024"),
    )
    write, create = measured(read, text + "---\n")
    assert (write.bytes, write.rate_bytes_per_s) == (1024 * MIB, 6 * MIB)
    assert (create.operations, create.rate_operations_per_s) == (1048576, 6160)
    assert "cut off" in refused(read, text[:-3] + "\n").reason


def test_the_table_of_1_0_has_other_names() -> None:
    text = printed(
        "1.0",
        ("WRITE", "time ms", "987", "1000"),
        ("", "entries/s", "100", "99"),
        ("", "entries", "90", "99"),
        ("", "IOPS", "200", "198"),
        ("", "I/Os", "190", "198"),
        ("", "MiB/s", "200", "198"),
        ("", "MiB", "190", "198"),
    )
    write, create = measured(read, text)
    assert (write.bytes, write.rate_bytes_per_s, write.operations) == (198 * MIB, 198 * MIB, 198)
    assert (create.operations, create.rate_operations_per_s) == (99, 99)
    assert {m.duration_ns for m in (write, create)} == {1_000_000_000}


def test_consoles_without_a_command_line_are_distinguished_by_amount() -> None:
    (case,) = cases(read, sample("elbencho/elbencho-2.1-console.txt"))
    assert case.amount == "448859 MiB"
    (other,) = cases(read, sample("elbencho/elbencho-2.1-console.txt").replace("448859", "448860"))
    assert other.amount != case.amount


def test_lists_of_latencies_and_of_threads_do_not_end_a_phase() -> None:
    text = printed("2.0-7", ("DROPCACHE", "Elapsed ms", "0", "86")) + "          Time ms each     : [ 0 86 ]\n---\n"
    text += printed("2.0-7", ("READ", "Elapsed ms", "6001", "6001"), ("", "IOPS", "8219", "8219"))
    text += "          IO latency us    : [ min=91 avg=120 max=1583 ]\n"
    text += "".join(printed("2.0-7", ("", "Total MiB", "192", "192")).splitlines(keepends=True)[1:])
    (measurement,) = measured(read, text)
    assert (measurement.operation, measurement.bytes, measurement.rate_operations_per_s) == ("read", 192 * MIB, 8219)


HISTOGRAM = {"8.0": 4, "9.5": 111, "11": 6, "27": 7}
"""What elbencho 3.1 printed of 128 reads of 64 KiB: ends of bins in µs, and I/Os in them."""


def bins(of: Measurement) -> list[tuple[int, int, int]]:
    assert of.latencies is not None
    return list(zip(of.latencies.lowest_ns, of.latencies.highest_ns, of.latencies.count, strict=True))


def test_the_histogram_of_the_console_and_of_the_json_has_whole_microseconds() -> None:
    listed = ", ".join(f"{end}: {count}" for end, count in HISTOGRAM.items())
    (of_console,) = measured(read, CONSOLE + f"            IO lat hist      : [ {listed} ]\n---\n")
    assert bins(of_console) == [
        (7_000, 7_999, 4),  # from 6.73 µs on, and elbencho counts whole ones
        (8_000, 9_999, 111),
        (10_000, 11_999, 6),
        (23_000, 26_999, 7),
    ]
    _, document = sample("elbencho/elbencho-3.1.json").splitlines()
    parsed = json.loads(document)
    starts = ("6.7", "8.0", "9.5", "23")
    buckets = [
        {"range": f"{start}-{end}us", "count": str(count)}
        for start, (end, count) in zip(starts, HISTOGRAM.items(), strict=True)
    ]
    parsed["last_done"]["latency"]["IO"] |= {"max_us": "24", "histogram": {"buckets": buckets}}
    (of_document,) = measured(read, json.dumps(parsed))
    assert bins(of_document) == [*bins(of_console)[:-1], (23_000, 24_999, 7)], "the longest one is known"
    parsed["last_done"]["latency"]["IO"]["max_us"] = "27"
    assert "a longest latency of 27 µs" in refused(read, json.dumps(parsed)).reason
    parsed["last_done"]["latency"]["IO"]["max_us"] = "24"
    del buckets[1]["count"]
    assert "lacks 'count'" in refused(read, json.dumps(parsed)).reason


@given(st.lists(st.integers(0, (1 << 26) - 1), min_size=1))
def test_a_latency_is_within_the_bin_of_elbencho(latencies_us: list[int]) -> None:
    """elbencho's own rule (`LatencyHistogram::addLatency`), and the end that it prints."""
    numbers = sorted(int(4 * math.log2(us)) if us else 0 for us in latencies_us)
    ends = {number: 2 ** ((number + 1) / 4) for number in numbers}
    printed = [(f"{end:.{1 if end < 10 else 0}f}", numbers.count(number)) for number, end in ends.items()]
    latencies = of_bins(printed, 1)
    for us in latencies_us:
        index = list(ends).index(int(4 * math.log2(us)) if us else 0)
        assert latencies.lowest_ns[index] <= us * 1000
        assert us * 1000 + 999 <= latencies.highest_ns[index]
    assert sum(latencies.count) == len(latencies_us)


@pytest.mark.parametrize("listed", ["8.1: 4", "1.4: 4", "11: 3, 8.0: 1", "8.0: 0", "8.0: 1, 8.0: 2"])
def test_bins_that_elbencho_cannot_have_printed_are_refused(listed: str) -> None:
    """1.4 is the end of a bin without a whole microsecond."""
    reason = refused(read, CONSOLE + f"            IO lat hist      : [ {listed} ]\n---\n").reason
    assert "of latencies" in reason


def test_a_histogram_left_out_by_elbencho_is_none() -> None:
    (measurement,) = measured(read, CONSOLE + "            IO lat hist      : [ Histogram size exceeded ]\n---\n")
    assert measurement.latencies is None


ZERO_IN_CSV = sample("elbencho/elbencho-3.1.csv").replace(",686,2699,6161,", ",0,0,0,")
ZERO_IN_JSON = re.sub(r'"(min|avg|max)_us":"\d+"', r'"\1_us":"0"', sample("elbencho/elbencho-3.1.json"))
ZERO_IN_LIST = (
    CONSOLE
    + "            IO latency       : [ min=0us avg=0us max=0us ]\n            IO lat hist      : [ 1.2: 9 ]\n---\n"
)


@pytest.mark.parametrize("text", [ZERO_IN_CSV, ZERO_IN_JSON, ZERO_IN_LIST, LIVE.replace(",0,530,", ",0,0,")])
def test_latencies_of_zero_beside_operations_are_doubted_and_ignored(text: str) -> None:
    """elbencho's issue 103: with `--limitread` and `--iodepth` above 1."""
    measurement = measured(read, text)[0]
    assert measurement.latencies is None
    (doubt,) = [doubt for doubt in measurement.doubts if doubt.kind == "latencies-of-zero"]
    assert not doubt.invalidates
    assert measurement.rate_bytes_per_s is not None


def test_decimal_totals_are_decimal() -> None:
    text = CONSOLE.replace("Total MiB", "Total MB ").replace("MiB/s", "MB/s ")
    (write,) = measured(read, text)
    assert (write.bytes, write.rate_bytes_per_s) == (4194304 * 10**6, 33352 * 10**6)


def undated(text: str) -> str:
    """Live statistics as 2.1 to 3.0-17 write them."""
    return "".join(line.partition(",")[2] for line in text.splitlines(keepends=True))


def test_live_statistics_without_dates_are_read() -> None:
    assert [(m.bytes, m.duration_ns) for m in measured(read, undated(LIVE))] == [
        (m.bytes, m.duration_ns) for m in measured(read, LIVE)
    ]
    again = LIVE + LIVE.splitlines(keepends=True)[-1]
    assert "out of order" in refused(read, undated(again)).reason


def test_live_statistics_of_each_worker_leave_cells_empty_and_are_left_out() -> None:
    worker = "2026-11-20T19:49:00.003+0000,,WRITE,2000,0,,0,31059968,,,0,,,,,,,\n"
    header, first, *others = LIVE.splitlines(keepends=True)
    assert measured(read, "".join([header, first, worker, *others])) == [
        replace(m, line=m.line + 1) for m in measured(read, LIVE)
    ]


def test_live_statistics_are_samples_and_doubted_because_they_end_before_their_phase() -> None:
    write, second = measured(read, LIVE)
    assert (write.bytes, write.duration_ns) == (820 * MIB, 4_001_000_000)
    assert write.rate_bytes_per_s == 820 * MIB * 1000 // 4001
    assert write.samples is not None
    assert (list(write.samples.bytes), list(write.samples.operations)) == ([400 * MIB, 420 * MIB], [400, 420])
    assert write.samples.interval_ns == 2_000_500_000
    assert [doubt.kind for doubt in write.doubts] == ["live-statistics"]
    assert "80 % of the work" in write.doubts[0].message
    assert (second.phase, second.samples) == ("read", None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LIVE[:-1], "cut off"),
        (LIVE_HEADER, "no result"),
        (LIVE + LIVE.splitlines(keepends=True)[1], "out of order"),
        (LIVE_HEADER.replace("RuntimeMS", "Runtime"), "'RuntimeMS' is missing"),
        (undated(LIVE_HEADER.replace("RuntimeMS", "Runtime")), "'RuntimeMS' is missing"),
        (LIVE_HEADER + live(("WRITE", 2000, 40, 400, 200), mix="Read"), "mix"),
        (LIVE_HEADER + live(("WRITE", 0, 0, 0, 0)), "without a time"),
    ],
)
def test_incomplete_live_statistics_are_refused(text: str, reason: str) -> None:
    assert reason in refused(read, text).reason


@given(damages([LIVE, undated(LIVE)]))
def test_damaged_live_statistics_have_only_printed_times(texts: tuple[str, str]) -> None:
    _, damaged = texts
    try:
        measurements = measured(read, damaged)
    except Refused:
        return
    for measurement in measurements:
        assert measurement.duration_ns is not None
        assert f",{measurement.duration_ns // 1_000_000}," in damaged
        assert measurement.bytes is None or f",{measurement.bytes}," in damaged


@given(damages([*samples("elbencho"), OLD, CONSOLE, TREE, mixed("RWMIX70", {"rwmix read IOPS [last]": "70"})]))
def test_damage_changes_no_number(texts: tuple[str, str]) -> None:
    assert_same_or_refused(read, *texts)

"""What IOzone prints in its throughput mode and its auto mode becomes the numbers that it printed, or is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.importers.iozone import read
from ioassay.importers.model import Measurement
from ioassay.testing.importer_samples import assert_same_or_refused, cases, damages, measured, refused, sample, samples

KIB = 1024

EXCERPT = """\
	Children see throughput for 12 initial writers 	= 4732581.09 kB/sec
	Parent sees throughput for 12 initial writers 	= 4646810.21 kB/sec
	Min throughput per process 			=  387764.34 kB/sec
	Max throughput per process 			=  399655.47 kB/sec
	Avg throughput per process 			=  394381.76 kB/sec
	Min xfer 					= 1017344.00 kB
"""
"""A test without what IOzone prints before it."""

HEADER = sample("iozone/iozone-3.465-single.txt").splitlines()[-4]


def auto(row: str, command: str = "iozone -i 0 -i 1 -r 64k -s 4m") -> str:
    """The output of 3.465 in auto mode with this row, as if `command` had been typed."""
    lines = sample("iozone/iozone-3.465-single.txt").splitlines()
    lines[-3] = row
    return "\n".join(lines).replace("iozone -i 0 -i 1 -i 2 -r 64k -s 4m", command) + "\n"


def cells(*numbers: int) -> str:
    """A row as 3.465 prints it: two sizes, and as many tests as there are more numbers."""
    widths = (16, 8, 9, 9, 9, 9)
    return "".join(f"{number:{width}}" for number, width in zip(numbers, widths, strict=False))


def test_the_rate_is_of_the_children_in_kib() -> None:
    (measurement,) = measured(read, EXCERPT)
    assert (measurement.phase, measurement.operation, measurement.ranks) == ("write", "write", None)
    assert measurement.rate_bytes_per_s == 4732581.09 * KIB


def test_missing_values_are_none() -> None:
    (case,) = cases(read, EXCERPT)
    assert (case.tool_version, case.clients, case.ranks, case.settings) == (None, None, 12, [])
    assert case.measured[0].doubts == []


@pytest.mark.parametrize("unit", ["kB", "KB"])
def test_both_spellings_of_the_unit_are_kib(unit: str) -> None:
    assert measured(read, EXCERPT.replace("kB", unit))[0].rate_bytes_per_s == 4732581.09 * KIB


def test_each_number_of_children_is_a_case() -> None:
    all_cases = cases(read, sample("iozone/iozone-3.414-1-to-3.txt"))
    assert [case.ranks for case in all_cases] == [1, 2, 3]
    assert [[m.phase for m in case.measured] for case in all_cases] == [["write", "rewrite", "read", "reread"]] * 3
    assert {case.tool_version for case in all_cases} == {"3.414"}


def test_amounts_of_children_are_those_at_the_first_finish() -> None:
    write = measured(read, sample("iozone/iozone-3.414-throughput-excel.txt"))[0]
    assert write.each is not None
    assert write.each["stonewall_bytes"].to_list() == [0, 4096 * KIB]
    assert write.stonewall is not None
    assert (write.stonewall.bytes, write.stonewall.most_operations) == (4096 * KIB, 64)


def test_each_child_ends_by_itself_without_a_stonewall() -> None:
    text = sample("iozone/iozone-3.414-throughput-excel.txt").replace("Setting no_unlink", "Stonewall disabled")
    write = measured(read, text)[0]
    assert write.stonewall is None
    assert write.each is not None
    assert write.each["bytes"].to_list() == [0, 4096 * KIB]


def test_operations_are_not_read_as_kib() -> None:
    write = measured(read, sample("iozone/iozone-3.414-operations.txt"))[0]
    assert write.rate_operations_per_s == 56431.88
    assert write.rate_bytes_per_s == pytest.approx(56431.88 * 64 * KIB)


def test_mixed_reads_and_writes_are_left_out_and_reported() -> None:
    measurements = measured(read, sample("iozone/iozone-3.414-throughput-excel.txt"))
    assert "mixed" not in {m.phase for m in measurements}
    assert [m.phase for m in measurements if "not-imported" in {d.kind for d in m.doubts}] == ["write"]


def test_children_that_did_not_run_concurrently_are_doubted() -> None:
    slow = EXCERPT.replace("4646810.21", "2646810.21")
    assert [d.kind for d in measured(read, slow)[0].doubts] == ["parent-sees-less"]


def test_children_on_other_hosts_have_no_parent_and_an_unknown_number_of_clients() -> None:
    text = sample("iozone/iozone-3.465-throughput.txt")
    lines = [line for line in text.splitlines(keepends=True) if "Parent sees" not in line]
    (case,) = cases(read, "".join(lines).replace("iozone -i 0", "iozone -+m hosts -i 0"))
    assert case.clients is None


def test_output_of_our_front_end_is_read() -> None:
    (case,) = cases(read, sample("iozone/ioassay-engine.txt"))
    assert case.tool_version == "3.471 (ioassay-engine 0.1.0)"
    assert [m.phase for m in case.measured] == ["write", "rewrite", "read", "reread", "random-read", "random-write"]
    assert "unsynced-write" not in {d.kind for m in case.measured for d in m.doubts}


def test_the_table_of_our_own_front_end_is_read() -> None:
    all_cases = cases(read, sample("iozone/ioassay-engine-auto.txt"))
    assert len(all_cases) == 8  # files of 64 and 128 KiB, records of 4 to 32 KiB
    phases = ["write", "rewrite", "read", "reread", "random-read", "random-write", "record-rewrite"]
    assert [[m.phase for m in case.measured] for case in all_cases] == [phases] * 8
    row = next(
        line for line in sample("iozone/ioassay-engine-auto.txt").splitlines() if line.startswith(" " * 13 + "128")
    )
    write = all_cases[4].measured[0]
    assert (write.file_set_bytes, write.transfer_bytes) == (128 * KIB, 4 * KIB)
    assert write.rate_bytes_per_s == int(row.split()[2]) * KIB


def test_touching_numbers_of_auto_mode_are_separated_by_column() -> None:
    text = sample("iozone/iozone-3.414-auto.txt")
    assert "206797912902017" in text
    write, rewrite, *_ = measured(read, text)
    assert (write.rate_bytes_per_s, rewrite.rate_bytes_per_s) == (2067979 * KIB, 12902017 * KIB)


def test_a_row_of_auto_mode_has_its_own_sizes() -> None:
    all_cases = cases(read, sample("iozone/iozone-3.465-auto-excel.txt"))
    assert len(all_cases) == 15
    assert {len(case.measured) for case in all_cases} == {13}
    assert [m.transfer_bytes for m in all_cases[0].measured][:2] == [4 * KIB, 4 * KIB]


def test_microseconds_of_auto_mode_are_turned_into_rates() -> None:
    write = measured(read, sample("iozone/iozone-3.465-microseconds.txt"))[0]
    assert write.rate_operations_per_s == pytest.approx(1e6 / 15)


@given(st.lists(st.integers(1, 10**12), min_size=4, max_size=4))
def test_a_row_is_read_as_it_was_printed_or_refused_whatever_its_numbers(numbers: list[int]) -> None:
    text = auto(cells(4096, 64, *numbers))
    if max(numbers) < 10**9:
        assert [m.rate_bytes_per_s for m in measured(read, text)] == [number * KIB for number in numbers]
    else:
        assert refused(read, text).line == text.splitlines().index(cells(4096, 64, *numbers)) + 1


def test_a_slightly_shifted_row_is_read() -> None:
    assert len(measured(read, auto(" " + cells(4096, 64, 1, 2, 3, 4)))) == 4


def test_a_row_without_a_number_is_not_shifted() -> None:
    assert "were requested" in refused(read, auto(cells(4096, 64, 1, 3, 4))).reason


def test_a_test_that_was_not_run_is_left_out() -> None:
    assert [m.phase for m in measured(read, auto(cells(4096, 64, 1, 0, 3, 4)))] == ["write", "read", "reread"]


def test_a_table_without_its_unit_or_with_other_columns_is_refused() -> None:
    text = auto(cells(4096, 64, 1, 2, 3, 4))
    assert "unit" in refused(read, text.replace("Output is in kBytes/sec", "")).reason
    assert refused(read, text.replace("rewrite    read", "rewrite", 1)).line == text.splitlines().index(HEADER) + 1


def test_an_incomplete_test_is_refused_with_its_line() -> None:
    assert refused(read, EXCERPT + EXCERPT[:200]).line == 7


def test_numbers_that_do_not_add_up_are_refused() -> None:
    assert "add up" in refused(read, EXCERPT.replace("4732581.09", "732581.09")).reason


@pytest.mark.parametrize(
    "text", ["", "iozone test complete.\n", "write 12 34\n", "\tIozone: Performance Test of File I/O"]
)
def test_foreign_files_are_refused(text: str) -> None:
    assert refused(read, text).reason


INTERRUPTED = "\niozone: interrupted\n\nexiting iozone\n\n"


def kinds(measurements: list[Measurement]) -> set[str]:
    """The kinds of doubts of all measurements."""
    return {doubt.kind for measurement in measurements for doubt in measurement.doubts}


def test_complete_rows_of_an_interrupted_table_are_read_and_doubted() -> None:
    text = sample("iozone/iozone-3.414-auto.txt")
    expected = measured(read, text)
    head, _, row = text.partition("\niozone test complete")[0].rstrip("\n").rpartition("\n")
    for cut in (row[:48], row[:40], row[:33], row[:20]):
        measurements = measured(read, f"{head}\n{cut}{INTERRUPTED}")
        assert [(measurement.line, measurement.rate_bytes_per_s) for measurement in measurements] == [
            (measurement.line, measurement.rate_bytes_per_s)
            for measurement in expected
            if measurement.line < expected[-1].line
        ]
        assert "interrupted" in kinds(measurements)
    assert "interrupted" not in kinds(expected)


def test_complete_tests_of_interrupted_throughput_are_read_and_doubted() -> None:
    text = sample("iozone/iozone-3.465-throughput.txt")
    expected = measured(read, text)
    lines = text.splitlines(keepends=True)
    end = next(number for number in range(len(lines) - 1, 0, -1) if "Max throughput" in lines[number])
    measurements = measured(read, "".join(lines[:end]) + INTERRUPTED)
    assert [measurement.phase for measurement in measurements] == [measurement.phase for measurement in expected][:-1]
    assert kinds(measurements) >= {"interrupted"}


def test_an_interruption_before_the_first_result_is_named() -> None:
    text = sample("iozone/iozone-3.414-auto.txt")
    head = text[: text.index("reclen")] + text[text.index("reclen") :].splitlines(keepends=True)[0]
    assert "was interrupted" in refused(read, f"{head}              64      16 206797{INTERRUPTED}").reason


@given(damages([*samples("iozone"), EXCERPT]))
def test_damage_changes_no_number(texts: tuple[str, str]) -> None:
    assert_same_or_refused(read, *texts)

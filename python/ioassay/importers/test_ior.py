"""IOR's forms of 2.10 to 4.1, each as that version printed it, also damaged."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.importers import ior
from ioassay.importers.model import Case
from ioassay.importers.source import Refused, Source
from ioassay.testing.importer_samples import FILES, beside_of, cases, changed, numbers, printed, read_or_refused

MIB = 1 << 20
JSON = sorted(path.name for path in (FILES / "ior").glob("*.json"))
TEXTS = sorted(path.name for path in (FILES / "ior").glob("*.txt") if "unix-clock" not in path.name)


def _cases(name: str) -> list[Case]:
    source = printed(f"ior/{name}")
    return ior.read(source, beside_of(source))


def test_ior_2_10_without_v_has_only_a_mean_and_says_so() -> None:
    (case,) = _cases("2.10.3-plain.txt")
    write, read = case.measured
    assert (case.tool_version, case.clients, case.ranks) == ("2.10.3", 1, 4)
    assert write.rate_bytes_per_s == pytest.approx(6287.47 * MIB)
    assert write.summarised is not None
    assert write.summarised.repetitions == 2
    assert write.summarised.highest == pytest.approx(6889.23 * MIB)
    assert {doubt.kind for doubt in write.doubts} == {"mean-only", "unsynced-write", "short-phase"}
    assert "may-be-cached" in {doubt.kind for doubt in read.doubts}
    assert (write.layout, write.order, write.transfer_bytes, write.bytes) == ("N-N", "sequential", 1 << 18, 16 * MIB)


def test_ior_2_10_with_v_has_a_case_for_every_iteration() -> None:
    cases = _cases("2.10.3-verbose2.txt")
    assert [case.measured[0].rate_bytes_per_s for case in cases] == [4393 * MIB, 4472 * MIB, 4345 * MIB]
    assert {case.measured[0].layout for case in cases} == {"N-1"}
    assert {case.amount for case in cases} == {"blocks of 4 MiB, 2 segments"}


OLD_ROWS = """IOR-2.10.0.1: MPI Coordinated Test of Parallel I/O

Run began: Fri Sep 29 11:43:56 2006
Command line used: IOR -w -r -k -i 2 -o test
Machine: Linux node001

Summary:
\tapi                = POSIX
\ttest filename      = test
\taccess             = single-shared-file
\tclients            = 10 (1 per node)
\trepetitions        = 2
\txfersize           = 262144 bytes
\tblocksize          = 1 MiB
\taggregate filesize = 10 MiB

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   ----
write     173.89     1024.00    256.00     0.000065   0.057410   0.000192   0
read      278.49     1024.00    256.00     0.000009   0.035906   0.000042   0
write     175.02     1024.00    256.00     0.000065   0.057036   0.000192   1
read      277.10     1024.00    256.00     0.000009   0.036085   0.000042   1

Max Write: 175.02 MiB/sec (183.52 MB/sec)
Max Read:  278.49 MiB/sec (292.02 MB/sec)

Run finished: Fri Sep 29 11:43:57 2006
"""
"""The columns of 2.10.0.1, written by hand: its program is no longer available."""


def test_rows_without_a_total_have_a_time_from_amount_and_rate() -> None:
    first, second = cases(ior.read, OLD_ROWS)
    write, read = first.measured
    assert (first.tool_version, first.clients, first.ranks) == ("2.10.0.1", 10, 10)
    assert (write.bytes, write.rate_bytes_per_s) == (10 * MIB, 173.89 * MIB)
    assert write.duration_ns == round(10 / 173.89 * 1e9)
    assert read.duration_ns == round(10 / 278.49 * 1e9)
    assert [measurement.rate_bytes_per_s for measurement in second.measured] == [175.02 * MIB, 277.10 * MIB]
    assert "does-not-add-up" not in {doubt.kind for measurement in first.measured for doubt in measurement.doubts}


@pytest.mark.parametrize("rate", ["73.89 ", "973.89"])
def test_a_rate_that_contradicts_the_times_of_its_parts_is_doubted(rate: str) -> None:
    first, _ = cases(ior.read, OLD_ROWS.replace("173.89", rate))
    assert "does-not-add-up" in {doubt.kind for doubt in first.measured[0].doubts}


def test_rows_without_a_total_have_neither_amount_nor_time_after_a_stonewall() -> None:
    first, _ = cases(ior.read, OLD_ROWS.replace("= 10 MiB", "= 10 MiB\n\tUsing stonewalling = 1 second(s)"))
    assert (first.measured[0].bytes, first.measured[0].duration_ns) == (None, None)
    assert first.measured[0].rate_bytes_per_s == 173.89 * MIB


def test_bytes_after_a_stonewall_are_the_moved_bytes() -> None:
    ((write,),) = (case.measured for case in _cases("3.0.1-stonewall.txt"))
    assert write.bytes == 2_244_554_752
    assert write.file_set_bytes is None  # nobody has asked for that much
    assert write.rate_bytes_per_s == pytest.approx(1092.90 * MIB)


def test_tasks_come_from_the_summary_in_versions_without_a_line_for_them() -> None:
    cases = _cases("3.2.1-plain.txt")
    assert [(case.clients, case.ranks) for case in cases] == [(1, 4), (1, 4)]


def test_every_test_of_a_script_has_its_own_cases() -> None:
    cases = _cases("3.3.0-script.txt")
    assert [case.measured[0].layout for case in cases] == ["N-1", "N-N", "N-N", "N-N"]
    assert [case.measured[0].bytes for case in cases] == [16 * MIB, 16 * MIB, 32 * MIB, 32 * MIB]


def test_both_the_stonewall_and_the_finish_are_kept_with_wear_out() -> None:
    ((write,),) = (case.measured for case in _cases("4.0.0-wearout.txt"))
    wall = write.stonewall
    assert wall is not None
    assert (wall.least_operations, wall.most_operations, wall.at_ns) == (43319, 47557, 1_010_000_000)
    assert wall.bytes == round(711.40 * MIB * 4)
    assert write.duration_ns == 1_258_710_000  # of the summary, which has more digits than the row
    assert (write.bytes, write.file_set_bytes) == (3_116_695_552, None)


def test_a_read_after_a_stonewall_has_no_requested_amount() -> None:
    ((read,),) = (case.measured for case in _cases("4.0.0-after-wall.txt"))
    assert (read.bytes, read.file_set_bytes) == (2_634_704_384, None)


def test_a_stonewall_after_the_end_cuts_nothing() -> None:
    cut = printed("ior/3.0.1-stonewall.txt")
    uncut = changed(cut, cut.text.replace("2244554752", str(16 << 30)))
    ((write,),) = (case.measured for case in ior.read(uncut, beside_of(uncut)))
    assert write.bytes == write.file_set_bytes == 16 << 30


def test_results_by_rank_come_from_the_file_in_the_command_line() -> None:
    first, second = _cases("4.0.0-withranks.txt")
    each = first.measured[0].each
    assert each is not None
    assert each["bytes"].to_list() == [4 * MIB] * 4
    assert first.measured[0].finish_spread_ns == 838_041 - 806_808
    assert second.measured[1].each is not None


def test_a_table_by_rank_alone_has_the_total_until_the_slowest_rank() -> None:
    first, _ = _cases("4.0.0-ranks.csv")
    write = first.measured[0]
    assert (first.ranks, first.clients, write.bytes, write.duration_ns) == (4, None, 16 * MIB, 838_041)


def test_a_rank_that_ran_for_longer_than_64_bits_of_nanoseconds_is_refused_with_its_line() -> None:
    source = Source.read(FILES / "ior" / "4.0.0-ranks.csv")
    lines = source.text.splitlines(keepends=True)
    columns = lines[0].strip().split(",")
    cells = lines[2].split(",")
    cells[columns.index("runtime-with-openclose")] = "19060000000"
    long = changed(source, "".join([*lines[:2], ",".join(cells), *lines[3:]]))
    with pytest.raises(Refused, match="has a number that is too large") as refused:
        ior.read(long, beside_of(long))
    assert refused.value.line == 3


def test_a_stonewall_that_is_no_number_is_refused_with_its_line() -> None:
    source = Source.read(FILES / "ior" / "4.0.0-wearout.txt")
    index, header = next((index, line.split()) for index, line in enumerate(source.lines) if "Stonewall(MiB)" in line)
    words = source.lines[index + 1].split()
    words[header.index("Stonewall(MiB)")] = "~"
    odd = changed(source, "\n".join([*source.lines[: index + 1], " ".join(words), *source.lines[index + 2 :]]))
    with pytest.raises(Refused, match="has '~' where a number should be") as refused:
        ior.read(odd, beside_of(odd))
    assert refused.value.line == index + 2


def test_json_and_csv_have_the_same_rates_within_their_digits() -> None:
    in_json, in_csv = _cases("4.0.0.json"), _cases("4.0.0.csv")
    assert len(in_json) == len(in_csv) == 2
    assert in_json[0].measured[0].layout == "N-N"
    assert in_csv[0].measured[0].rate_bytes_per_s == pytest.approx(8076.6475 * MIB)
    assert (in_csv[0].clients, in_csv[0].ranks) == (None, 4)


def test_the_csv_without_separators_is_refused_with_its_line() -> None:
    with pytest.raises(Refused, match="neither separators nor rates") as caught:
        _cases("3.2.1.csv")
    assert caught.value.line == 2


@pytest.mark.parametrize("name", ["mdtest/1.9-plain.txt", "io500/script-2019/result_summary.txt"])
def test_foreign_files_are_refused(name: str) -> None:
    source = printed(name)
    with pytest.raises(Refused, match="is not output of IOR"):
        ior.read(source, beside_of(source))


def test_a_row_that_lacks_a_column_is_refused_with_its_line() -> None:
    source = printed("ior/3.2.1-plain.txt")
    index = next(number for number, line in enumerate(source.lines) if line.startswith("write "))
    lines = [*source.lines]
    lines[index] = " ".join(lines[index].split()[:3] + lines[index].split()[4:])
    with pytest.raises(Refused, match="8 columns under a header of 9") as caught:
        ior.read(changed(source, "\n".join(lines)), lambda _: None)
    assert caught.value.line == index + 1


def test_a_rate_that_contradicts_amount_and_time_is_doubted() -> None:
    source = printed("ior/2.10.3-verbose2.txt")
    text = source.text.replace("write     4472 ", "write     9472 ")
    cases = ior.read(changed(source, text), lambda _: None)
    assert "does-not-add-up" in {doubt.kind for doubt in cases[1].measured[0].doubts}
    assert "does-not-add-up" not in {doubt.kind for doubt in cases[0].measured[0].doubts}


@pytest.mark.parametrize("name", TEXTS)
def test_other_output_between_the_lines_changes_nothing(name: str) -> None:
    source = printed(f"ior/{name}")
    noise = "[node001:1234] mca_base: a component was not found\n\n"
    noisy = noise + "".join(f"{line}\n{noise}" for line in source.lines)
    expected = [row[1:] for row in numbers(ior.read(source, lambda _: None))]
    assert [row[1:] for row in numbers(ior.read(changed(source, noisy), lambda _: None))] == expected


@given(data=st.data())
def test_a_truncated_file_is_refused_or_has_no_other_number(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*TEXTS, "4.0.0.json", "4.0.0.csv"]))
    source = Source.read(FILES / "ior" / name)
    intact = read_or_refused(ior.read, source) or []
    cut = source.text[: data.draw(st.integers(0, len(source.text)))]
    # The summary has more digits than the rows, and may be what is cut off.
    rows = read_or_refused(ior.read, changed(source, source.text.partition("Summary of all tests:")[0])) or []
    truncated = read_or_refused(ior.read, changed(source, cut))
    assert truncated is None or set(truncated) <= {*intact, *rows}


@given(data=st.data())
def test_a_table_by_rank_that_lacks_lines_of_one_access_is_refused(data: st.DataObject) -> None:
    source = Source.read(FILES / "ior" / "4.0.0-ranks.csv")
    cut = source.text[: data.draw(st.integers(0, len(source.text) - 1))]
    # With nothing but whole rows of the first access, the cut is undetectable.
    assert read_or_refused(ior.read, changed(source, cut)) is None or cut.count("\n") in (2, 3, 4, 5, 9, 13)


@given(data=st.data())
def test_a_line_with_a_missing_or_repeated_word_never_becomes_another_number(data: st.DataObject) -> None:
    source = Source.read(FILES / "ior" / data.draw(st.sampled_from(TEXTS)))
    rows = [index for index, line in enumerate(source.lines) if line.startswith(("write", "read"))]
    index = data.draw(st.sampled_from(rows))
    words = source.lines[index].split()
    # The word at its front says what the row is; without it, it is none.
    place = data.draw(st.integers(1, len(words) - 1))
    words[place : place + 1] = data.draw(st.sampled_from([[], [words[place]] * 2]))
    lines = [*source.lines]
    lines[index] = " ".join(words)
    # `XXCEL` at the end of 2.10's rows is no number.
    intact = read_or_refused(ior.read, source)
    assert read_or_refused(ior.read, changed(source, "\n".join(lines))) in (None, intact)


def test_facts_are_stored_beside_the_settings() -> None:
    cases = _cases("3.2.1-plain.txt")
    facts = [{fact.name: fact.value for fact in case.facts} for case in cases]
    assert facts[0]["machine"].startswith("Linux node001")
    assert facts[0] == facts[1]
    assert not {fact.name for case in cases for fact in case.facts} & {setting.name for setting in cases[0].settings}


def test_mpi_io_hints_in_effect_are_facts() -> None:
    source = printed("ior/4.0.0-wearout.txt")
    hints = (
        "\nhints passed to MPI_File_open() {\n\tromio_ds_write = disable\n}\n"
        "\nhints returned from opened file {\n\tcb_nodes = 4\n\tromio_ds_write = disable\n"
        "\tromio_aggregator_list = 0 1 2 3\n\tstriping_factor = 8\n}\n"
    )
    before, row, after = source.text.partition("stonewalling pairs accessed")
    (case,) = ior.read(changed(source, before + hints + row + after), lambda _: None)
    assert "cb_nodes = 4, romio_ds_write = disable, striping_factor = 8" in [fact.value for fact in case.facts]
    (plain,) = ior.read(source, lambda _: None)
    assert [measurement.rate_bytes_per_s for measurement in case.measured] == [
        measurement.rate_bytes_per_s for measurement in plain.measured
    ]


def test_several_json_documents_in_a_file_are_several_executions() -> None:
    source = printed("ior/4.0.0.json")
    once = ior.read(source, lambda _: None)
    twice = ior.read(changed(source, source.text + source.text), lambda _: None)
    assert numbers(twice[: len(once)]) == numbers(once)
    assert [case.measured[0].line - len(source.lines) + 1 for case in twice[len(once) :]] == [
        case.measured[0].line for case in once
    ]


def test_unix_times_as_durations_are_refused_with_the_reason() -> None:
    with pytest.raises(Refused, match="the Unix clock and no duration") as error:
        _cases("ior-4.1-times-are-the-unix-clock.txt")
    assert error.value.line == 35


def test_a_banner_and_other_lines_before_the_json_change_nothing() -> None:
    source = printed("ior/ior-banner-before-json.json")
    (case,) = ior.read(source, beside_of(source))
    assert [measurement.rate_bytes_per_s for measurement in case.measured] == [3398.3043 * MIB, 3908.0401 * MIB]
    (plain,) = ior.read(changed(source, source.text.partition("\n")[2]), beside_of(source))
    assert [measurement.rate_bytes_per_s for measurement in plain.measured] == [
        measurement.rate_bytes_per_s for measurement in case.measured
    ]
    assert case.tool_version == plain.tool_version == "4.1.0+dev"


@pytest.mark.parametrize(
    ("name", "version", "rates"),
    [
        ("4.0.0-verbose2.json", "4.0.0", [(5289.1602, 26630.5016), (9950.8992, 45590.2609)]),
        ("3.2.1-verbose-two-ranks-at-once.json", "3.2.1", [(6103.3107, 24067.6783), (11278.1531, 39946.4717)]),
    ],
)
def test_json_with_verbose_lines_inside_has_every_iteration(
    name: str, version: str, rates: list[tuple[float, float]]
) -> None:
    all_cases = _cases(name)
    assert [tuple(measurement.rate_bytes_per_s for measurement in case.measured) for case in all_cases] == [
        (write * MIB, read * MIB) for write, read in rates
    ]
    assert {(case.tool_version, case.clients, case.ranks, case.measured[0].layout) for case in all_cases} == {
        (version, 1, 2, "N-N")
    }


@pytest.mark.parametrize("name", JSON)
def test_json_without_its_last_brackets_is_read_if_it_has_every_iteration(name: str) -> None:
    source = printed(f"ior/{name}")
    expected = [row[3] for row in numbers(ior.read(source, lambda _: None))]
    lines = source.text.splitlines(keepends=True)
    last = max(index for index, line in enumerate(lines) if '"access": "' in line and '"remove"' not in line)
    end = next(index for index in range(last, len(lines)) if lines[index].strip() == "}") + 1
    for length in range(last, len(lines)):
        rows = read_or_refused(ior.read, changed(source, "".join(lines[:length])))
        if length >= end:
            assert rows is not None, lines[length - 1]
            assert [row[3] for row in rows] == pytest.approx(expected)
        else:
            assert rows is None, "the last iteration was cut off"


@given(data=st.data())
def test_json_with_a_missing_or_repeated_line_or_word_never_has_another_number(data: st.DataObject) -> None:
    source = printed(f"ior/{data.draw(st.sampled_from(JSON))}")
    expected = {row[3] for row in numbers(ior.read(source, lambda _: None))}
    pattern = data.draw(st.sampled_from([r".*\n", r"\S+\s*"]))
    parts = re.findall(pattern, source.text)
    parts[data.draw(st.integers(0, len(parts) - 1))] *= data.draw(st.sampled_from([0, 2]))
    rows = read_or_refused(ior.read, changed(source, "".join(parts)))
    assert {row[3] for row in rows or []} <= expected


@pytest.mark.parametrize("key", ["tests", "summary", "Results"])
def test_broken_json_with_a_text_in_place_of_a_list_is_refused_with_its_line(key: str) -> None:
    source = printed("ior/4.0.0.json")
    head, brace, rest = source.text.rstrip().removesuffix("}").partition("{")
    with pytest.raises(Refused, match=f"a text under '{key}'") as error:
        ior.read(changed(source, f'{head}{brace}\n"Version": "4.0.0",\n"{key}": "write",{rest}'), lambda _: None)
    assert error.value.line == head.count("\n") + 3


def test_text_after_the_end_of_the_json_changes_nothing() -> None:
    source = printed("ior/4.0.0.json")
    all_cases = ior.read(changed(source, source.text.rstrip() + " and more\n"), lambda _: None)
    assert numbers(all_cases) == numbers(ior.read(source, lambda _: None))


@pytest.mark.parametrize(("printed_as", "version"), [("(3.1)", "3.1"), ("1.3.2 (1320)", "1.3.2 (1320)"), ("", None)])
def test_the_version_of_the_api_has_no_brackets(printed_as: str, version: str | None) -> None:
    source = printed("ior/4.0.0-wearout.txt")
    key = "apiVersion          : "
    (case,) = ior.read(changed(source, source.text.replace(key, key + printed_as)), lambda _: None)
    assert next((fact.value for fact in case.facts if fact.name == "API version"), None) == version

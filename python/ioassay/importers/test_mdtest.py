"""mdtest's forms of 1.9 to 4.1, each as that version printed it, also damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.importers import mdtest
from ioassay.importers.model import Case, Measurement
from ioassay.importers.source import Refused, Source
from ioassay.testing.importer_samples import FILES, beside_of, changed, printed, read_or_refused


def _case(name: str) -> Case:
    source = printed(f"mdtest/{name}")
    (case,) = mdtest.read(source, beside_of(source))
    return case


def _phase(case: Case, name: str) -> Measurement:
    return next(measured for measured in case.measured if measured.phase == name)


def test_several_iterations_have_a_mean_and_say_so() -> None:
    case = _case("1.9-plain.txt")
    create = _phase(case, "file-creation")
    assert (case.clients, case.ranks, case.tool_version) == (1, 4, "1.9.4-rc1")
    assert (create.rate_operations_per_s, create.operations) == (1120.215, 2000)
    assert create.summarised is not None
    assert create.summarised.repetitions == 3
    assert create.summarised.standard_deviation is None  # until 3.3 it is of ranks
    assert "mean-only" in {doubt.kind for doubt in create.doubts}


def _cases(text: str) -> list[Case]:
    source = printed("mdtest/4.1.0-iterations.txt")
    return mdtest.read(changed(source, text), lambda _: None)


def test_iterations_are_repetitions_with_v() -> None:
    cases = _cases(printed("mdtest/4.1.0-iterations.txt").text)
    by_operation = {name: [_phase(case, name) for case in cases] for name in ("file-creation", "directory-creation")}
    assert len(cases) == 3
    # Rank 0 was the slowest in every iteration of the first: its row, times two ranks.
    assert [measurement.rate_operations_per_s for measurement in by_operation["file-creation"]] == [
        12500.812,
        5329.348,
        3226.946,
    ]
    # Of the second it was not in the last, which follows from the greatest, the least and the mean.
    rates = [measurement.rate_operations_per_s for measurement in by_operation["directory-creation"]]
    assert rates == pytest.approx([11252.4, 3539.325, 3 * 6120.998 - 11252.4 - 3539.325])
    assert {
        (measurement.operations, measurement.summarised)
        for measurements in by_operation.values()
        for measurement in measurements
    } == {(400, None)}
    assert not any(
        "mean-only" in {doubt.kind for doubt in measurement.doubts} for case in cases for measurement in case.measured
    )
    assert cases[0].started_unix_ns is not None
    assert cases[0].ended_unix_ns is None


def test_rows_of_rank_0_that_the_summary_contradicts_leave_the_mean() -> None:
    text = printed("mdtest/4.1.0-iterations.txt").text
    for changed_text in (
        text.replace("6120.998", "16120.998"),  # no third iteration gives this mean
        "".join(line for line in text.splitlines(keepends=True) if " 1435 " not in line or "6250.406" not in line),
    ):
        assert changed_text != text
        (case,) = _cases(changed_text)
        assert "mean-only" in {doubt.kind for doubt in _phase(case, "file-creation").doubts}


@given(st.lists(st.integers(100_000, 10**9), min_size=2, max_size=3), st.data())
def test_iterations_are_found_for_any_slowest_rank(rates: list[int], data: st.DataObject) -> None:
    thousandths = [rate / 1000 for rate in rates]
    # Rank 0 is as fast as all together, or faster, but keeps the order.
    first = sorted(data.draw(st.lists(st.floats(1, 1.001), min_size=len(rates), max_size=len(rates))))
    ranks = sorted(range(len(rates)), key=lambda iteration: rates[iteration])
    rows = {iteration: thousandths[iteration] / 2 * first[place] for place, iteration in enumerate(ranks)}
    numbers = max(thousandths), min(thousandths), sum(thousandths) / len(rates)
    text = "mdtest-4.1.0 was launched with 2 total task(s) on 1 node(s)\nCommand line used: mdtest '-v'\n"
    text += "2 tasks, 400 files\n"
    text += "".join(
        f"   File stat         :          0.001 sec, {rows[iteration]:14.3f} ops/sec\n"
        for iteration in range(len(rates))
    )
    text += f"SUMMARY rate: (of {len(rates)} iterations)\n   File stat  "
    text += "  ".join(f"{number:.3f}" for number in numbers) + "  0.000\n-- finished at 11/24/2026 04:56:36 --\n"
    parsed_rates = [_phase(case, "file-stat").rate_operations_per_s or 0 for case in _cases(text)]
    assert sorted(parsed_rates) == pytest.approx(sorted(thousandths), abs=0.01)


def test_files_with_bytes_have_both_rates() -> None:
    create = _phase(_case("3.2.1-files.txt"), "file-creation")
    assert create.transfer_bytes == 3901
    assert create.bytes == create.file_set_bytes == 3901 * 2000
    assert create.rate_bytes_per_s == pytest.approx(3901 * (create.rate_operations_per_s or 0))
    assert create.layout == "unique"


def test_operations_that_did_not_run_are_not_measurements() -> None:
    assert "file-read" not in {measured.phase for measured in _case("3.3.0-stone.txt").measured}


def test_totals_of_file_creation_at_its_stonewall_are_kept() -> None:
    case = _case("3.3.0-stone.txt")
    wall = _phase(case, "file-creation").stonewall
    assert wall is not None
    assert (wall.least_operations, wall.most_operations, wall.rate_operations_per_s) == (179, 235, 823.224)
    # 400,000 files were announced; the stonewall came long before.
    assert _phase(case, "file-stat").operations is None
    assert {measured.file_set_bytes for measured in case.measured} == {None}


def test_the_announced_count_of_a_tree_is_ignored() -> None:
    assert _phase(_case("4.0.0-tree.txt"), "file-creation").operations is None


def test_accesses_to_a_nodes_own_files_are_doubted() -> None:
    doubts = _phase(_case("4.0.0-tree.txt"), "file-stat").doubts
    assert "attributes-cached" in {doubt.kind for doubt in doubts}


def test_a_table_by_rank_alone_has_the_totals_of_the_first_iteration() -> None:
    case = _case("4.0.0-csv.csv")
    create = _phase(case, "file-creation")
    assert (case.ranks, create.operations) == (4, 1200)
    assert create.rate_operations_per_s == pytest.approx(815.88520078)
    assert create.each is not None
    assert create.each["operations"].to_list() == [300] * 4


def test_a_table_without_its_row_for_all_is_refused() -> None:
    source = printed("mdtest/4.0.0-csv.csv")
    with pytest.raises(Refused, match="no row for all ranks"):
        mdtest.read(changed(source, f"{source.lines[0]}\n{source.lines[2]}\n"), lambda _: None)


def test_a_table_with_a_row_too_long_names_its_line() -> None:
    source = printed("mdtest/4.0.0-csv.csv")
    lines = [*source.lines]
    lines[3] += ",1,2,3,4,5,6,7,8,9,10"
    with pytest.raises(Refused) as caught:
        mdtest.read(changed(source, "\n".join(lines)), lambda _: None)
    assert caught.value.line == 4


def test_output_without_its_last_line_was_cut_off() -> None:
    source = printed("mdtest/1.9-plain.txt")
    with pytest.raises(Refused, match="was cut off"):
        mdtest.read(changed(source, source.text.split("-- finished")[0]), lambda _: None)


@given(data=st.data())
def test_a_truncated_file_is_refused_or_has_no_other_number(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(path.name for path in (FILES / "mdtest").glob("*.txt"))))
    source = Source.read(FILES / "mdtest" / name)
    intact = read_or_refused(mdtest.read, source) or []
    truncated = read_or_refused(
        mdtest.read, changed(source, source.text[: data.draw(st.integers(0, len(source.text)))])
    )
    assert truncated is None or set(truncated) <= set(intact)


@given(data=st.data())
def test_a_line_that_lacks_a_number_never_becomes_another_number(data: st.DataObject) -> None:
    source = Source.read(FILES / "mdtest" / "1.9-plain.txt")
    rows = [
        index for index, line in enumerate(source.lines) if line.strip().startswith(("File ", "Directory ", "Tree "))
    ]
    index = data.draw(st.sampled_from(rows))
    words = source.lines[index].split()
    lines = [*source.lines]
    lines[index] = "   " + " ".join(words[:-1])
    assert read_or_refused(mdtest.read, changed(source, "\n".join(lines))) is None

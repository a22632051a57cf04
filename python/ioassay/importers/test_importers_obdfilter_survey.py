"""Rows of obdfilter-survey's summary become points of a sweep, or are refused with their line."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.importers import IMPORTERS
from ioassay.importers.obdfilter_survey import read
from ioassay.importers.stored import run
from ioassay.testing.importer_samples import assert_same_or_refused, cases, damages, measured, refused, sample, samples

MIB = 1 << 20
HEAD = "Thu Jan 17 10:32:22 UTC 2013 Obdfilter-survey for case=disk from node001\n"
ROW = "ost  8 sz 67108864K rsz 1024 obj    8 thr    8 write  613.54 [ 64.00, 82.00] rewrite  600.00 [ 60.00, 80.00] \n"
TESTS = ["write", "rewrite", "read", "reread"]


def test_a_row_is_a_point_and_each_of_its_tests_a_phase() -> None:
    (case,) = cases(read, HEAD + ROW)
    assert (case.clients, case.ranks, [fact.value for fact in case.facts]) == (1, 8, ["node001"])
    assert [setting.value for setting in case.settings] == ["case=disk", "8 targets", "records of 1 MiB"]
    assert [(m.phase, m.operation, m.rate_bytes_per_s) for m in case.measured] == [
        ("write", "write", 613.54 * MIB),
        ("rewrite", "write", 600 * MIB),
    ]
    assert {(m.bytes, m.files, m.transfer_bytes, m.layout) for m in case.measured} == {(64 << 30, 8, MIB, "N-N")}


def test_the_time_in_the_header_is_the_beginning() -> None:
    assert cases(read, HEAD + ROW)[0].started_unix_ns == 1358418742 * 10**9
    assert cases(read, ROW)[0].started_unix_ns is None


def test_rows_with_other_objects_are_points_and_equal_rows_repetitions(tmp_path: Path) -> None:
    place = tmp_path / "survey.summary"
    place.write_text(HEAD + ROW + ROW.replace("obj    8", "obj   16") + ROW)
    (gathered,) = IMPORTERS["obdfilter-survey"].gather([place])
    document, _ = run(gathered, ["ioassay"])
    assert [(case.point["groups"], case.repetition) for case in document.cases] == [(8, 1), (16, 1), (8, 2)]
    assert len({case.id for case in document.cases}) == 3


def test_the_time_follows_from_amount_and_rate() -> None:
    assert measured(read, ROW)[1].duration_ns == pytest.approx(65536 / 600 * 1e9)


@pytest.mark.parametrize("name", ["disk", "netdisk", "network"])
def test_the_case_distinguishes_results(name: str) -> None:
    (case,) = cases(read, HEAD.replace("case=disk", f"case={name}") + ROW)
    assert case.settings[0].value == f"case={name}"


def test_a_failed_test_is_invalid_and_a_short_one_doubted() -> None:
    row = "ost  1 sz 1048576K rsz 1024 obj 1 thr 1 write  101.40             ERROR read  103.00             SHORT \n"
    assert [[(d.kind, d.invalidates) for d in m.doubts] for m in measured(read, row)] == [
        [("test-failed", True)],
        [("short-phase", False)],
    ]


def test_a_row_that_was_skipped_is_left_out() -> None:
    skipped = "ost  8 sz 67108864K rsz 1024 obj  128 thr 2048 Too much buffer space\n"
    assert measured(read, ROW + skipped) == measured(read, ROW)
    assert "no row" in refused(read, skipped).reason


def test_a_test_that_ran_twice_has_two_names() -> None:
    row = ROW.replace("rewrite", "write")
    assert [m.phase for m in measured(read, row)] == ["write", "write-2"]


def test_the_record_size_may_have_its_unit() -> None:
    assert measured(read, ROW.replace("rsz 1024 ", "rsz 1024K ")) == measured(read, ROW)


@pytest.mark.parametrize("objects", [1, 4, 8])
def test_the_layout_follows_from_threads_and_objects(objects: int) -> None:
    row = ROW.replace("obj    8", f"obj {objects:4}")
    assert measured(read, row)[0].layout == {1: "N-1", 4: "N-M", 8: "N-N"}[objects]


def test_output_of_our_front_end_is_read() -> None:
    all_cases = cases(read, sample("obdfilter-survey/ioassay-engine.summary"))
    assert [(case.ranks, case.measured[0].files) for case in all_cases] == [(2, 2), (4, 2), (8, 2), (4, 4), (8, 4)]
    assert {m.bytes for case in all_cases for m in case.measured} == {128 * MIB}


def test_a_row_that_does_not_fit_is_refused_with_its_line() -> None:
    for broken in (
        "ost  8 sz 67108864K\n",
        ROW.replace("613.54", ""),
        ROW.replace(",", ""),
        ROW.replace("write", "", 1),
        re.sub(r"rsz +\d+", f"rsz {2**63}", ROW),
    ):
        assert refused(read, HEAD + ROW + broken).line == 3


@pytest.mark.parametrize("text", ["", HEAD, "=======================> ost  8 sz 67108864K\n", "procs -----memory\n"])
def test_foreign_files_are_refused(text: str) -> None:
    assert refused(read, text).reason


@given(st.lists(st.tuples(st.sampled_from(TESTS), st.floats(0.01, 1e7)), min_size=1, max_size=4))
def test_rows_are_read_as_the_survey_prints_them(tests: list[tuple[str, float]]) -> None:
    cells = "".join(f"{name} {rate:7.2f} [{rate / 2:7.2f},{rate:7.2f}] " for name, rate in tests)
    row = f"ost {1:2} sz {1048576:8}K rsz {1024:4} obj {1:4} thr {1:4} {cells}\n"
    assert [m.rate_bytes_per_s for m in measured(read, row)] == [round(rate, 2) * MIB for _, rate in tests]


@given(damages([*samples("obdfilter-survey"), HEAD + ROW]))
def test_damage_changes_no_number(texts: tuple[str, str]) -> None:
    assert_same_or_refused(read, *texts)

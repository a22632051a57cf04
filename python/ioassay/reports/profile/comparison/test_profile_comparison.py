"""The comparison of two profiles in every format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.profiles.darshan import profile as darshan
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.reports.profile.comparison import ProfileComparisonReport
from ioassay.reports.profile.comparison.content import Content, Side, assemble
from ioassay.reports.profile.comparison.document import document
from ioassay.reports.profile.comparison.document import terminal as blocks
from ioassay.reports.profile.comparison.wording import distances
from ioassay.reports.profile.content import assemble as assemble_one
from ioassay.testing.faulty_application import calm, faulty
from ioassay.testing.record_tables import TableBuilder, store_record
from ioassay.testing.terminal_text import terminal_text


def compared(before: Profile, after: Profile) -> Content:
    return assemble(Side("before", assemble_one(before)), Side("after", assemble_one(after)))


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    folder = tmp_path_factory.mktemp("records")
    before, after = (store_record(folder / name, *tables) for name, tables in (("b", faulty()), ("a", calm())))
    return compared(load_profile([before]), load_profile([after]))


@pytest.fixture(scope="module")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> Content:
    folder = tmp_path_factory.mktemp("unlike")
    table = TableBuilder()
    table.file("/a", {"open": 3, "close": 3}, inode=1, ns=1000)
    log = folder / "log.txt"
    log.write_bytes(gzip.decompress((Path(darshan.__file__).parent / "testdata" / "mpi.txt.gz").read_bytes()))
    return compared(load_profile([store_record(folder / "r", table)]), darshan.load_profile([log]))


def markdown(content: Content) -> str:
    return reports.build(ProfileComparisonReport(content), "md").decode()


def terminal(content: Content) -> str:
    return terminal_text(blocks(content), 160)


def test_changes_are_reported_with_both_values_and_the_ratio(content: Content) -> None:
    text = markdown(content)
    for part in (
        "- Time in I/O fell from 15.6 min to 518 s (0.555 times).",
        "- Duration is the same: 10.0 min.",
        "- Metadata: time fell from 208 s to 48.0 ms (0.000231 times); 0.00107 times the calls (89,336 to 96).",
        "- Read: none any more; 28,000 calls, 4000 MiB, 40.0 s.",
        "| Median size | 1000 B | 4 MiB | – |",
        "| Misaligned | 68 % | 0 % | – |",
        "| Write: period | 100 s | 100 s | 1.00 |",
        "| time in I/O | 22 % of 8 ranks | 0 % of 8 ranks | 0 |",
        "| Write | 0.68 | 0.17 |",
        "### Gone",
        "- I/O stalled: ",
        "8 of both unchanged.",
        "Only of before",
        "Each profile is a single observation",
    ):
        assert part in text, part


def test_different_conditions_come_before_everything_else(unlike: Content) -> None:
    text = markdown(unlike)
    for part in (
        "- Different sources: record and Darshan.",
        "- Different process counts: 1 and 4.",
        "- Not compared, because only one source counts it: close.",
    ):
        assert text.index(part) < text.index("## What changed"), part
    assert terminal(unlike).startswith("Different sources: record and Darshan.")


def test_amounts_unknown_to_a_source_have_no_ratio(unlike: Content) -> None:
    text = markdown(unlike)
    assert "| Time in I/O | 1.00 µs | 49.3 ms | – |" in text
    assert "Time in I/O rose" not in text
    assert "Darshan counts only calls that succeeded" in text


def test_one_of_something_has_no_plural(tmp_path: Path) -> None:
    table = TableBuilder()
    table.second("read", 0, 1, moved=10, ns=1000)
    table.transfers(table.file("/a", inode=1), "read", {10: 1}, ns=1000)
    paths = [store_record(tmp_path / name, *tables) for name, tables in (("b", [table]), ("a", [TableBuilder()]))]
    before, after = (load_profile([path]) for path in paths)
    assert "Read: none any more; 1 call, 10 B" in markdown(compared(before, after))
    assert "1 file only of before." in terminal(compared(before, after))


def test_the_terminal_shows_the_essentials(content: Content) -> None:
    text = terminal(content)
    assert "Gone: All 20,000 writes of MPI-IO are independent, none is collective." in text
    assert "Gone: 16 % of the bytes pass through streams" in text
    assert "18 files only of before." in text


def test_a_page_draws_both_over_one_another(content: Content) -> None:
    page = reports.build(ProfileComparisonReport(content), "html").decode()
    for identifier in ("over-time", "sizes"):
        assert f'id="figure-profiles-{identifier}' in page, identifier


def test_json_has_both_sides_and_ratios_in_base_units(content: Content) -> None:
    data = json.loads(reports.build(ProfileComparisonReport(content), "json"))
    assert (data["version"], data["reference"]["name"], data["other"]["name"]) == (1, "before", "after")
    write = next(direction for direction in data["directions"] if direction["class"] == "write")
    assert write["ratios"]["bytes"] == write["other"]["bytes"] / write["reference"]["bytes"]
    assert write["reference"]["sizes"]["p50"] == {"begin_bytes": 1000, "end_bytes": 1001}
    assert write["patterns"]["reference"]["misaligned"] == pytest.approx(20_000 / 29_216)
    assert {finding["change"] for finding in data["findings"]} == {"gone"}
    assert data["span_s"] == {"reference": 572, "other": 512, "ratio": pytest.approx(512 / 572)}
    assert len(data["files"]) == 8


def test_the_table_has_a_row_for_each_amount(content: Content) -> None:
    rows = list(csv.DictReader(io.StringIO(reports.build(ProfileComparisonReport(content), "csv").decode())))
    (calls,) = (row for row in rows if (row["class"], row["amount"]) == ("stat", "calls"))
    assert (float(calls["reference"]), float(calls["other"])) == (64_000, 0)
    of = [row["of"] for row in rows if (row["class"], row["amount"]) == ("write", "calls")]
    assert of == ["direction", "operation"]
    assert len({(row["of"], row["class"], row["amount"]) for row in rows}) == len(rows)


def test_an_operation_has_its_own_distance_where_it_is_not_that_of_its_direction(tmp_path: Path) -> None:
    def profile(name: str, *, streams: bool) -> Profile:
        table = TableBuilder()
        file = table.file("/a", inode=1)
        for operation in ("write", "stream write") if streams else ("write",):
            for second in (1, 2) if operation == "write" else (7, 8):
                table.second(operation, second, 1, moved=1000)
            table.transfers(file, operation, {1000: 2})
        return load_profile([store_record(tmp_path / name, table)])

    both = profile("both", streams=True)
    rows = {name: row for name, *row in distances(compared(profile("alone", streams=False), both))}
    assert rows["Write"] != rows["Write (operation)"]
    assert "Write (operation)" not in {name for name, *_ in distances(compared(both, both))}


def test_two_profiles_that_are_the_same_differ_in_nothing(content: Content) -> None:
    same = compared(content.reference.profile, content.reference.profile)
    text = markdown(same)
    assert "Time in I/O is the same" in text
    assert "### New" not in text
    assert "## Different conditions" not in text
    assert document(same).title == "I/O profiles: after against before"


def test_a_profile_against_itself_is_called_the_reference(content: Content) -> None:
    same = assemble(content.other, content.other)
    assert document(same).title == "I/O profiles: after against after (reference)"
    page = reports.build(ProfileComparisonReport(same), "html").decode()
    assert 'id="figure-profiles-over-time' in page

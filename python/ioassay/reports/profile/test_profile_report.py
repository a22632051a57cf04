"""The report of a profile in every format."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

from ioassay import reports
from ioassay.analysis.profile.maps import Range
from ioassay.profiles.darshan import profile as darshan
from ioassay.profiles.model import MAPS, REGIONS, Loss, LossKind
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import FileKind, State
from ioassay.reports.profile import ProfileReport
from ioassay.reports.profile.content import Content, assemble
from ioassay.reports.profile.document import document, terminal
from ioassay.reports.profile.pictures import pictures
from ioassay.reports.profile.wording import loss, opening, trust
from ioassay.testing.faulty_application import RANKS, calm, faulty
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record
from ioassay.testing.terminal_text import terminal_text
from ioassay.text.format import ABSENT


def content_of(path: Path, *tables: TableBuilder, **about: object) -> Content:
    return assemble(load_profile([store_record(path, *tables, **about)]))


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    return content_of(tmp_path_factory.mktemp("faulty") / "record", *faulty())


def markdown(content: Content) -> str:
    return reports.build(ProfileReport(content), "md").decode()


def test_findings_have_numbers_with_units_a_remedy_and_what_they_rest_on(content: Content) -> None:
    text = markdown(content)
    for part in (
        "**Warning:** All 20,000 writes of MPI-IO are independent, none is collective. 100 % of these requests are "
        "smaller than 1 MiB. 50 % of these requests go back in their file. 100 % of these requests do not begin at a "
        "multiple of 4 KiB. **Remedy:** Use MPI_File_write_all and its like where all ranks take part. Saves at most "
        "160 s of 15.6 min in I/O.",
        "Rests on: /scratch/climate/diagnostics.bin.",
        "I/O stalled: a call of write took 12.0 s, where the median is 8.39 ms. Such calls are in 8 steps of the time "
        "line (29,224 calls in all).",
        "8 processes read the same file whole: 2400 MiB for 300 MiB of data.",
        "8 ranks do not spend equally long in I/O: rank 3 spent 145 s, 24 % of its run time; the median is 113 s.",
        "Rests on: rank 3, process 1003 on node1.",
        "1 file is looked up again and again: 64,000 stats, up to 8000 of one file by each process.",
        "12,000 of 12,000 lookups fail, most in /home/user/lib (4,000), /opt/a (4,000), /opt/b (4,000). All 2 names "
        "are looked for in several directories. **Remedy:** Shorten search paths",
        "| Start-up | 12,000 calls, 48.0 s (5.1 % of the time in I/O): shared libraries |",
    ):
        assert part in text, part


def test_text_names_the_first_of_many_files_and_a_page_all(tmp_path: Path) -> None:
    table = TableBuilder()
    for index in range(60):
        file = table.file(f"/data/{index:02}", inode=1 + index, size=16 << 20)
        table.transfers(file, "write", {1000: 100}, ns=10**6, consecutive=99)
    content = content_of(tmp_path / "record", table)
    assert "Rests on: /data/00; /data/01; and 58 more." in markdown(content)
    page = reports.build(ProfileReport(content), "html").decode()
    assert "<summary>60 files</summary>" in page
    assert all(f"/data/{index:02}</code>" in page for index in range(60))


def test_a_region_whose_name_is_blank_is_unnamed(content: Content) -> None:
    usual = {"process": 0, "entries": 1, "stayed_ns": 10**6, "longest_ns": 10**6, "first_s": 0.0, "last_s": 1.0}
    rows = [usual | {"region": name} for name in ("", "epoch", "epoch >  ")]
    regions = assemble(replace(content.profile, regions=pl.DataFrame(rows, schema=REGIONS)))
    (table,) = re.findall(r"\| Region \|.*?\n\n", markdown(regions), re.DOTALL)
    names = [line.split("|")[1].replace("\N{NO-BREAK SPACE}", " ").strip() for line in table.strip().splitlines()[2:]]
    assert names[:3] == ["(unnamed)", "epoch", "(unnamed)"]


def test_one_of_something_is_singular_and_what_has_no_directory_has_words(tmp_path: Path) -> None:
    table = TableBuilder()
    table.thread(table.pid, kernel=(1, 1, 1, 1))
    again = table.file("/data/in", inode=1)
    table.transfers(again, "read", {4 << 20: 100}, consecutive=90, end=40 << 20)
    table.file("", {"open": 500}, {"open": 400}, kind=FileKind.OTHERS)
    killed = TableBuilder(7, state=State.RUNNING)
    content = content_of(tmp_path / "record", table, killed)
    text = markdown(content)
    for part in (
        "The file was read 10.0 times.",
        "The kernel's counters are unknown for 1 process: killed (process 7).",
    ):
        assert part in text, part
    assert "(no directory)" in content.directories["directory"]


@pytest.mark.parametrize(("verb", "doers"), [("read", "readers"), ("write", "writers")])
def test_the_remedy_of_unequal_bytes_is_that_of_their_direction(tmp_path: Path, verb: str, doers: str) -> None:
    tables = [TableBuilder(10 + index, command=["worker"]) for index in range(4)]
    for index, table in enumerate(tables):
        table.transfers(
            table.file(f"/data/{index}", inode=1 + index), verb, {4 << 20: 10 if index else 30}, consecutive=29
        )
    text = markdown(content_of(tmp_path / "record", *tables))
    assert f"workers of one command do not {verb} equally much" in text
    assert f"or use more {doers} (MPI-IO hint cb_nodes) if a few are meant to {verb} for all." in text


def test_rules_are_named_with_their_limits_and_sources(content: Content) -> None:
    text = markdown(content)
    assert "- small_request_bytes: 1 MiB (rule, Drishti)" in text
    assert "- block_bytes: 4 KiB (file system, st_blksize)" in text
    assert "- stall_s: 1.00 s (rule, ioassay)" in text


def test_phases_and_their_period_are_reported(content: Content) -> None:
    text = markdown(content)
    assert "| 2 | 60.0 s | 12.0 s | write | 0 B | 6 GiB | 537 MB/s | 0 |" in text
    assert "Phases of writes recur every 100 s." in text


def test_a_call_in_flight_names_its_process_file_and_time(content: Content) -> None:
    assert "| 1007 (killed) | 2000 | write | `/scratch/climate/diagnostics.bin` | 2025-11-24 16:09:00 |" in markdown(
        content
    )


def test_the_terminal_shows_the_essentials_and_how_much_more_there_is(content: Content) -> None:
    text = terminal_text(terminal(content), 120)
    assert "8 processes, 8 ranks (1 killed)" in text
    assert "5 more findings in the report." in text


def test_an_application_without_faults_has_no_findings_and_says_so(tmp_path: Path) -> None:
    text = markdown(content_of(tmp_path / "calm", *calm()))
    assert "No rule found anything to improve." in text
    assert "## Rules" not in text
    assert "## Completeness" not in text


def test_missing_parts_of_a_profile_are_reported(tmp_path: Path) -> None:
    table = TableBuilder(folded_calls=3, lost_calls=1)
    table.thread(table.pid, kernel=(10 << 20, 0, 1, 0))
    escaped = [{"pid": 9, "path": "/opt/go", "reason": "static"}]
    text = markdown(content_of(tmp_path / "r", table, escaped=escaped, lost_tables=2))
    for part in (
        "Doubt coverage: the kernel counted more I/O than was recorded in 1 process of 1 (process 100: 10 MiB read, "
        "100 % of it not recorded).",
        "1 process not recorded: /opt/go: static (process 9).",
        "The tables of 2 processes could not be kept",
        "3 calls on files that share a row",
        "1 call missing, because the table was full",
    ):
        assert part in text, part


def test_unreadable_bytes_are_reported_with_the_reason(tmp_path: Path) -> None:
    record = store_record(tmp_path / "record", TableBuilder())
    (record / "cut.tables").write_bytes(TableBuilder(7).build()[:-8])
    *_, text = trust(assemble(load_profile([record])))
    assert text.endswith(f"could not be read: the tables are damaged ({record}/cut.tables, from byte 0).")
    lines = loss("damaged-bytes", [Loss("damaged-bytes", 2048, "/logs/a", "the checksum is wrong")])
    assert lines == "2 KiB could not be read: the checksum is wrong (/logs/a)."


def test_a_page_has_the_figures_and_links_from_findings_to_files(content: Content) -> None:
    page = reports.build(ProfileReport(content), "html").decode()
    for identifier in ("rates", "operations", "heat", "latencies", "sizes"):
        assert f'id="figure-profile-{identifier}' in page, identifier
    assert page.count('href="#file-') > 1
    targets = {part.split('"')[0] for part in page.split('href="#file-')[1:]}
    assert all(f'id="file-{target}"' in page for target in targets)


def test_json_has_base_units_and_the_evidence(content: Content) -> None:
    data = json.loads(reports.build(ProfileReport(content), "json"))
    independent = next(finding for finding in data["findings"] if finding["kind"] == "no-collectives")
    assert independent["savings"] == "Saves at most 160 s of 15.6 min in I/O."
    (small, *_) = independent["evidence"]["symptoms"]
    assert (small["kind"], small["count"], small["of"], small["limit_bytes"]) == (
        "small-requests",
        20_000,
        20_000,
        1 << 20,
    )
    assert small["thresholds"][0] == {
        "name": "small_request_bytes",
        "value": 1048576,
        "origin": "rule",
        "source": "Drishti",
    }
    assert data["version"] == 1
    assert data["totals"]["read"]["bytes"] == RANKS * 500 << 20
    assert data["periods_s"] == {"write": 100}
    assert len(data["processes"]) == RANKS


def test_the_table_has_a_row_for_each_file_and_operation(content: Content) -> None:
    rows = list(csv.DictReader(io.StringIO(reports.build(ProfileReport(content), "csv").decode())))
    shared = [row for row in rows if row["path"] == "/scratch/climate/diagnostics.bin"]
    assert [row["operation"] for row in shared] == ["MPI write", "close", "open", "sync", "write"]
    assert shared[-1]["bytes"] == "20000000"


def test_the_same_record_gives_the_same_report(content: Content, tmp_path: Path) -> None:
    again = content_of(tmp_path / "record", *faulty())
    first, other = (document(part).blocks[2:] for part in (content, again))
    assert repr(first) == repr(other)


def test_facts_that_a_source_does_not_record_are_unknown_and_not_0(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(gzip.decompress((Path(darshan.__file__).parent / "testdata" / "mpi.txt.gz").read_bytes()))
    content = assemble(darshan.load_profile([log]))
    text = markdown(content)
    assert "| Where | unknown |" in text
    assert "failed calls and their errors are unknown" in text
    assert "| open | 9 | – | – | – | – | – | – | – |" in text
    assert "| read or write | 64 KiB | 32 |" in text
    assert "rank 0 read 1040 KiB" in text
    assert all(phase.metadata_calls is None for phase in content.phases)
    assert 'id="figure-profile-heat' in reports.build(ProfileReport(content), "html").decode()
    assert content.totals.of("write").spent_ns
    text = terminal_text(terminal(content), 200)
    assert "this source does not record" in text
    assert "failed calls" not in text
    assert "unknown" in json.loads(reports.build(ProfileReport(content), "json"))


def test_the_head_begins_with_how_much_was_seen_whatever_the_size(tmp_path: Path) -> None:
    table = TableBuilder()
    table.thread(table.pid, kernel=((64 << 20) + 7812, 5000, 1, 1))
    table.second("read", 0, 64, moved=64 << 20)
    table.second("write", 0, 64, moved=4000)
    content = content_of(tmp_path / "record", table)
    first, second = opening(content)[:2]
    assert first == (
        "Coverage",
        "read: all but 7812 B of 64.0 MiB that the kernel counted (loading programs); "
        "written: 4000 B of 5000 B that the kernel counted, not 1000 B (bypassed the recorder)",
    )
    assert second[0] == "Command"
    assert terminal_text(terminal(content), 120).lstrip().startswith("Coverage")
    assert "No rule found anything to improve." in markdown(content)
    assert "Doubt coverage" not in markdown(content)
    assert "1000 B that the kernel counted as written are in no call: bypassed the recorder (process 100)." in markdown(
        content
    )
    data = json.loads(reports.build(ProfileReport(content), "json"))
    assert data["coverage"]["read"] == {
        "kernel_bytes": (64 << 20) + 7812,
        "recorded_bytes": 64 << 20,
        "missing_bytes": 7812,
        "excess_bytes": 0,
    }
    assert [(loss["kind"], loss["amount"], loss["reason"]) for loss in data["losses"]] == [
        ("unrecorded-read-bytes", 7812, "loading programs"),
        ("unrecorded-written-bytes", 1000, "bypassed the recorder"),
    ]


def test_bytes_read_ahead_by_stream_buffers_are_reported_without_a_doubt(tmp_path: Path) -> None:
    table = TableBuilder()
    table.thread(table.pid, kernel=(100 * 4096, 0, 100, 0))
    table.second("stream read", 0, 100, moved=800)
    content = content_of(tmp_path / "record", table)
    assert "not 408800 B (buffers of streams)" in dict(opening(content))["Coverage"]
    assert "Doubt" not in markdown(content)


def mapped_content(tmp_path: Path) -> Content:
    table = TableBuilder()
    table.thread(table.pid, kernel=(0, 0, 0, 0))
    table.thread(table.pid, kernel=(1, 0, 1, 0))
    table.file("/data/in", {"open": 1}, inode=1)
    profile = load_profile([store_record(tmp_path / "record", table)])
    row = {"process": 0, "file": 0, "access": "read", "maps": 1, "first_map_s": 1.0, "last_unmap_s": 9.0}
    amounts = {"mapped_bytes": 64 << 20, "extent_bytes": 64 << 20, "syncs": 0, "synced_bytes": 0}
    residency = {"resident_begin_bytes": 32 << 20, "resident_end_bytes": 64 << 20}
    traffic = profile.processes.with_columns(storage_read_bytes=pl.lit(40 << 20))
    maps = pl.DataFrame([row | amounts | residency], schema=MAPS)
    return assemble(replace(profile, processes=traffic, maps=maps))


def test_a_program_that_reads_through_a_map_is_not_reported_as_reading_nothing(tmp_path: Path) -> None:
    content = mapped_content(tmp_path)
    head = dict(opening(content))
    assert head["Not seen"] == "32 to 64 MiB read through maps"
    assert head["Read"] == "0 B in 0 calls, 0 ns; 32 to 64 MiB through maps"
    assert "through maps" not in head["Written"]
    text = markdown(content)
    assert (
        "No rule found anything to improve in what was seen. Not seen, and not judged: 32 to 64 MiB read through maps."
        in text
    )
    assert "| 1 | 1.00 s | 8.00 s | read through maps | 0 B | 0 B |" in text
    assert "| `/data/in` | 100 | 1.00 s | 9.00 s | 1 | 64 MiB | 32 MiB | 64 MiB | 32 to 64 MiB | – |" in text
    assert "| `/data/in` | 1 | 1 | 0 | 0 B | 0 B | 32 to 64 MiB | – |" in text
    drawn = pictures(content)["rates"]
    assert "read through maps, least to most" in drawn.svg
    assert "bands reach from the least to the most" in drawn.caption
    assert drawn.data.filter(pl.col("most_through_maps_bytes_per_s") > 0).height == 8
    data = json.loads(reports.build(ProfileReport(content), "json"))
    assert data["totals"]["read"]["mapped"] == {"least": 32 << 20, "most": 64 << 20}
    (loss,) = [row for row in data["losses"] if row["kind"] == "mapped-read-bytes"]
    assert (loss["least"], loss["amount"]) == (32 << 20, 64 << 20)
    assert loss["reason"] == "at least: residency grew, at most: mapped"


def test_files_are_in_the_order_of_their_share_of_the_time_or_of_the_bytes(tmp_path: Path) -> None:
    table = TableBuilder()
    for index in range(20):
        file = table.file(f"/data/slow{index}", {"open": 1}, inode=10 + index)
        table.transfers(file, "read", {4096: 1}, ns=10**9)
    table.transfers(table.file("/data/large", {"open": 1}, inode=1), "read", {64 << 20: 1}, ns=1000)
    table.file("/data/mapped", {"open": 1}, inode=2)
    profile = load_profile([store_record(tmp_path / "record", table)])
    number = dict(profile.files.select("path", "file").iter_rows())["/data/mapped"]
    row = {"process": 0, "file": number, "access": "read", "maps": 1, "first_map_s": 1.0, "last_unmap_s": 9.0}
    amounts = {"mapped_bytes": 256 << 20, "extent_bytes": 256 << 20, "syncs": 0, "synced_bytes": 0}
    content = assemble(replace(profile, maps=pl.DataFrame([row | amounts], schema=MAPS)))
    assert content.files["path"].head(3).to_list() == ["/data/mapped", "/data/large", "/data/slow0"]
    shown = terminal_text(terminal(content))
    assert "/data/mapped" in shown
    assert "Files: 10 of 22, those with the largest share of the time in I/O or of the bytes" in " ".join(shown.split())


def test_residency_from_a_sample_is_reported_as_approximate(tmp_path: Path) -> None:
    content = mapped_content(tmp_path)
    bounds = content.maps.bounds.with_columns(is_sampled=True)
    assert "| about 32 MiB | about 64 MiB |" in markdown(replace(content, maps=replace(content.maps, bounds=bounds)))


def test_every_kind_of_loss_is_in_the_head(tmp_path: Path) -> None:
    table = TableBuilder(folded_calls=3, lost_calls=1, handler_calls=2, throttled_ticks=2 * 10**9)
    table.thread(table.pid, kernel=(1, 1, 1, 1))
    escaped = [
        {"pid": 9, "path": "/opt/go", "reason": "static"},
        {"pid": 10, "path": "/opt/suid", "reason": "static"},
    ]
    head = dict(opening(content_of(tmp_path / "r", table, escaped=escaped, lost_tables=2)))
    assert head["Not seen"] == (
        "files of 3 calls; 1 call for which the table was full; 2 calls of signal handlers; 1.00 s for which rules "
        "held calls back; 2 processes whose tables were lost; 2 processes not recorded (static)"
    )
    for kind in get_args(LossKind):
        assert loss(kind, [Loss(kind, 1, "here", "a reason", 0)]).endswith("(here)."), kind


@pytest.mark.parametrize(
    ("storage", "counted"),
    [
        ((8 << 20, 0, 0), " (the kernel counted 16 MiB read)"),
        ((8 << 20, 1 << 20, 0), " (the kernel counted 16 MiB read and 2 MiB written)"),
        ((0, 0, 0), ""),
    ],
)
def test_requests_of_rings_in_the_head_have_the_bytes_that_the_kernel_counted_of_their_processes(
    tmp_path: Path, storage: tuple[int, int, int], counted: str
) -> None:
    tables = [TableBuilder(10), TableBuilder(11)]
    for table in tables:
        table.thread(table.pid, kernel=(1, 0, 1, 0), storage=storage)
        table.ring(requests=1000, unread=1000)
        table.ring(requests=5, unread=5, unreadable=2)
    unseen = dict(opening(content_of(tmp_path / "r", *tables)))["Not seen"]
    assert unseen.split(";")[0] == f"2,010 requests in rings of io_uring{counted}"


def test_the_head_says_why_a_source_is_incomplete(tmp_path: Path) -> None:
    left = tmp_path / "tables"
    left.mkdir()
    record = store_record(
        tmp_path / "r", TableBuilder(), state="incomplete", reason="the disk is full", tables=str(left)
    )
    (tables,) = record.glob("*.tables")
    tables.rename(left / "1.table")
    head = dict(opening(assemble(load_profile([record]))))
    why = f"the disk is full; the tables are still in {left} (to move them: ioassay-engine complete {record})"
    assert head["Not seen"] == f"parts of an incomplete source: {why}"


def test_coverage_of_another_source_is_unknown_and_not_complete(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(gzip.decompress((Path(darshan.__file__).parent / "testdata" / "mpi.txt.gz").read_bytes()))
    content = assemble(darshan.load_profile([log]))
    assert opening(content)[0] == ("Coverage", "unknown: Darshan does not keep what the kernel counted")
    data = json.loads(reports.build(ProfileReport(content), "json"))
    assert data["totals"]["read"]["mapped"] is None
    assert data["coverage"]["storage"] is None


def handing_on() -> list[TableBuilder]:
    """A generator, a filter and a program that removes what is between them, after 2 s in which it lay."""
    times = [BEGIN_NS + second * 10**9 for second in range(9)]
    generator = TableBuilder(1, command=["gen"], begin_ns=times[0], end_ns=times[1])
    used = TableBuilder(2, command=["filter"], begin_ns=times[3], end_ns=times[4])
    remover = TableBuilder(3, command=["rm", "part"], begin_ns=times[5], end_ns=times[6])
    part = generator.file("/w/part", inode=1, opened_ns=times[0], closed_ns=times[1])
    generator.transfers(part, "write", {64 << 20: 1}, ns=10**9)
    debug = generator.file("/w/debug", inode=2, opened_ns=times[0], closed_ns=times[1])
    generator.transfers(debug, "write", {32 << 20: 1}, ns=10**9)
    used.transfers(
        used.file("/w/part", inode=1, opened_ns=times[3], closed_ns=times[4]), "read", {64 << 20: 1}, ns=10**9
    )
    for path in ("/w/part", "/w/debug"):
        remover.file(path, {"remove": 1})
    return [generator, used, remover]


def test_a_workflow_is_a_section_with_its_figure_its_tables_and_its_findings(tmp_path: Path) -> None:
    content = content_of(tmp_path / "record", *handing_on())
    text = markdown(content)
    for part in (
        "## Workflow",
        "2 steps hand on 1 file (64 MiB written, 64 MiB read again).",
        "32 MiB were written and deleted unread, of 96 MiB written in all (1 file, 1.00 s in these calls).",
        "Steps hand data on through files: 64 MiB were written and 64 MiB of them read again by another step, once "
        "(1 file, 2.00 s in these calls, 100 % of the steps' run time). The file is removed in the end. **Remedy:** "
        "Pass it through a pipe, or keep the files in memory or a node-local disk.",
        "| gen | filter | `/w/part` | 1 | 64 MiB | 64 MiB | 2.00 s | 1 |",
        "| written, not read, removed | 1 | 1 | 32 MiB | 0 B | `/w/debug` |",
    ):
        assert part in text, part
    page = reports.build(ProfileReport(content), "html").decode()
    assert "Which step feeds which" in page
    assert "2 steps as boxes, arrows for the files between them: gen to filter, 64 MiB." in page
    shown = " ".join(terminal_text(terminal(content)).split())
    assert "Most goes from gen to filter: 64 MiB in 1 file, /w/part, read up to 2.00 s later, then removed." in shown
    assert "32 MiB in 1 file were written and removed unread." in shown


@pytest.mark.parametrize(
    ("called", "mapped", "sentence", "cells"),
    [
        (0, Range(0, 64 << 20), "0 B to 64 MiB read again through maps", f"{ABSENT} | 0 B to 64 MiB"),
        (1 << 20, Range(8 << 20, 64 << 20), "1 MiB read again and 8 to 64 MiB through maps", "1 MiB | 8 to 64 MiB"),
        (0, Range(0, 0), "read without a call: run, or mapped", ABSENT),
    ],
)
def test_a_workflow_says_what_was_read_without_calls(
    tmp_path: Path, called: int, mapped: Range, sentence: str, cells: str
) -> None:
    content = content_of(tmp_path / "record", *handing_on())
    (exchange,) = content.workflow.exchanges
    ends = {"mapped_least_bytes": mapped.least, "mapped_most_bytes": mapped.most}
    files = content.workflow.files.with_columns(read_bytes=called, **{name: pl.lit(end) for name, end in ends.items()})
    changed = replace(content.workflow, exchanges=(replace(exchange, read_bytes=called, mapped=mapped),), files=files)
    text = markdown(replace(content, workflow=changed))
    assert f"2 steps hand on 1 file (64 MiB written, {sentence})." in text
    assert f"| gen | filter | `/w/part` | 1 | 64 MiB | {cells} | 2.00 s | 1 |" in text


def test_the_data_of_a_workflow(tmp_path: Path) -> None:
    workflow = json.loads(reports.build(ProfileReport(content_of(tmp_path / "record", *handing_on())), "json"))[
        "workflow"
    ]
    assert [(step["name"], step["layer"]) for step in workflow["steps"]] == [("gen", 0), ("filter", 1)]
    (exchange,) = workflow["exchanges"]
    assert (exchange["writer"], exchange["reader"], exchange["read_bytes"], exchange["longest_wait_s"]) == (
        0,
        1,
        64 << 20,
        2.0,
    )
    assert [(row["fate"], row["files"], row["removed_files"]) for row in workflow["files"]] == [
        ("between steps", 1, 1),
        ("deleted unread", 1, 1),
    ]


def test_an_application_whose_processes_exchange_no_files_has_no_workflow(tmp_path: Path) -> None:
    content = content_of(tmp_path / "record", *calm())
    assert "Workflow" not in markdown(content)
    assert "workflow" not in json.loads(reports.build(ProfileReport(content), "json"))
    assert "Workflow" not in terminal_text(terminal(content))

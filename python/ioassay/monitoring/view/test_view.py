"""The terminal's view, without a terminal: lines in, state and text out."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ioassay.monitoring.view import documents, sources
from ioassay.monitoring.view.documents import LONGEST_LINE, Document, parse
from ioassay.monitoring.view.sources import Directory, Lines, Pipe
from ioassay.monitoring.view.state import AHEAD_S, DEVICES, MOST_ALERTS, MOST_NODES, SILENT_AFTER_S, View
from ioassay.monitoring.view.terminal import alert_line, render, scaled, summary
from ioassay.protocol.watch_kinds import JOB_KINDS, NODE_KINDS


def line(kind: str, second: int = 100, node: str = "n1", **fields: object) -> bytes:
    return json.dumps({"kind": kind, "second": second, "node": node, **fields}).encode()


def io(cls: str, **fields: object) -> bytes:
    return line("io", **{"job": "1", "class": cls, "calls": 10, "busy_ns": 100, "slowest_ns": 50, **fields})  # type: ignore[arg-type]


ALERT = {
    "job": "1",
    "label": "reads",
    "action": "monitor",
    "measure": "bandwidth",
    "measured": 2_000_000,
    "allowed": 1_000_000,
    "window_s": 10,
    "pid": "7",
    "command": "cp",
    "file": "/home/x",
}


def view(*lines: bytes) -> View:
    live = View()
    for encoded in lines:
        document = parse(encoded)
        assert document is not None, encoded
        live.add(document)
    return live


def text(live: View, width: int = 100, height: int = 40, now: int | None = None) -> str:
    console = Console(width=width, height=height, color_system=None)
    with console.capture() as capture:
        console.print(render(live, width, height, now))
    return capture.get()


def test_reads_writes_and_metadata_are_separate_and_nothing_counts_twice() -> None:
    rates = view(
        io("read", bytes=5),
        io("stream read", bytes=6),
        io("MPI read", bytes=5),
        io("map", bytes=1000),
        io("elsewhere read", bytes=1000),
        io("write", bytes=7, slowest_ns=90, busy_ns=400),
        io("open"),
        line("agent"),
    ).totals()
    assert (rates.read_bytes, rates.write_bytes, rates.metadata_calls) == (11, 7, 10)
    assert (rates.calls, rates.slowest_ns, rates.mean_ns) == (40, 90, 700 / 40)


def test_a_second_is_shown_once_it_is_complete() -> None:
    live = view(io("read", bytes=1), line("agent"), io("read", second=101, bytes=5))
    assert (live.second, live.totals().read_bytes) == (100, 1)
    for more in (io("write", second=101, bytes=7), line("agent", second=101)):
        document = parse(more)
        assert document is not None
        live.add(document)
    assert (live.second, live.totals().read_bytes, live.totals().write_bytes) == (101, 5, 7)


def test_documents_of_an_earlier_second_are_not_shown_as_current() -> None:
    live = view(line("agent"), io("read", second=99, bytes=1000, part=1), line("agent", second=101))
    assert live.totals().read_bytes == 0


def test_jobs_are_added_up_over_nodes_and_those_that_move_most_come_first() -> None:
    job = {"user": "0", "command": "./a", "processes": 4, "throttled_ns": 5}
    live = view(
        io("read", bytes=1),
        line("job", job="1", **job),  # type: ignore[arg-type]
        io("read", node="n2", bytes=2),
        line("job", node="n2", job="1", **job),  # type: ignore[arg-type]
        io("write", node="n2", job="2", bytes=100),
        line("in_flight", node="n2", job="2", since_ns=3),
        line("agent"),
        line("agent", node="n2"),
    )
    first, second = live.jobs()
    assert (first.name, first.rates.write_bytes, first.in_flight, first.nodes) == ("2", 100, 1, 1)
    assert (second.name, second.rates.read_bytes, second.nodes) == ("1", 3, 2)
    assert (second.processes, second.throttled_ns, second.command) == (8, 10, "./a")


def test_a_node_that_fell_silent_is_shown_as_such_and_left_out_of_sums() -> None:
    later = 100 + SILENT_AFTER_S
    live = view(io("read", bytes=7), line("agent"), line("agent", second=later, node="n2"))
    assert live.totals().read_bytes == 0
    assert [(node.name, node.is_silent) for node in live.nodes()] == [("n1", True), ("n2", False)]
    assert "silent since" in text(live)


def test_a_node_whose_clock_is_ahead_is_named_and_silences_no_other() -> None:
    live = view(io("read", bytes=7), line("agent"))
    for ahead in (line("agent", second=100 + AHEAD_S, node="n2"), line("agent", second=190, node="n3")):
        document = parse(ahead)
        assert document is not None
        assert live.add(document, now=100) == (document.node == "n2")
    assert live.totals().read_bytes == 7
    assert [(node.name, node.is_silent) for node in live.nodes()] == [("n1", False), ("n2", False)]
    assert summary(live).endswith("The clock of n3 is 90 s ahead of this node's")
    assert "n3" in summary(View(ahead=live.ahead))


def test_a_rule_is_broken_throttles_or_is_ok() -> None:
    live = view(
        line("rule", job="1", label="fine", measured=1, allowed=2),
        line("rule", job="1", label="reads", measured=3, allowed=2),
        line("alert", **ALERT),  # type: ignore[arg-type]
        line("rule", job="1", label="holds", waits=3, waited_ns=10, remark="static"),
        line("rule", node="n2", job="1", label="holds", waits=1, waited_ns=5, measured=9),
        line("agent"),
        line("agent", node="n2"),
    )
    assert [(rule.label, rule.state) for rule in live.rules()] == [
        ("holds", "throttles"),
        ("reads", "broken"),
        ("fine", "ok"),
    ]
    holds = live.rules()[0]
    assert (holds.nodes, holds.waits, holds.waited_ns, holds.measured, holds.remark) == (2, 4, 15, 9, "static")
    assert "static" in text(live, width=160)


def test_a_rule_of_users_has_a_row_for_each_and_shared_limits_add_up_nodes() -> None:
    live = view(
        line("rule", label="all", scope="user", user="0", measured=3, allowed=9, jobs="project a*"),
        line("rule", node="n2", label="all", scope="user", user="0", measured=4, allowed=9, jobs="project a*"),
        line("rule", label="all", scope="user", user="4294967000", measured=1, allowed=9, waits=1),
        line("alert", label="all", scope="user", user="0", measured=9, allowed=9, window_s=1, measure="count"),
        line("agent"),
        line("agent", node="n2"),
    )
    rows = {rule.user: rule for rule in live.rules()}
    assert (rows["0"].measured, rows["0"].nodes, rows["0"].state) == (7, 2, "broken")
    assert (rows["4294967000"].measured, rows["4294967000"].state) == (1, "throttles")
    screen = text(live, width=160)
    assert "user root" in screen
    assert "project a*" in text(live, width=140)
    assert "all: user root on n1" in alert_line(live.alerts[-1])


def test_devices_are_the_busiest_first_and_idle_ones_are_left_out() -> None:
    live = view(
        line("disk", device="sda", busy_ns=500_000_000, read_bytes=1),
        line("disk", device="sdb", busy_ns=900_000_000),
        line("disk", device="sdc", busy_ns=0),
        line("nfs", mount_point="/home", server_read_bytes=10),
        line("agent"),
    )
    assert [device.name for device in live.devices()] == ["sdb", "sda", "/home"]


def target(name: str, kind: str = "target", node: str = "oss1", **fields: object) -> bytes:
    return line(kind, node=node, **{"target": name, "service": "Lustre OST", "over_ms": 1000, **fields})  # type: ignore[arg-type]


def test_targets_list_their_loads_with_the_highest_first() -> None:
    live = view(
        line("job", job="4711", user="0", command="./simulate"),
        line("agent"),
        target("fs-OST0000", read_bytes=100),
        target("fs-OST0000", "target_job", job="4712", read_bytes=100),
        target("fs-OST0001", read_bytes=1000, write_bytes=3000),
        target("fs-OST0001", "target_job", job="other jobs", jobs=7, write_bytes=1000),
        target("fs-OST0001", "target_job", job="sim:4711", scheduler_job="4711", jobs=1, write_bytes=2000),
        target("fs-OST0001", "target_job", job="", jobs=1, read_bytes=1000),
        line("agent", node="oss1"),
    )
    loads = live.loads()
    assert [(load.target, load.who, load.share) for load in loads] == [
        ("fs-OST0001", "sim:4711", 0.5),
        ("fs-OST0001", "no job id", 0.25),
        ("fs-OST0001", "other jobs", 0.25),
        ("fs-OST0000", "4712", 1.0),
    ]
    assert (loads[0].command, loads[0].user, loads[2].others) == ("./simulate", "0", 7)
    screen = text(live, width=120)
    assert "other jobs (7)" in screen
    assert "./simulate" in screen


def test_a_reading_of_several_seconds_is_shown_per_second() -> None:
    live = view(
        target("fs-OST0000", over_ms=4000, read_bytes=4000, reads=8),
        target("fs-OST0000", "target_job", job="1", read_bytes=2000, reads=4),
        line("agent", node="oss1"),
    )
    (load,) = live.loads()
    assert (load.read_bytes, load.requests, load.share) == (500, 1, 0.5)


def test_a_target_that_moves_no_bytes_is_shared_by_requests_and_one_without_jobs_by_clients() -> None:
    live = view(
        target("fs-MDT0000", service="Lustre MDT", metadata_operations=100),
        target("fs-MDT0000", "target_job", service="Lustre MDT", job="1", metadata_operations=75),
        target("fs-MDT0000", "target_client", service="Lustre MDT", client="10.0.0.1@tcp", metadata_operations=100),
        target("/export/home", service="NFS export", read_bytes=10),
        target("/export/home", "target_client", service="NFS export", client="*.site", read_bytes=10),
        target("all", service="NFS server", read_bytes=10),
        target("idle", service="NFS export"),
        line("agent", node="oss1"),
    )
    assert [(load.target, load.who, load.share) for load in live.loads()] == [
        ("fs-MDT0000", "1", 0.75),
        ("/export/home", "client *.site", 1.0),
        ("all", "all clients", 1.0),
    ]
    assert "NFS server oss1" in text(live, width=120)


def test_devices_are_named_by_fields_that_they_have() -> None:
    for kind, names in DEVICES.items():
        assert set(names) <= {field.name for field in NODE_KINDS[kind].fields}


def test_an_alert_shows_the_measure_the_process_and_the_file() -> None:
    live = view(line("alert", **ALERT), line("agent"))  # type: ignore[arg-type]
    message = alert_line(live.alerts[-1])
    assert message.endswith(" reads: 1 on n1: 2 MB of 1 MB in 10 s, /home/x, cp (pid 7)")
    assert "2 MB of 1 MB in 10 s" in text(live, width=80)


def test_an_alert_of_a_throttling_rule_shows_waits_instead_of_bytes() -> None:
    fields = {**ALERT, "action": "throttle", "measured": 900_000, "waits": 12, "waited_ns": 2_100_000_000}
    live = view(line("alert", **fields), line("agent"))  # type: ignore[arg-type]
    assert alert_line(live.alerts[-1]).endswith(" reads: 1 on n1: 12 calls held 2.10 s, /home/x, cp (pid 7)")
    assert "0.9 MB" not in text(live, width=80)


@pytest.mark.parametrize("width", [20, 40, 80, 120, 149, 150, 200, 400])
@pytest.mark.parametrize("height", [3, 10, 24, 50])
def test_the_view_fits_any_terminal_and_keeps_what_matters_most(width: int, height: int) -> None:
    lines = [io("read", job=f"job-{number}", bytes=number, node=f"n{number}") for number in range(1, 60)]
    lines += [line("alert", node=f"n{number}", **ALERT) for number in range(1, 60)]  # type: ignore[arg-type]
    lines += [line("disk", node=f"n{number}", device="sda", busy_ns=10**8) for number in range(1, 60)]
    lines += [line("agent", node=f"n{number}") for number in range(1, 60)]
    screen = text(view(*lines), width, height).splitlines()
    assert all(len(row) <= width for row in screen)
    if height >= 5:
        assert len(screen) <= height
    if width >= 80 and height >= 10:
        assert "59 nodes, 59 jobs" in screen[0]
        assert any("job-59" in row for row in screen)
        assert any("ALERT (" in row and "of 59)" in row for row in screen)


def test_the_summary_mentions_missing_data_and_refused_lines() -> None:
    assert "waiting" in summary(View())
    assert "no job yet" in text(View())
    live = view(io("read", bytes=1_230_000), line("agent"))
    live.refused = 2
    message = summary(live, now=160)
    assert message.startswith("no data for 60.0 s")
    assert "1 node, 1 job, read 1.23 MB/s" in message
    assert message.endswith("2 lines refused")
    assert "no data" not in summary(live, now=102)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0"), (7, "7"), (999, "999"), (1234, "1.23k"), (12_000, "12k"), (123_400, "123k"), (5e12, "5T")],
)
def test_numbers_have_three_digits(number: float, expected: str) -> None:
    assert scaled(number) == expected


def test_memory_is_bounded_for_any_input() -> None:
    live = view(*(line("alert", node=f"n{number}", **ALERT) for number in range(MOST_NODES + 10)))  # type: ignore[arg-type]
    assert len(live.nodes()) == 0  # no second is complete
    assert len(live.alerts) == MOST_ALERTS
    assert live.alert_count == MOST_NODES


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"kind": "io"}',
        b'{"kind": ["io"], "second": 1, "node": "a"}',
        b'{"kind": "io", "second": true, "node": "a"}',
        b'{"kind": "io", "second": -1, "node": "a"}',
        b'{"kind": "io", "second": 1.5, "node": "a"}',
        b'{"kind": "nothing", "second": 1, "node": "a"}',
        b"\xff",
        line("io").decode().encode("utf-16"),
        b" " * (LONGEST_LINE + 1),
    ],
)
def test_a_line_that_is_no_document_is_refused(damaged: bytes) -> None:
    assert parse(damaged) is None


def test_fields_of_the_wrong_type_are_left_out() -> None:
    document = parse(io("read", bytes="7", calls=True, slowest_ns=2**70, job=5, user="x" * 10_000))
    assert document is not None
    assert (
        document.number("bytes"),
        document.number("calls"),
        document.number("slowest_ns"),
        document.text("job"),
    ) == (
        0,
        0,
        0,
        "",
    )
    assert len(document.text("user")) == documents.LONGEST_TEXT


def test_half_of_a_surrogate_pair_can_be_printed() -> None:
    document = parse(line("job", job="a\ud800b", node="\ud800"))
    assert document is not None
    assert (document.text("job"), document.node) == ("a?b", "?")


def test_the_view_asks_only_for_fields_that_documents_have(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: set[tuple[str, str]] = set()

    def text_of(document: Document, name: str) -> str:
        requested.add((document.kind, name))
        return document.texts.get(name, "x")

    def number_of(document: Document, name: str) -> int:
        requested.add((document.kind, name))
        return document.numbers.get(name, 1)

    kinds = {**JOB_KINDS, **NODE_KINDS}
    live = view(*(line(kind, node="x") for kind in kinds if kind != "agent"), line("agent", node="x"))
    monkeypatch.setattr(Document, "text", text_of)
    monkeypatch.setattr(Document, "number", number_of)
    text(live, width=400)
    assert [alert_line(alert) for alert in live.alerts]
    have = {(kind, field.name) for kind, about in kinds.items() for field in about.fields}
    assert requested <= have
    assert {kind for kind, _ in requested} >= {
        "io",
        "job",
        "in_flight",
        "alert",
        "rule",
        "agent",
        "cpu",
        "memory",
        "target",
        "target_job",
        *DEVICES,
    }


KINDS = st.sampled_from(
    [
        "target",
        "target_job",
        "target_client",
        "io",
        "job",
        "alert",
        "rule",
        "in_flight",
        "disk",
        "cpu",
        "memory",
        "agent",
    ]
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            "job",
            "class",
            "calls",
            "bytes",
            "busy_ns",
            "label",
            "measure",
            "since_ns",
            "file",
            "device",
            "target",
            "over_ms",
        ]
    ),
    st.one_of(st.text(max_size=5), st.integers(-1, 2**65), st.none(), st.lists(st.integers(), max_size=1)),
)


@given(
    st.lists(st.tuples(KINDS, st.integers(0, 2**64), st.sampled_from(["a", "b", "\x1b[2J"]), FIELDS), max_size=20),
    st.sampled_from([20, 80, 200]),
)
def test_any_documents_can_be_shown(drawn: list[tuple[str, int, str, dict[str, object]]], width: int) -> None:
    live = View()
    for kind, second, node, fields in drawn:
        document = parse(line(kind, second, node, **fields))
        if document is not None:
            live.add(document)
    assert text(live, width)
    assert summary(live, 5)
    assert all(alert_line(alert) for alert in live.alerts)


def test_lines_are_cut_wherever_their_parts_end() -> None:
    lines = Lines()
    assert [lines.add(part) for part in (b"a", b"b\nc\n\nd", b"", b"\n")] == [[], [b"ab", b"c"], [], [b"d"]]
    assert lines.add(b"x" * (LONGEST_LINE + 1)) == []
    assert lines.add(b"end\nnext\n") == [b"next"]


def test_a_pipe_may_end_with_an_incomplete_line() -> None:
    reading, writing = os.pipe()
    pipe = Pipe(reading)
    os.write(writing, b"one\ntwo")
    assert pipe.read(5) == [b"one"]
    assert pipe.read(0) == []
    os.close(writing)
    assert (pipe.read(5), pipe.has_ended) == ([b"two"], True)
    os.close(reading)


def test_files_of_nodes_are_followed_as_they_grow_come_and_are_rotated(tmp_path: Path) -> None:
    first, second = tmp_path / "n1.jsonl", tmp_path / "n2.jsonl"
    first.write_bytes(b"a\nb")
    directory = Directory(tmp_path)
    assert directory.read(0) == [b"a"]
    with first.open("ab") as file:
        file.write(b"c\n")
    second.write_bytes(b"x\n")
    (tmp_path / "other.txt").write_bytes(b"no\n")
    assert directory.read(0) == [b"bc", b"x"]
    with first.open("ab") as file:
        file.write(b"last\n")
    first.rename(tmp_path / "n1.jsonl.1")
    first.write_bytes(b"new\n")
    assert directory.read(0) == [b"last", b"new"]
    second.unlink()
    assert directory.read(0) == []


def test_files_of_very_many_nodes_are_read_in_turns_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_BYTES", 100)
    nodes = [f"n{number}" for number in range(9)]
    for node in nodes:
        (tmp_path / f"{node}.jsonl").write_bytes(node.encode() * 30 + b"\n")
    directory = Directory(tmp_path)
    turns = [directory.read(0) for _ in range(6)]
    assert [len(lines) for lines in turns] == [2, 2, 2, 2, 1, 0]
    assert sorted(encoded[:2].decode() for lines in turns for encoded in lines) == nodes


def test_the_limit_of_open_files_is_raised_for_the_files_of_many_nodes(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in range(300):
        (tmp_path / f"n{number}.jsonl").write_bytes(b"x\n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
    try:
        assert len(Directory(tmp_path).read(0)) == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_truncated_write_leaves_no_partial_line(tmp_path: Path) -> None:
    file = tmp_path / "n1.jsonl"
    file.write_bytes(b"a\nhalf of a li")
    directory = Directory(tmp_path)
    assert directory.read(0) == [b"a"]
    file.write_bytes(b"a\n")
    os.truncate(file, 2)
    assert directory.read(0) == []
    with file.open("ab") as more:
        more.write(b"b\nc\n")
    assert directory.read(0)[-1] == b"c"


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "n1.jsonl").write_bytes(b"".join(b"%09d\n" % number for number in range(200_000)))
    lines = Directory(tmp_path).read(0)
    assert lines[-1] == b"000199999"
    assert len(lines) < 110_000
    assert all(len(encoded) == 9 for encoded in lines)


def test_links_and_devices_in_the_directory_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x\n")
    (tmp_path / "n1.jsonl").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "n2.jsonl")
    assert Directory(tmp_path).read(0) == []

"""Watching end to end: contracts on the command line, recorded commands under a real agent, the live view."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import psutil
import pytest

from ioassay.errors import CannotRun
from ioassay.monitoring.contract import load
from ioassay.processes.engine import find_agent

from .support import Command, ioassay, is_gone, until

MISTRAL = "2, monitortimeframe, 10s\nreads, /scratch, read, all, bandwidth, 1GB\n"

STATS = """\
rules:
  - monitor: many stats
    path: {path}
    calls: [stat]
    count: 5/s
"""

LOOP = "while :; do stat {path}/* > /dev/null; done"
"""Stats files until it is ended."""


@pytest.fixture
def contract(target: Path, tmp_path: Path) -> Path:
    """A contract that a loop of stats in `target` breaks."""
    (target / "file").touch()
    file = tmp_path / "contract.yaml"
    file.write_text(STATS.format(path=target))
    return file


@pytest.fixture(scope="session")
def agent() -> Path:
    """The agent under test."""
    try:
        return find_agent()
    except CannotRun as error:
        pytest.exit(f"{error.message} {error.remedy}", returncode=3)


def documents(directory: Path) -> list[dict[str, object]]:
    """What agents wrote as JSON lines; a line that is being written is left out."""
    lines = [line for file in directory.glob("*.jsonl") for line in file.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def test_a_contract_is_explained_or_refused_with_its_line(contract: Path) -> None:
    code, out, _ = ioassay("watch", "check", contract)
    assert code == 0
    assert out.startswith("many stats: Alerts when there are more than 5 stat calls below ")
    contract.write_text(contract.read_text().replace("stat]", "stats]"))
    code, _, err = ioassay("watch", "check", contract)
    assert code == 2
    assert f"{contract}:4: rules[0].calls[0]" in err


def test_a_contract_is_replaced_as_a_whole_or_not_at_all(contract: Path, tmp_path: Path) -> None:
    place = tmp_path / "agent"
    code, _, err = ioassay("watch", "prepare", "-o", place, "--contract", contract)
    assert code == 0, err
    before = (place / "contract.json").read_text()
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("rules: [{monitor: a}]")
    code, _, err = ioassay("watch", "set", place, wrong)
    assert code == 2
    assert "has no measure" in err
    assert (place / "contract.json").read_text() == before
    contract.write_text(contract.read_text().replace("5/s", "6/s") + "  - {monitor: new, user time: 1s}\n")
    code, out, _ = ioassay("watch", "set", place, contract)
    assert (code, out) == (0, "new: new\nchanged: many stats\n")
    assert [rule["limit"] for rule in load(place / "contract.json").contract["rules"]] == [6, 10**9]
    code, _, err = ioassay("watch", "set", tmp_path, contract)
    assert code == 2
    assert "is not watched" in err


def test_mistral_contracts_are_converted_in_both_directions(tmp_path: Path) -> None:
    old, new, again = tmp_path / "old", tmp_path / "new.yaml", tmp_path / "again"
    old.write_text(MISTRAL)
    assert ioassay("watch", "convert", old, "-o", new)[0] == 0
    assert ioassay("watch", "convert", new, "-o", again)[0] == 0
    assert load(old).contract == load(new).contract == load(again).contract
    new.write_text(new.read_text() + "- {throttle: hold, calls: [read], bandwidth: 1GB/s, scope: node}\n")
    assert ioassay("watch", "convert", new)[0] == 2
    assert ioassay("watch", "convert", new, "-o", again)[0] == 0
    assert load(tmp_path / "again.global.throttle", "node").contract["rules"][0]["label"] == "hold"


def test_throttle_rules_become_commands_for_lustre_and_the_rest_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_text("rules:\n  - {throttle: writes, calls: [write], bandwidth: 800MiB/s}\n")
    code, out, _ = ioassay("watch", "lustre", file, "--cpts", "2", "--job", "4711")
    assert code == 0
    assert "start ioassay_1 jobid={4711}&opcode={ost_write} rate=100" in out
    assert "stop ioassay_1" in ioassay("watch", "lustre", file, "--cpts", "2", "--unset")[1]
    file.write_text(file.read_text() + "  - {throttle: stats, calls: [stat], count: 1/s}\n")
    code, out, err = ioassay("watch", "lustre", file, "--cpts", "2")
    assert code == 1
    assert "rate=100" in out
    assert "refused: stats: " in err
    code, _, err = ioassay("watch", "lustre", file, "--cpts", "2", "--rpc-size", "abc")
    assert (code, "--rpc-size: " in err) == (2, True), err


def test_a_recorded_command_is_watched_and_its_alerts_are_reported(
    agent: Path, contract: Path, target: Path, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    loop = f"for i in $(seq 400); do stat {target}/* > /dev/null; sleep 0.005; done; exit 7"
    code, _, err = ioassay("record", "--contract", contract, "--out", record, "--", "sh", "-c", loop)
    assert code == 7, err
    assert "ioassay: rule many stats: broken in " in err
    assert {"io", "job", "alert", "agent", "disk"} <= {folder.name for folder in (record / "watch").iterdir()}
    assert (record / "record.json").is_file()
    code, _, err = ioassay("record", "--contract", contract, "--out", record, "--", "true")
    assert (code, "exists" in err, "broken in" in err) == (3, True, False)


def test_a_recorded_command_is_held_to_its_rate_and_the_view_shows_it(
    agent: Path, target: Path, tmp_path: Path
) -> None:
    record, setup = tmp_path / "record", tmp_path / "setup.yaml"
    setup.write_text("contract: rules.yaml\nnode: no\nsinks: [{json lines: {directory: lines}}]\n")
    (tmp_path / "rules.yaml").write_text("rules: [{throttle: hold, calls: [write], bandwidth: 5MB/s}]")
    writes = ["dd", "if=/dev/zero", f"of={target}/file", "bs=1000000", "count=20"]
    code, _, err = ioassay("record", "--setup", setup, "--out", record, "--", *writes)
    assert code == 0, err
    rules = [document for document in documents(tmp_path / "lines") if document["kind"] == "rule"]
    assert {document["label"] for document in rules} == {"hold"}
    waits = [document["waits"] for document in rules]
    assert sum(count for count in waits if isinstance(count, int)) >= 10
    code, out, _ = ioassay("watch", "view", "--once", tmp_path / "lines")
    assert code == 0
    assert "hold" in out


def test_parquet_files_have_the_seconds_that_other_sinks_have_after_the_agent_was_killed(
    agent: Path, target: Path, tmp_path: Path
) -> None:
    record, lines, setup = tmp_path / "record", tmp_path / "lines", tmp_path / "setup.yaml"
    setup.write_text("node: no\nsinks: [{json lines: {directory: lines}}, {parquet: {directory: tables}}]\n")
    ends = tmp_path / "ends"
    loop = f"for i in $(seq 5000); do [ -e {ends} ] && exit; cp {agent} {target}/copy; sleep 0.01; done"
    command = Command(["record", "--setup", setup, "--out", record, "--", "sh", "-c", loop])
    until(
        lambda: len({document["second"] for document in documents(lines) if document["kind"] == "io"}) > 2,
        "three seconds",
    )
    agent_setup = str(record / "watch/agent.json")
    (watching,) = [
        document for document in psutil.process_iter(["cmdline"]) if agent_setup in (document.info["cmdline"] or [])
    ]
    watching.kill()
    until(lambda: not watching.is_running(), "the end of the agent")
    ends.touch()
    code, _, err = command.end()
    assert (code, "the agent ended before the command" in err) == (0, True), err
    tables = pl.read_parquet(tmp_path / "tables/io/*.parquet")
    counted = Counter(tables.select("second", "class", "calls").iter_rows())
    assert counted == Counter(
        (document["second"], document["class"], document["calls"])
        for document in documents(lines)
        if document["kind"] == "io"
    )
    assert not [*(tmp_path / "tables").glob("*/.*")]


SPELLED = """\
import os, sys, time

def write(name, count):
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    assert os.write(descriptor, bytes(count)) == count
    os.close(descriptor)

os.chdir(sys.argv[1])
for place, name in enumerate(sys.argv[2:]):
    write(name, 1 << place)
while not os.path.exists("relink"):
    time.sleep(0.01)
os.symlink("second", "new")
os.replace("new", "current")
while not os.path.exists("go on"):
    write("second/probe", 1)
    time.sleep(0.05)
write("second/a", 1 << 20)
write("first/a", 1 << 21)
"""
"""Writes to files by these names: one byte, then two, then four; and once more when `current` leads elsewhere."""


def test_a_rule_on_a_link_holds_for_what_the_link_leads_to_by_any_name(
    agent: Path, target: Path, tmp_path: Path
) -> None:
    for name in ("first", "second", "firstly"):
        (target / name).mkdir()
    (target / "current").symlink_to("first")
    (target / "link").symlink_to("first/a")
    setup = tmp_path / "setup.yaml"
    setup.write_text("contract: rules.yaml\nnode: no\nsinks: [{json lines: {directory: lines}}]\n")
    rule = f"{{monitor: current, path: {target}/current, calls: [write], bandwidth: 1GB/s}}"
    (tmp_path / "rules.yaml").write_text(f"rules: [{rule}]")
    within = ["current/a", "first//a", "first/./b", "second/../first/a", "link"]
    names = [*within, "firstly/a", "current/../second/b"]
    command = [sys.executable, "-c", SPELLED, str(target), *names]
    recorded = Command(["record", "--setup", setup, "--out", tmp_path / "record", "--", *command])

    def measured() -> int:
        measures = [document["measured"] for document in documents(tmp_path / "lines") if document["kind"] == "rule"]
        return sum(measure for measure in measures if isinstance(measure, int))

    by_names = (1 << len(within)) - 1
    until(lambda: measured() >= by_names, "the writes to be seen")
    assert measured() == by_names
    (target / "relink").touch()
    until(lambda: measured() > by_names, "the link to be followed again")
    (target / "go on").touch()
    code, _, err = recorded.end()
    assert code == 0, err
    assert measured() >> 20 == 1


WRITES_BY_NAMES = """\
import sys
for place, name in enumerate(sys.argv[1:]):
    with open(name, "ab", buffering=0) as file:
        file.write(bytes(1 << place))
"""
"""Writes one byte to the first file, two to the second, then four, …"""


def test_a_hard_link_is_held_by_rules_on_its_file_and_on_the_directory_that_the_name_is_in(
    agent: Path, target: Path, tmp_path: Path
) -> None:
    for name in ("ruled", "other"):
        (target / name).mkdir()
        (target / name / "file").write_text("")
    (target / "ruled/into").hardlink_to(target / "other/file")
    (target / "other/out").hardlink_to(target / "ruled/file")
    setup = tmp_path / "setup.yaml"
    setup.write_text("contract: rules.yaml\nnode: no\nsinks: [{json lines: {directory: lines}}]\n")
    rules = [
        f"{{monitor: {name}, path: {target}/{path}, calls: [write], bandwidth: 1GB/s}}"
        for name, path in (("directory", "ruled"), ("file", "ruled/file"))
    ]
    (tmp_path / "rules.yaml").write_text(f"rules: [{', '.join(rules)}]")
    names = [target / name for name in ("ruled/file", "ruled/into", "other/out", "other/file")]
    command: list[str | Path] = [sys.executable, "-c", WRITES_BY_NAMES, *names]
    code, _, err = ioassay("record", "--setup", setup, "--out", tmp_path / "record", "--", *command)
    assert code == 0, err
    measured: Counter[object] = Counter()
    for document in documents(tmp_path / "lines"):
        if document["kind"] == "rule":
            assert isinstance(document["measured"], int)
            measured[document["label"]] += document["measured"]
    assert measured == {"directory": 0b0011, "file": 0b0101}


def test_a_job_with_truncated_files_continues_and_its_record_reports_it(
    agent: Path, target: Path, tmp_path: Path
) -> None:
    (tmp_path / "rules.yaml").write_text("rules: [{monitor: all, calls: [write], bandwidth: 1GB/s}]")
    record = tmp_path / "record"
    cut = 'for file in "$IOASSAY_RECORD"/*.table "$IOASSAY_RECORD"/rules; do : > "$file"; done'
    command = ["sh", "-c", f"cat /dev/null; {cut}; echo still here; exit 7"]
    code, out, err = ioassay("record", "--contract", tmp_path / "rules.yaml", "--out", record, "--", *command)
    assert (code, "still here" in out) == (7, True), err
    assert "could not be kept" in err
    code, out, err = ioassay("profile", record)
    assert (code, "The tables of 1 process could not be kept" in out) == (0, True), out + err


def test_rules_change_while_a_command_runs_and_a_directory_shows_it_live(
    agent: Path, contract: Path, target: Path, tmp_path: Path
) -> None:
    record, lines = tmp_path / "record", tmp_path / "lines"
    setup = tmp_path / "setup.yaml"
    setup.write_text("node: no\nsinks: [{json lines: {directory: lines}}]\n")
    command = Command(["record", "--setup", setup, "--out", record, "--", "sh", "-c", LOOP.format(path=target)])
    until(lambda: any(document["kind"] == "io" for document in documents(lines)), "calls to be seen")
    assert not any(document["kind"] in ("rule", "alert") for document in documents(lines))
    code, out, err = ioassay("watch", "set", record, contract)
    assert (code, out) == (0, "new: many stats\n"), err
    until(lambda: any(document["kind"] == "alert" for document in documents(lines)), "an alert")
    code, out, _ = ioassay("watch", "--once", lines)
    assert code == 0
    assert "many stats" in out
    assert "broken" in out
    code, out, _ = ioassay("watch", "--json", "--once", lines)
    assert code == 0
    assert {"io", "job", "alert", "rule", "agent"} <= {json.loads(line)["kind"] for line in out.splitlines()}
    os.kill(command.process.pid, signal.SIGTERM)
    code, _, err = command.end()
    assert code == 128 + signal.SIGTERM, err
    code, _, err = ioassay("watch", "set", record, contract)
    assert (code, f"{record} has ended" in err) == (2, True), err


def test_the_view_of_this_node_ends_its_agent_with_ctrl_c(agent: Path, target: Path, tmp_path: Path) -> None:
    (target / "file").touch()
    loop = ["sh", "-c", LOOP.format(path=target)]
    recorded = Command(["record", "--out", tmp_path / "record", "--", *loop])
    view = Command(["watch", "--json"])
    assert view.process.stdout is not None
    while True:  # no more than there are documents in a second
        document = json.loads(view.process.stdout.readline())
        if document["kind"] == "io" and document["class"] == "stat":
            break
    started = subprocess.run(
        ["pgrep", "--parent", str(view.process.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert started
    os.kill(view.process.pid, signal.SIGINT)
    code, _, err = view.end()
    assert code == 0, err
    # The agent may have notes about what others record on this machine.
    assert all(line.startswith("ioassay-agent: ") for line in err.splitlines())
    assert all(is_gone(int(pid)) for pid in started)
    os.kill(recorded.process.pid, signal.SIGTERM)
    recorded.end()


def test_the_view_of_this_node_shows_the_rules_that_another_agent_gives(
    agent: Path, target: Path, tmp_path: Path
) -> None:
    (target / "file").touch()
    label, setup = f"stats of {tmp_path.name}", tmp_path / "setup.yaml"
    (tmp_path / "rules.yaml").write_text(f"rules: [{{monitor: {label}, calls: [stat], count: 1M/s}}]")
    setup.write_text("contract: rules.yaml\nnode: no\nsinks: [{json lines: {directory: lines}}]\n")
    loop = ["sh", "-c", LOOP.format(path=target)]
    recorded = Command(["record", "--setup", setup, "--out", tmp_path / "record", "--", *loop])
    until(
        lambda: [document for document in documents(tmp_path / "lines") if document["kind"] == "rule"][1:],
        "two seconds of rules",
    )
    code, out, err = ioassay("watch", "--once", "--json")
    assert code == 0, err
    rules = [
        document
        for document in map(json.loads, out.splitlines())
        if document["kind"] == "rule" and document["label"] == label
    ]
    assert [(document["allowed"], document["measured"] > 0) for document in rules] == [(1_000_000, True)] * len(rules)
    assert len(rules) >= 1
    code, out, err = ioassay("watch", "--once")
    assert (code, "RULE " in out) == (0, True), out + err
    os.kill(recorded.process.pid, signal.SIGTERM)
    recorded.end()


@pytest.mark.machine  # its rules reach what other tests record
def test_the_view_holds_what_is_recorded_meanwhile_to_its_contract(
    agent: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract, registrations = tmp_path / "rules.yaml", tmp_path / "registrations"
    contract.write_text("rules: [{throttle: hold, calls: [write], bandwidth: 5MB/s}]")
    monkeypatch.setenv("IOASSAY_REGISTRATIONS", str(registrations))
    view = Command(["watch", "--contract", contract, "--json"])
    until((registrations / "agent").exists, "the agent to begin")
    code, _, err = ioassay("watch", "--contract", contract, "--once")
    assert (code, "another agent serves it" in err, "`ioassay watch set`" in err) == (3, True, True), err
    writes = ["dd", "if=/dev/zero", f"of={target}/file", "bs=1000000", "count=20"]
    code, _, err = ioassay("record", "--out", tmp_path / "record", "--", *writes)
    assert code == 0, err
    view.process.send_signal(signal.SIGINT)
    code, out, err = view.end()
    assert (code, "rules do not reach" in err) == (0, False), err
    rules = [document for document in map(json.loads, out.splitlines()) if document["kind"] == "rule"]
    assert {document["label"] for document in rules} == {"hold"}
    assert sum(document["waits"] for document in rules) >= 10


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_the_view_leave_no_files(
    agent: Path, sent: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    view = Command(["watch", "--json"])
    assert view.process.stdout is not None
    assert view.process.stdout.readline()
    assert [*tmp_path.glob("ioassay-watch-*")]
    for _ in range(3):
        view.process.send_signal(sent)
        time.sleep(0.01)
    code, _, err = view.end()
    assert code == 0, err
    assert not [*tmp_path.glob("ioassay-watch-*")]


@pytest.mark.parametrize("arguments", [[], ["--once"], ["--json", "--once"]])
def test_the_failure_of_an_agent_is_reported_once(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = tmp_path / "agent"
    failing.write_text("#!/bin/sh\necho the kernel is too old >&2\nexit 3\n")
    failing.chmod(0o755)
    monkeypatch.setenv("IOASSAY_AGENT", str(failing))
    code, out, err = ioassay("watch", *arguments)
    assert (code, out, err.count("the kernel is too old")) == (3, "", 1), err


@pytest.mark.parametrize("arguments", [["--once"], ["--json", "--once"]])
def test_an_input_without_a_complete_second_is_an_error(arguments: list[str]) -> None:
    code, out, err = ioassay("watch", "-", *arguments)
    assert (code, out) == (3, "")
    assert "before its end" in err


def test_a_terminal_shows_tables_until_ctrl_c() -> None:
    controller, terminal = pty.openpty()
    reading, writing = os.pipe()
    command = ["env", "--default-signal=INT", "TERM=xterm", sys.executable, "-m", "ioassay", "watch", "-"]
    view = subprocess.Popen(command, stdin=reading, stdout=terminal, stderr=subprocess.PIPE)
    common = {"second": int(time.time()), "node": "n1"}
    for fields in ({"kind": "job", "job": "job-of-test", "command": "\x1b[2Jcp"}, {"kind": "agent"}):
        os.write(writing, json.dumps({**common, **fields}).encode() + b"\n")
    output = b""
    while b"job-of-test" not in output:
        output += os.read(controller, 1 << 16)
    os.kill(view.pid, signal.SIGINT)
    while view.poll() is None:  # it may wait for us to read
        if select.select([controller], [], [], 0.01)[0]:
            output += os.read(controller, 1 << 16)
    assert view.stderr is not None
    assert (view.returncode, view.stderr.read()) == (0, b"")
    assert b"[2Jcp" in output
    assert b"\x1b[2Jcp" not in output
    for descriptor in (controller, terminal, reading, writing):
        os.close(descriptor)


def test_a_setup_that_cannot_be_read_starts_nothing(tmp_path: Path) -> None:
    setup = tmp_path / "setup.yaml"
    setup.write_text("sinks: [{elasticsearch: {url: 'https://store', credentials: none}}]")
    code, _, err = ioassay("record", "--setup", setup, "--out", tmp_path / "record", "--", "touch", tmp_path / "x")
    assert code == 2
    assert "none cannot be read" in err
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "record").exists()

"""The agent with real recorded processes: its documents, its rules, and interference by users."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.mounts import mount_of
from ioassay.processes.engine import find_agent, find_engine
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol import record_layout
from ioassay.protocol.facts import PROTOCOL_VERSION

from .support import is_gone, until

# Calls of these processes are known: each writes and reads 4 KiB blocks until its file of orders is gone.
PROGRAM = """
import os, sys
path, orders, block = sys.argv[1], sys.argv[2], int(sys.argv[3])
file = os.open(path, os.O_RDWR | os.O_CREAT)
while os.path.exists(orders):
    os.pwrite(file, b"x" * block, 0)
    os.pread(file, block, 0)
"""

WRITES = {
    "label": "writes",
    "action": "monitor",
    "scope": "job",
    "calls": ["write"],
    "least_bytes": 0,
    "measure": "bandwidth",
    "limit": 1,
    "window_s": 1,
}


# The remark that a rule has once.
RESTORED = "the file of rules was truncated and is restored: rules did not hold for up to 2 s"


class Watched:
    """A recorded command that an agent watches, with the agent's documents."""

    def __init__(
        self,
        directory: Path,
        rules: Sequence[Mapping[str, Any]],
        block: int = 4096,
        processes: int = 2,
        command: str | None = None,
    ) -> None:
        self.directory = directory
        self.record, self.out, self.orders = directory / "record", directory / "out", directory / "orders"
        self.out.mkdir()
        self.orders.touch()
        self.data = directory / "data"
        self.data.mkdir()
        setup = directory / "agent.json"
        sinks = [{"kind": "json-lines", "directory": str(self.out)}]
        contract = directory / "contract.json"
        contract.write_text(json.dumps({"version": PROTOCOL_VERSION, "rules": list(rules)}))
        document = {"version": PROTOCOL_VERSION, "tables": "registered", "node": False, "sinks": sinks}
        setup.write_text(json.dumps({**document, "contract": str(contract), "run": None, "spool": None}))
        program = directory / "program.py"
        program.write_text(PROGRAM)
        commands = [
            f"{sys.executable} {program} {self.data}/{number} {self.orders} {block} &" for number in range(processes)
        ]
        shell = ["sh", "-c", command or f"{' '.join(commands)} wait"]
        recording = [str(find_engine()), "record", "--watch", str(setup), "--out", str(self.record), "--", *shell]
        self.process = subprocess.Popen(recording, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def documents(self, kind: str) -> list[dict[str, Any]]:
        """The agent's documents so far."""
        return documents_in(self.out, kind)

    def until(self, kind: str, **fields: object) -> dict[str, Any]:
        """Waits for a document with these fields."""
        matching: list[dict[str, Any]] = []

        def look() -> bool:
            assert self.process.poll() is None, self.process.communicate()[1]
            for document in self.documents(kind):
                if all(document.get(name) == value for name, value in fields.items()):
                    matching.append(document)
            return bool(matching)

        until(look, f"a document {kind} with {fields}")
        return matching[-1]

    def agent(self) -> int:
        """The process of the agent."""
        (pid,) = [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and _arguments(entry)[1:2] == [str(self.record / "watch/agent.json")]
        ]
        return pid

    def tables(self) -> Path:
        """The directory of the tables."""
        return Path(json.loads((self.record / "record.json").read_text())["tables"])

    def replace_contract(self, text: str) -> None:
        """Replaces the contract while the agent runs."""
        new = self.directory / "new.json"
        new.write_text(text)
        new.rename(self.record / "watch/contract.json")

    def end(self) -> str:
        """Ends the command; returns its standard error."""
        self.orders.unlink(missing_ok=True)
        _, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return err


def documents_in(directory: Path, kind: str) -> list[dict[str, Any]]:
    """Documents of a kind that a sink of JSON lines has written so far."""
    lines = [line for file in directory.glob("*.jsonl") for line in file.read_text().splitlines(keepends=True)]
    documents = [json.loads(line) for line in lines if line.endswith("\n")]
    return [document for document in documents if document["kind"] == kind]


def calls_reported(documents: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Calls of documents `io`, by class."""
    calls: Counter[str] = Counter()
    for document in documents:
        calls[document["class"]] += document["calls"]
    return dict(calls)


def calls_recorded(record: Path) -> dict[str, int]:
    """Calls of a record, by class, those elsewhere among them."""
    operations = load_profile([record]).process_operations
    return dict(operations.group_by("operation").agg(pl.sum("calls")).rows())


def _arguments(entry: Path) -> list[str]:
    try:
        return (entry / "cmdline").read_text().split("\0")
    except OSError:
        return []


@contextmanager
def watched(directory: Path, *rules: Mapping[str, Any], **more: Any) -> Iterator[Watched]:
    """Watches a command until the end of the block."""
    recorded = Watched(directory, rules, **more)
    try:
        yield recorded
    finally:
        recorded.orders.unlink(missing_ok=True)
        try:
            recorded.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(recorded.process.pid, signal.SIGKILL)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tables in the test's directory, because a killed record leaves them."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_the_agent_says_every_call_once_and_goes_with_the_command(tmp_path: Path) -> None:
    with watched(tmp_path, WRITES) as command:
        command.until("job", processes=3)
        first = command.until("io", **{"class": "write"})
        until(lambda: len({doc["second"] for doc in command.documents("io")}) >= 3, "three seconds")
        agent = command.agent()
        command.end()
        until(lambda: is_gone(agent), "the agent to end")
    assert first["node"] == os.uname().nodename
    assert first["job"] == "record"
    assert calls_reported(command.documents("io")) == calls_recorded(command.record)
    profile = load_profile([command.record])
    ids = [document["id"] for document in command.documents("io")]
    assert len(ids) == len(set(ids))
    written = profile.file_operations.filter(pl.col("operation") == "write")["bytes"].sum()
    assert sum(doc["measured"] for doc in command.documents("rule")) == written
    jobs = command.documents("job")
    assert sum(doc["began"] for doc in jobs) == sum(doc["ended"] for doc in jobs) == 3


def test_a_broken_rule_names_the_process_and_its_file(tmp_path: Path) -> None:
    other = {**WRITES, "label": "elsewhere", "path": "/nowhere"}
    small = {**WRITES, "most_bytes": 1 << 20}
    higher = {**small, "label": "more", "limit": 2}
    with watched(tmp_path, small, other, higher, processes=1) as command:
        alert = command.until("alert")
        assert alert["label"] == "more"  # of rules that differ in their limit, the highest broken one
        assert (alert["measured"] > 2, alert["allowed"], alert["window_s"]) == (True, 2, 1)
        assert alert["file"] == str(command.data / "0")
        mount = mount_of(command.data)
        assert mount is not None
        alert_mount = (alert["mount_point"], alert["file_system"], alert["mount_source"] or None)
        assert alert_mount == (mount.point, mount.file_system, mount.source)
        assert alert["sizes"] == "0-1048576"
        assert str(command.data / "0") in alert["command"]
        assert f"{alert['pid']}" in {entry.name for entry in Path("/proc").iterdir()}
        command.end()
    assert {document["label"] for document in command.documents("alert")} == {"more"}


def test_an_agent_that_is_stopped_judges_its_last_second_and_the_window_that_is_open(tmp_path: Path) -> None:
    with watched(tmp_path, {**WRITES, "window_s": 86_400}) as command:
        command.until("io", **{"class": "write"})
        agent = command.agent()
        # The agent is stopped in the middle of a second, which then has many calls.
        time.sleep(1.5 - time.time() % 1)
        os.kill(agent, signal.SIGTERM)
        until(lambda: is_gone(agent), "the agent to end")
        command.end()
    rules, alerts = command.documents("rule"), command.documents("alert")
    assert max(doc["second"] for doc in rules) == max(doc["second"] for doc in command.documents("io"))
    assert sum(doc["measured"] for doc in alerts) == sum(doc["measured"] for doc in rules) > 0
    ids = [doc["id"] for doc in (*rules, *alerts)]
    assert len(ids) == len(set(ids))


def test_rules_change_while_the_command_runs_and_a_malformed_contract_changes_nothing(tmp_path: Path) -> None:
    with watched(tmp_path, WRITES) as command:
        command.until("alert", label="writes")
        for text in ("{", '{"version": 99, "rules": []}', json.dumps({"version": PROTOCOL_VERSION, "rules": [{}]})):
            command.replace_contract(text)
            log = command.record / f"watch/agent-{os.uname().nodename}.log"
            until(lambda: "contract.json" in log.read_text(), "the complaint")  # noqa: B023
        last = max(doc["second"] for doc in command.documents("alert"))
        until(lambda: any(doc["second"] > last + 1 for doc in command.documents("alert")), "the rule to hold on")
        reads = {**WRITES, "label": "reads", "calls": ["read"]}
        command.replace_contract(json.dumps({"version": PROTOCOL_VERSION, "rules": [reads]}))
        changed = command.until("alert", label="reads")
        until(lambda: any(doc["second"] > changed["second"] + 1 for doc in command.documents("alert")), "alerts")
        late = [doc for doc in command.documents("alert") if doc["second"] > changed["second"]]
        assert {doc["label"] for doc in late} == {"reads"}
        assert "contract.json" in command.end()


def test_rules_are_for_the_jobs_that_they_select(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ACCOUNT", "ocean")
    monkeypatch.setenv("SLURM_JOB_NAME", "run-7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    user, group = os.geteuid(), os.getegid()
    ours = {"users": [user], "groups": [group], "projects": ["oc*"], "names": ["a", "run-[0-9]"], "least_nodes": 2}
    others = [{"users": [user + 1]}, {"projects": ["climate"]}, {"names": ["run"]}, {"most_nodes": 1}]
    rules = [{**WRITES, "label": "ours", "jobs": ours}]
    rules += [{**WRITES, "label": f"other {number}", "jobs": jobs} for number, jobs in enumerate(others)]
    memory = {**WRITES, "calls": [], "measure": "resident-memory"}
    rules += [{**memory, "label": "memory", "jobs": ours}, {**memory, "label": "other memory", "jobs": others[0]}]
    with watched(tmp_path, *rules) as command:
        alert = command.until("alert", label="ours")
        command.until("alert", label="memory")
        assert (alert["user"], alert["scope"]) == (str(user), "job")
        assert f"user {user}, group {group}, project oc*, job name a or run-[0-9], nodes 2 or more" == alert["jobs"]
        swapped = [{**WRITES, "label": "ours", "jobs": others[0]}, {**WRITES, "label": "other 0", "jobs": ours}]
        command.replace_contract(json.dumps({"version": PROTOCOL_VERSION, "rules": swapped}))
        changed = command.until("alert", label="other 0")
        until(lambda: any(doc["second"] > changed["second"] for doc in command.documents("alert")), "more alerts")
        late = [doc for doc in command.documents("alert") if doc["second"] > changed["second"]]
        assert {doc["label"] for doc in late} == {"other 0"}
        before = [doc for doc in command.documents("rule") if doc["second"] < changed["second"]]
        assert {doc["label"] for doc in before} == {"ours", "memory"}


def test_records_of_a_user_share_one_limit(tmp_path: Path) -> None:
    throttle = {**WRITES, "label": "user", "action": "throttle", "scope": "user", "limit": 1 << 20}
    with watched(tmp_path, throttle, block=64 << 10) as command:
        # It starts with a part of the limit until it has looked for other nodes.
        until(lambda: len(command.documents("rule")) >= 7, "seven seconds")
        states = command.documents("rule")[3:7]
        assert sum(state["measured"] for state in states) == pytest.approx(4 << 20, rel=0.1)
        assert {(state["job"], state["user"], state["share"]) for state in states} == {("", str(os.geteuid()), 1 << 20)}
        assert list((command.record / "watch/limits").glob("*/*.json"))
    until(lambda: not (command.record / "watch/limits").exists(), "the agent to leave nothing")


def test_a_throttled_job_is_held_to_its_rate_and_let_go_when_the_agent_is_killed(tmp_path: Path) -> None:
    rate = 1 << 20
    throttle = {**WRITES, "label": "slow", "action": "throttle", "path": str(tmp_path / "data"), "limit": rate}
    with watched(tmp_path, throttle, block=64 << 10) as command:
        until(lambda: len(command.documents("rule")) >= 5, "five seconds")
        # The first second is not a whole one.
        states = command.documents("rule")[1:5]
        assert sum(state["measured"] for state in states) == pytest.approx(4 * rate, rel=0.1)
        assert all(state["waits"] > 0 for state in states)
        assert command.until("alert", label="slow")["action"] == "throttle"
        assert command.until("job")["throttled_ns"] > 0
        os.kill(command.agent(), signal.SIGKILL)
        written = _written(command)
        until(lambda: _written(command) > written + 20 * rate, "the job to go on unhindered")
        command.end()


def _written(command: Watched) -> int:
    """Bytes that the processes have written so far, as the kernel counts them."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and str(command.orders) in _arguments(entry):
            try:
                lines = (entry / "io").read_text().splitlines()
            except OSError:
                continue
            total += int(dict(line.split(": ") for line in lines)["wchar"])
    return total


def test_a_rule_says_which_programs_it_does_not_reach(tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text(
        "#include <unistd.h>\nint main(int c, char **v) { while (!access(v[1], 0)) usleep(1000); return 0; }"
    )
    program = tmp_path / "static"
    subprocess.run(["cc", "-static", "-o", program, source], check=True)
    throttle = {**WRITES, "label": "slow", "action": "throttle", "limit": 1 << 20}
    with watched(tmp_path, throttle, WRITES, command=f"exec {program} {tmp_path}/orders") as command:
        state = command.until("rule", label="slow")
        pid = command.until("job", unrecorded=1)
        command.end()
    assert re.fullmatch(r"process \d+ cannot be reached: a static or setuid program, or one in .*", state["remark"])
    assert pid["processes"] == 0
    assert [document for document in command.documents("rule") if document["label"] == "writes"] == []


def test_tables_that_are_cut_or_forged_under_the_agent_harm_neither_it_nor_the_job(tmp_path: Path) -> None:
    with watched(tmp_path, WRITES) as command:
        command.until("io")
        tables = command.tables()
        agent = command.agent()
        live = next(iter(tables.glob("*.table")))
        forged = live.read_bytes()
        (tables / "1-1.table").write_bytes(forged)  # says that it is another one's
        (tables / "2-2.table").write_bytes(record_layout.MAGIC + b"\xff" * 5000)
        (tables / "3-3.table").write_bytes(b"")
        (tables / "4-4.table").symlink_to("/etc/shadow")
        os.mkfifo(tables / "5-5.table")
        (tables / "6-6.table").hardlink_to(command.directory / "agent.json")
        cut = tables / "7-7.table"
        number = record_layout.HEADER.fields["process"][1]
        cut.write_bytes(forged[:number] + b"\x07\0\0\0" + forged[number + 4 :])
        refused = command.until("agent", refused_tables=6)
        os.truncate(cut, 100)
        unreadable = command.until("agent", refused_tables=7)
        until(lambda: command.documents("agent")[-1]["second"] > unreadable["second"] + 2, "the agent to go on")
        assert unreadable["second"] > refused["second"]
        assert command.documents("agent")[-1]["refused_tables"] == 7
        assert not is_gone(agent)
        for name in ("1-1", "2-2", "3-3", "4-4", "5-5", "6-6", "7-7"):
            (tables / f"{name}.table").unlink()
        command.end()


def test_a_throttle_rule_says_which_processes_it_does_not_hold_any_more(tmp_path: Path) -> None:
    throttle = {**WRITES, "label": "slow", "action": "throttle", "limit": 1 << 20}
    with watched(tmp_path, throttle, block=64 << 10) as command:
        assert command.until("rule", label="slow")["remark"] == ""
        os.truncate(next(iter(command.tables().glob("*.table"))), 0)
        command.until("rule", remark="1 process not held: tables cannot be read, perhaps truncated")
        log = (command.record / "watch").glob("agent-*.log")
        assert "a table is not read: its file was truncated while the process runs" in "".join(map(Path.read_text, log))
        command.end()


@pytest.mark.parametrize("left_bytes", [0, 4096, 100_000])
def test_a_job_whose_file_of_rules_is_truncated_is_held_to_its_rate_again(tmp_path: Path, left_bytes: int) -> None:
    rate = 4 << 20
    throttle = {**WRITES, "label": "slow", "action": "throttle", "path": str(tmp_path / "data"), "limit": rate}
    with watched(tmp_path, throttle, block=16 << 10) as command:
        first = command.until("rule", label="slow")
        assert first["remark"] == ""
        os.truncate(command.tables() / "rules", left_bytes)
        begin = command.until("rule", remark=RESTORED)["second"] + 2
        until(lambda: command.documents("rule")[-1]["second"] >= begin, "the rule to hold again")
        written, began = _written(command), time.monotonic()
        until(lambda: command.documents("rule")[-1]["second"] >= begin + 5, "five seconds")
        # The kernel's count is independent of the recorders.
        assert (_written(command) - written) / (time.monotonic() - began) == pytest.approx(rate, rel=0.05)
        states = {state["second"]: state for state in command.documents("rule")}
        measured = [states[second]["measured"] for second in range(begin + 1, begin + 5)]
        assert sum(measured) == pytest.approx(4 * rate, rel=0.05)
        assert [state["second"] for state in states.values() if state["remark"]] == [begin - 2]
        log = "".join(file.read_text() for file in (command.record / "watch").glob("agent-*.log"))
        assert log.count(RESTORED) == 1
        command.end()


def test_a_job_is_held_where_its_processes_cannot_open_the_file_of_rules(tmp_path: Path) -> None:
    rate = 4 << 20
    throttle = {**WRITES, "label": "slow", "action": "throttle", "path": str(tmp_path / "data"), "limit": rate}
    with watched(tmp_path, throttle, block=16 << 10) as command:
        command.until("rule", label="slow")
        (command.tables() / "rules").unlink()
        begin = command.documents("rule")[-1]["second"]
        until(lambda: command.documents("rule")[-1]["second"] >= begin + 6, "six seconds")
        states = {state["second"]: state["measured"] for state in command.documents("rule")}
        assert sum(states[second] for second in range(begin + 2, begin + 6)) == pytest.approx(4 * rate, rel=0.05)
        # No process waits for a dead agent.
        os.kill(command.agent(), signal.SIGKILL)
        written = _written(command)
        until(lambda: _written(command) > written + 20 * rate, "the job to go on unhindered")
        command.end()


def test_a_second_agent_leaves_the_first_alone(tmp_path: Path) -> None:
    with watched(tmp_path, WRITES) as command:
        command.until("io")
        pid = command.agent()
        setup, _, registrations = _arguments(Path(f"/proc/{pid}"))[1:4]
        agent = Path(f"/proc/{pid}/exe").readlink()
        second = subprocess.run(
            [agent, setup, "--registrations", registrations], capture_output=True, timeout=30, check=False
        )
        assert (second.returncode, second.stderr) == (0, b"")
        with (command.tables() / "rules").open("r+b") as rules, pytest.raises(BlockingIOError):
            fcntl.lockf(rules, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        command.end()


def test_the_agent_ends_where_its_record_was_killed(tmp_path: Path) -> None:
    with watched(tmp_path, WRITES) as command:
        command.until("io")
        agent = command.agent()
        _, _, _, registrations = _arguments(Path(f"/proc/{agent}"))[:4]
        command.process.kill()
        command.process.wait()
        until(lambda: is_gone(agent), "the agent to end")
        assert not Path(registrations).exists()


def test_a_command_goes_on_where_no_agent_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOASSAY_AGENT", "/no/such/agent")
    with watched(tmp_path, WRITES, processes=1) as command:
        until((command.data / "0").exists, "the command to run")
        assert "nobody watches the command: /no/such/agent" in command.end()
    assert list(command.record.glob("*.tables"))


def test_the_agent_refuses_a_wrong_setup_in_words(tmp_path: Path) -> None:
    agent = find_agent()
    setup = tmp_path / "agent.json"
    for text, wrong in (("{", "EOF"), ('{"version": 99}', "missing field"), ("", "EOF")):
        setup.write_text(text)
        refused = subprocess.run([agent, setup], capture_output=True, text=True, timeout=30, check=False)
        assert (refused.returncode, wrong in refused.stderr, str(setup) in refused.stderr) == (3, True, True)
    started = time.monotonic()
    assert subprocess.run([agent], capture_output=True, timeout=30, check=False).returncode == 2
    assert time.monotonic() - started < 30


class AgentOfNode:
    """An agent that watches all recorded processes of the node, with its documents of one job.

    Its rules reach those of other tests too, so what has one needs the machine for itself.
    """

    def __init__(self, directory: Path, *rules: Mapping[str, Any]) -> None:
        self.job = f"node-{os.getpid()}-{directory.name}"
        self.out, self.registrations = directory / "out", directory / "registrations"
        contract, setup = directory / "contract.json", directory / "agent.json"
        contract.write_text(json.dumps({"version": PROTOCOL_VERSION, "rules": list(rules)}))
        document = {
            "version": PROTOCOL_VERSION,
            "tables": "node",
            "node": False,
            "contract": str(contract),
            "run": None,
        }
        sinks = [{"kind": "json-lines", "directory": str(self.out)}]
        setup.write_text(json.dumps({**document, "sinks": sinks, "spool": None}))
        self.arguments = [str(find_agent()), str(setup), "--registrations", str(self.registrations)]
        self.process = subprocess.Popen(self.arguments, stderr=subprocess.PIPE, text=True)
        until((self.registrations / "agent").exists, "the agent to begin")

    def environment(self) -> dict[str, str]:
        """The environment of a recorder that uses this agent, which does not serve /run."""
        return {**os.environ, "IOASSAY_REGISTRATIONS": str(self.registrations), "SLURM_JOB_ID": self.job}

    def documents(self, kind: str) -> list[dict[str, Any]]:
        """Its documents of the job."""
        return [document for document in documents_in(self.out, kind) if document.get("job") == self.job]

    def end(self) -> str:
        """Ends it; returns its standard error."""
        self.process.terminate()
        _, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, err
        return err


@contextmanager
def agent_of_node(directory: Path, *rules: Mapping[str, Any]) -> Iterator[AgentOfNode]:
    """Runs an agent of the node until the end of the block."""
    agent = AgentOfNode(directory, *rules)
    try:
        yield agent
    finally:
        agent.process.kill()
        agent.process.wait()


@pytest.mark.machine
def test_a_record_on_a_watched_node_is_watched_from_its_first_call_to_its_last(tmp_path: Path) -> None:
    with agent_of_node(tmp_path, WRITES) as agent:
        name = f"{agent.job}-record"
        record = [str(find_engine()), "record", "--out", f"{tmp_path}/{name}", "--"]
        program = (
            f"for number in range(1000): open(f'{tmp_path}/{{number % 7}}', 'w').write('x' * 100)\n"
            "import subprocess\nsubprocess.run(['true'])"
        )
        record += [sys.executable, "-c", program]
        command = subprocess.run(record, env=agent.environment(), capture_output=True, text=True, check=False)
        assert (command.returncode, command.stderr) == (0, f"ioassay-engine: recorded in {tmp_path}/{name}\n")
        until(lambda: agent.documents("job"), "the job")
        assert agent.end() == ""
        assert calls_reported(agent.documents("io")) == calls_recorded(tmp_path / name)
        assert sum(document["measured"] for document in agent.documents("rule")) == 100_000
        # A child of vfork has no table of its own that could say which job it is of.
        assert not [document for document in documents_in(agent.out, "job") if document["job"] == name]
        assert [sum(document[what] for document in agent.documents("job")) for what in ("began", "ended")] == [2, 2]
        assert sorted(path.name for path in agent.registrations.iterdir()) == ["agent", "agent.lock"]


@pytest.mark.machine
def test_a_job_is_held_to_the_rules_of_its_node_and_its_record_may_be_killed(tmp_path: Path) -> None:
    throttle = {**WRITES, "label": "slow", "action": "throttle", "limit": 1 << 20}
    with agent_of_node(tmp_path, throttle) as agent:
        orders, program = tmp_path / "orders", tmp_path / "program.py"
        orders.touch()
        program.write_text(PROGRAM)
        work = [sys.executable, str(program), f"{tmp_path}/data", str(orders), str(64 << 10)]
        record = [str(find_engine()), "record", "--stop-with-parent", "--out", f"{tmp_path}/record", "--", *work]
        command = subprocess.Popen(record, env=agent.environment(), start_new_session=True)
        try:
            until(lambda: len(agent.documents("rule")) >= 4, "four seconds")
            assert sum(state["measured"] for state in agent.documents("rule")[1:4]) == pytest.approx(3 << 20, rel=0.1)
            command.kill()
            command.wait()
            until(lambda: not list(agent.registrations.glob("*.json")), "the agent to see that the record was killed")
        finally:
            orders.unlink()
            command.kill()
            command.wait()


@pytest.mark.machine
def test_one_agent_serves_a_node(tmp_path: Path) -> None:
    with agent_of_node(tmp_path) as agent:
        second = subprocess.run(agent.arguments, capture_output=True, text=True, timeout=30, check=False)
        assert (second.returncode, "another agent serves it" in second.stderr) == (3, True)


@pytest.mark.machine
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and the processes of all users need root")
def test_the_agent_of_a_node_sees_a_job_in_namespaces_of_its_own(tmp_path: Path) -> None:
    with agent_of_node(tmp_path, WRITES) as agent:
        orders, program = tmp_path / "orders", tmp_path / "program.py"
        orders.touch()
        program.write_text(PROGRAM)
        # Its tables are where nobody else sees them, and it knows its processes by other numbers.
        work = f"exec {sys.executable} {program} {tmp_path}/data {orders} 4096"
        record = f"exec {find_engine()} record --tables /mnt --out {tmp_path}/record -- sh -c '{work}'"
        script = f"mount -t tmpfs tables /mnt && {record}"
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]
        recorded = subprocess.Popen(apart, env=agent.environment(), stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: agent.documents("alert"), "an alert")
            until(lambda: any(document["user_ns"] > 0 for document in agent.documents("job")), "its processor time")
            assert agent.documents("alert")[-1]["file"] == f"{tmp_path}/data"
            assert agent.documents("alert")[-1]["pid"] in {"1", "2", "3", "4", "5"}
            orders.unlink()
            _, err = recorded.communicate(timeout=60)
            assert (recorded.returncode, "did not look" in err) == (0, False), err
            agent.end()
        finally:
            orders.unlink(missing_ok=True)
            recorded.kill()
            recorded.wait()
        assert calls_reported(agent.documents("io")) == calls_recorded(tmp_path / "record")

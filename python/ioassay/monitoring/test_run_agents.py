"""The agents of a run, played by scripts on this node."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ioassay.monitoring import run_agents
from ioassay.monitoring.run_agents import RunAgents
from ioassay.remote.process import Process
from ioassay.store.run_writer import RunWriter
from ioassay.store.watch_document import WatchDocument, WatchedHost
from ioassay.testing.builder import RunBuilder

SAYS_ITS_SETUP = """setup=$(cat $1)
echo "{\\"kind\\":\\"setup\\",\\"second\\":1,\\"setup\\":$setup,\\"pid\\":$$}"
exec sleep 1000"""
NOTES_A_FAULT = f"echo 'ioassay-agent: the store refuses connections' >&2\n{SAYS_ITS_SETUP}"
FAILS = "echo 'the setup /dev/stdin: version 9 instead of 2' >&2; exit 3"
SAYS_NOTHING = "exec sleep 1000"


@pytest.fixture
def run(tmp_path: Path) -> Any:
    document = RunBuilder().workload("w").clients(1).build().document
    writer = RunWriter.create(tmp_path / "run", document, {case.id: {} for case in document.cases})  # type: ignore[typeddict-item]
    with writer:
        yield writer


def _agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    file = tmp_path / "agent"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("IOASSAY_AGENT", str(file))


def _here(run: RunWriter) -> tuple[WatchedHost, list[dict[str, Any]]]:
    """This node as it was stored, and what its agent wrote."""
    assert run.watch is not None
    (host,) = run.watch.hosts
    lines = (run.path / "watch" / host.file).read_text().splitlines()
    return host, [json.loads(line) for line in lines]


def test_the_agent_of_this_node_gets_the_run_and_the_sinks_of_the_site(
    run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agent(tmp_path, monkeypatch, SAYS_ITS_SETUP)
    (tmp_path / "setup.yaml").write_text("sinks:\n  - parquet: {directory: store}\n")
    messages: list[str] = []
    with RunAgents(run, WatchDocument(setup=str(tmp_path / "setup.yaml")), messages.append):
        pass
    host, (document,) = _here(run)
    setup = document["setup"]
    assert (host.name, host.role, host.remark, messages) == (socket.gethostname(), "client", None, [])
    assert setup["run"] == str(run.path)
    assert setup["node"]
    sink = {"kind": "parquet", "directory": str(tmp_path / "store"), "file_s": 60}
    assert setup["sinks"] == [{"kind": "json-lines", "directory": None}, sink]
    assert setup["spool"]["directory"] == str(run.path / "watch/spool")
    assert not Path(f"/proc/{document['pid']}").exists()


def test_an_agent_that_does_not_start_is_reported_and_the_run_continues(
    run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agent(tmp_path, monkeypatch, FAILS)
    messages: list[str] = []
    with RunAgents(run, WatchDocument(), messages.append):
        pass
    why = "the setup /dev/stdin: version 9 instead of 2"
    assert messages == [f"{socket.gethostname()} is not watched: {why}."]
    assert _here(run)[0].remark == why


def test_the_last_fault_of_an_agent_is_reported_at_the_end(
    run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agent(tmp_path, monkeypatch, NOTES_A_FAULT)
    messages: list[str] = []
    with RunAgents(run, WatchDocument(), messages.append):
        assert messages == []
    assert messages == [f"The agent of {socket.gethostname()}: the store refuses connections"]
    assert _here(run)[0].remark is None


def test_an_agent_without_a_document_is_stopped(
    run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agent(tmp_path, monkeypatch, SAYS_NOTHING)
    monkeypatch.setattr(run_agents, "_FIRST_DOCUMENT_S", 0.2)
    asked_processes: list[Process] = []

    def note(process: Process) -> None:
        asked_processes.append(process)

    monkeypatch.setattr(Process, "ask_to_end", note)
    messages: list[str] = []
    with RunAgents(run, WatchDocument(), messages.append):
        assert len(asked_processes) == 1
        monkeypatch.undo()
    assert "no document arrived" in messages[0]


def test_an_agent_that_ends_early_is_reported_at_the_end(
    run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agent(tmp_path, monkeypatch, SAYS_ITS_SETUP)
    messages: list[str] = []
    with RunAgents(run, WatchDocument(), messages.append) as agents:
        assert messages == []
        os.kill(_here(run)[1][0]["pid"], 9)
        (agent,) = agents._agents
        while not agent.process.has_ended:
            time.sleep(0.01)
    assert "its agent ended during the run" in messages[0]
    assert "its agent ended during the run" in (_here(run)[0].remark or "")


def test_nothing_is_watched_without_an_agent(run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOASSAY_AGENT", str(tmp_path / "nowhere"))
    messages: list[str] = []
    with RunAgents(run, WatchDocument(), messages.append):
        pass
    assert messages[0].startswith("Nothing is watched: IOASSAY_AGENT=")


def test_documents_of_a_later_attempt_begin_on_a_new_line(
    run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agent(tmp_path, monkeypatch, SAYS_ITS_SETUP)
    run.note_watch(WatchDocument())
    file = run.path / "watch" / f"{socket.gethostname()}.jsonl"
    file.write_text('{"kind":"cp')
    with RunAgents(run, WatchDocument(), lambda message: None):
        pass
    cut, complete = file.read_text().splitlines()
    assert cut == '{"kind":"cp'
    assert json.loads(complete)["kind"] == "setup"


def test_ctrl_c_after_the_last_phase_ends_the_wait_alone(
    run: RunWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agent(tmp_path, monkeypatch, SAYS_ITS_SETUP)

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with RunAgents(run, WatchDocument(), lambda message: None):
        monkeypatch.setattr(run_agents, "time", SimpleNamespace(sleep=interrupted))
    host, (document,) = _here(run)
    assert host.remark is None
    assert not Path(f"/proc/{document['pid']}").exists()

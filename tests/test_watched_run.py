"""Watched runs: the real agent on clients and servers, here and in a lab, which leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ioassay.errors import CannotRun
from ioassay.lab.library import LABS, read
from ioassay.processes import engine
from ioassay.store.run_directory import load
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.watch_document import WatchDocument, read_watch

from .support import LONG, Measurement, ioassay, skip_without, study, until, workload

REPLICATED = """\
name: {name}
title: Two copies on two servers
hosts: 2
servers: 2
storage:
  gluster: {{bricks: 2, replicas: 2}}
"""

SLOW = """\
name: slow
title: Writes that take some seconds
question: What do the servers do meanwhile?
clients: [2]
steps:
  - write: {rate: 40MB/s}
workloads:
  w: {title: w, layout: N-N, order: sequential, transfer: 1MiB, total: 160MiB}
"""
"""Long enough to have seconds of its own, however fast the disks are."""


@pytest.fixture(autouse=True)
def agent() -> None:
    try:
        engine.find_agent()
    except CannotRun as error:
        pytest.skip(f"no agent: {error.message}")


def _watch(run: Path) -> WatchDocument:
    with StoredDirectory.open(run) as directory:
        watch = read_watch(directory)
    assert watch is not None
    return watch


def _agents(run: Path) -> list[psutil.Process]:
    """The agents that write into a run."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.info["cmdline"] and process.info["cmdline"][-1:] == ["/dev/stdin"] and str(run) in _opened(process)
    ]


def _opened(process: psutil.Process) -> str:
    try:
        return os.readlink(f"/proc/{process.pid}/fd/1")
    except OSError:
        return ""


def test_a_watched_run_has_documents_of_this_node_and_no_agent_remains(target: Path, tmp_path: Path) -> None:
    code, _, err = ioassay(
        "run", study(tmp_path, workload("w")), "--target", target, "--watch", "--out", tmp_path / "run"
    )
    assert code == 0, err
    (host,) = _watch(tmp_path / "run").hosts
    assert (host.role, host.remark) == ("client", None)
    watch = load(tmp_path / "run").watch
    assert watch is not None
    assert {"cpu", "memory", "disk", "agent"} <= {*watch.rows()["kind"]}
    assert (watch.tables.damaged_lines, watch.tables.unknown_lines) == (0, 0)
    assert _agents(tmp_path / "run") == []


def test_the_phases_are_marked_in_the_sinks_of_the_site(target: Path, tmp_path: Path) -> None:
    (tmp_path / "setup.yaml").write_text("sinks:\n  - json lines: {directory: store}\n")
    file = study(tmp_path, workload("w"))
    options: list[str | Path] = ["--watch", "--watch-setup", tmp_path / "setup.yaml"]
    code, _, err = ioassay("run", file, "--target", target, *options, "--out", tmp_path / "run")
    assert code == 0, err
    (store,) = (tmp_path / "store").glob("*.jsonl")
    documents = [json.loads(line) for line in store.read_text().splitlines()]
    marked = [
        (document["case"], document["phase"], document["bytes"])
        for document in documents
        if document["kind"] == "phase"
    ]
    measured = load(tmp_path / "run").measurements
    assert sorted(marked) == sorted(measured.select("case", "phase", "bytes").iter_rows())
    assert any(document["kind"] == "cpu" for document in documents)


def test_an_unreachable_server_is_reported_and_the_run_is_complete(target: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("w"))
    options = ["--watch", "--servers", "no-such-host.invalid"]
    code, _, err = ioassay("run", file, "--target", target, *options, "--out", tmp_path / "run")
    assert code == 0, err
    assert "no-such-host.invalid is not watched: " in err
    assert [host.remark is None for host in _watch(tmp_path / "run").hosts] == [False, True]
    assert "no-such-host.invalid was not watched" in (tmp_path / "run/report.html").read_text()


SSH = """\
#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
host=$1; shift
test "$host" = oss1 || { echo "ssh: Could not resolve hostname $host" >&2; exit 255; }
exec sh -c "$*"
"""
"""Takes its command as ssh does, as one line for a shell, and has this node be `oss1`."""


def test_servers_are_reached_by_ssh(target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text(SSH)
    (tmp_path / "bin/ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    options = ["--watch", "--servers", "oss1,oss2", "--out", str(tmp_path / "run")]
    code, _, err = ioassay("run", study(tmp_path, workload("w")), "--target", target, *options)
    assert code == 0, err
    assert "oss2 is not watched: ssh: Could not resolve hostname oss2." in err
    watch = load(tmp_path / "run").watch
    assert watch is not None
    assert {*watch.table("cpu")["role"]} == {"server", "client"}
    assert {*watch.table("cpu").filter(role="server")["host"]} == {"oss1"}
    assert _agents(tmp_path / "run") == []


def _has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it has gone between the two looks
        return True


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_agents_end_with_a_run_that_is_ended(target: Path, tmp_path: Path, name: str) -> None:
    measurement = Measurement(study(tmp_path, LONG), target, tmp_path / "run", "--watch")
    measurement.until_moving()
    (agent_pid,) = _agents(tmp_path / "run")
    os.kill(measurement.pid, signal.Signals[name])
    measurement.end()
    until(lambda: _has_ended(agent_pid), "the agent to end")


def test_a_run_that_is_resumed_is_watched_again(target: Path, tmp_path: Path) -> None:
    measurement = Measurement(study(tmp_path, LONG), target, tmp_path / "run", "--watch")
    measurement.until_moving()
    os.kill(measurement.pid, signal.SIGTERM)
    measurement.end()
    (host,) = _watch(tmp_path / "run").hosts
    before = (tmp_path / "run/watch" / host.file).read_bytes()
    measurement.shorten()
    assert ioassay("run", "--resume", tmp_path / "run")[0] == 0
    after = (tmp_path / "run/watch" / host.file).read_bytes()
    assert after.startswith(before)
    assert len(after) > len(before)


def test_servers_need_a_watched_run(target: Path, tmp_path: Path) -> None:
    code, _, err = ioassay("run", "quick", "--target", target, "--servers", "oss1", "--out", tmp_path / "run")
    assert (code, "--watch" in err) == (2, True)
    code, _, err = ioassay("run", "quick", "--target", target, "--watch", "--servers", "-x", "--out", tmp_path / "run")
    assert (code, "`-x` is not a host" in err) == (2, True)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[str]:
    """GlusterFS with two copies of everything. Its name."""
    name = f"watchtest-{os.getpid()}"
    file = tmp_path / "lab.yaml"
    file.write_text(REPLICATED.format(name=name))
    skip_without(read(LABS.find(str(file))))
    code, _, err = ioassay("lab", "up", file, "--disk", tmp_path)
    assert code == 0, err
    try:
        yield name
    finally:
        assert ioassay("lab", "down", name, "--force")[0] == 0


@pytest.mark.machine
def test_the_disks_of_replicating_servers_write_everything_twice(replicated: str, tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text(SLOW)
    code, _, err = ioassay(
        "run", tmp_path / "slow.yaml", "--target", f"lab:{replicated}", "--watch", "--out", tmp_path / "run"
    )
    assert code in (0, 1), err
    run = load(tmp_path / "run")
    assert run.watch is not None
    hosts = {host.name: host for host in run.watch.document.hosts}
    assert {name: host.role for name, host in hosts.items()} == {
        "server1": "server",
        "server2": "server",
        "client1": "client",
        "client2": "client",
    }
    assert all(host.remark is None and host.shares_machine for host in hosts.values())
    assert [len(host.devices or ()) for host in hosts.values()] == [1, 1, 0, 0]
    (phase,) = json.loads(ioassay("report", tmp_path / "run", "--format", "json")[1])["watched"]["phases"]
    written = phase["disk_write_bytes"] + (phase["late_write_bytes"] or 0)
    # Nothing but the data and some metadata is on these disks.
    assert 2.0 <= written / phase["write_bytes"] < 2.2
    code, text, _ = ioassay("report", tmp_path / "run", "--format", "md")
    assert code == 0
    assert "## Servers and devices" in text
    assert "times what the clients wrote" in text

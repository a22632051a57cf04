from __future__ import annotations

import socket

import pytest

from ioassay.launchers import LAUNCHERS, Node
from ioassay.monitoring import watched_hosts as module
from ioassay.monitoring.watched_hosts import Watched, watched_hosts
from ioassay.store.document import RunDocument
from ioassay.store.watch_document import WatchDocument
from ioassay.testing.builder import RunBuilder

HERE = socket.gethostname()


class _Started:
    """What stands in for starting engines on `nodes`."""

    def __init__(self, nodes: list[str]) -> None:
        self.nodes = [Node(name) for name in nodes]

    def of(self, run: RunDocument) -> _Started:
        return self


def _watched(
    monkeypatch: pytest.MonkeyPatch, nodes: list[str], launcher: str, watch: WatchDocument
) -> dict[str, Watched]:
    run = RunBuilder().workload("w").clients(1, 2).build().document
    run.launcher = launcher
    monkeypatch.setattr(module, "Start", _Started(nodes))
    return {host.entry.name: host for host in watched_hosts(run, watch)}


def test_this_node_is_the_client_without_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = _watched(monkeypatch, [], "local", WatchDocument())
    assert [(watched.entry.role, watched.is_here) for watched in hosts.values()] == [("client", True)]
    assert [*hosts] == [HERE]


def test_nodes_that_no_case_uses_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [*_watched(monkeypatch, ["n1", "n2", "n3"], "mpirun", WatchDocument())] == ["n1", "n2"]


@pytest.mark.parametrize(("launcher", "first"), [("mpirun", "ssh"), ("srun", "srun")])
def test_nodes_are_entered_as_their_launcher_allows(monkeypatch: pytest.MonkeyPatch, launcher: str, first: str) -> None:
    assert launcher in LAUNCHERS
    hosts = _watched(monkeypatch, ["n1", f"{HERE}.site.org"], launcher, WatchDocument())
    command = hosts["n1"].host.command("agent", "a b")
    assert command[0] == first
    assert command[-1] == ("a b" if first == "srun" else "agent 'a b'")
    assert "n1" in command
    assert hosts[f"{HERE}.site.org"].is_here


def test_a_host_that_is_both_counts_as_a_server_and_is_watched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = _watched(monkeypatch, ["n1", "n2"], "mpirun", WatchDocument(servers=["n2.site.org,oss1"]))
    assert {name: watched.entry.role for name, watched in hosts.items()} == {
        "n2.site.org": "server",
        "oss1": "server",
        "n1": "client",
    }


def test_each_host_given_as_an_address_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = _watched(monkeypatch, ["10.0.0.9"], "mpirun", WatchDocument(servers=["10.0.0.1,10.0.0.2"]))
    assert [*hosts] == ["10.0.0.1", "10.0.0.2", "10.0.0.9"]


def test_this_node_is_watched_too_if_there_are_sinks(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = _watched(monkeypatch, ["n1"], "mpirun", WatchDocument(setup="/site/agent.json"))
    assert {name: watched.entry.role for name, watched in hosts.items()} == {
        "n1": "client",
        HERE.partition(".")[0]: "control",
    }


def test_hosts_whose_names_differ_only_in_punctuation_have_different_files(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = _watched(monkeypatch, [], "local", WatchDocument(servers=["a_b,a+b"]))
    files = [watched.entry.file for watched in hosts.values()]
    assert len(set(files)) == len(files) == 3

"""The hosts that are watched during a run: the clients of its launcher, the typed servers, and this node.

Not: starting agents on them (`run_agents`).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import PurePath

from ioassay.execution.engine_start import Start
from ioassay.lab import record
from ioassay.lab.namespaces import Space
from ioassay.lab.process_handle import ProcessHandle
from ioassay.lab.running import find
from ioassay.launchers import Node, find_launcher
from ioassay.remote import SSH
from ioassay.remote.hosts import LAB, Host, hosts
from ioassay.store.document import RunDocument
from ioassay.store.watch_document import Role, WatchDocument, WatchedHost


@dataclass(frozen=True)
class Watched:
    """A host with its access and its stored entry."""

    host: Host
    entry: WatchedHost
    is_here: bool
    """True for this node."""


def servers(typed: Sequence[str]) -> list[Host]:
    """The typed servers. Raises `UsageError`, `CannotRun`."""
    return hosts(typed, "server", SSH, listening=False)


def watched_hosts(run: RunDocument, watch: WatchDocument) -> list[Watched]:
    """The hosts of `run`, each once: a host that is client and server counts as a server.

    Raises `UsageError`, `CannotRun` for a lab that is down.
    """
    hosts_by_name: dict[str, tuple[Host, Role]] = {_short(host.name): (host, "server") for host in _servers(run, watch)}
    for host in _clients(run):
        hosts_by_name.setdefault(_short(host.name), (host, "client"))
    this_node = _short(socket.gethostname())
    if watch.setup is not None and not any(_is_here(host) for host, _ in hosts_by_name.values()):
        hosts_by_name[this_node] = (Host(this_node, (), has_shell=False), "control")
    labs = {host.lab: find(host.lab.removeprefix(LAB)).ready() for host, _ in hosts_by_name.values() if host.lab}
    file_names: dict[str, str] = {}
    net = run.ceilings
    links = {end.name: end.stated_bits_per_s for end in (*net.clients, *net.servers)} if net else {}
    return [
        Watched(host, _entry(host, role, file_names, labs.get(host.lab or ""), links.get(host.name)), _is_here(host))
        for host, role in hosts_by_name.values()
    ]


def _servers(run: RunDocument, watch: WatchDocument) -> list[Host]:
    if watch.servers:
        return servers(watch.servers)
    if run.storage is None:
        return []
    lab = run.storage.partition("/")[0]
    # A lab without servers, for example of a local file system, has only clients.
    has_servers = any(host.role == "server" for host in find(lab.removeprefix(LAB)).ready().hosts)
    return servers([lab]) if has_servers else []


def _clients(run: RunDocument) -> list[Host]:
    nodes = Start.of(run).nodes[: max(case.clients for case in run.cases)]
    return [_client(node, run) for node in nodes] or [Host(socket.gethostname(), (), has_shell=False)]


def _client(node: Node, run: RunDocument) -> Host:
    if isinstance(node.process, ProcessHandle):
        return Host(node.name, Space(node.process), lab=run.clients)
    if _short(node.name) in (_short(socket.gethostname()), "localhost"):
        return Host(node.name, (), has_shell=False)
    if step_prefix := find_launcher(run.launcher).beside:
        return Host(node.name, (*step_prefix, node.name), has_shell=False)
    return Host(node.name, (*SSH.split(), node.name))


def _is_here(host: Host) -> bool:
    return host.entrance == ()


def _short(name: str) -> str:
    """A host's name without its domain; addresses are unchanged."""
    try:
        return str(ip_address(name))
    except ValueError:
        return name.partition(".")[0]


def _entry(host: Host, role: Role, file_names: dict[str, str], lab: record.Lab | None, link: int | None) -> WatchedHost:
    stem = re.sub(r"[^A-Za-z0-9.-]+", "-", host.name).strip("-.") or "host"
    name = stem
    while file_names.setdefault(name, host.name) != host.name:
        name = f"{stem}-{len(file_names)}"
    entry = WatchedHost(name=host.name, role=role, file=f"{name}.jsonl", link_bits_per_s=link)
    if lab is not None:
        entry.devices, entry.shares_machine, entry.link_bits_per_s = _devices(host, lab), True, lab.link_bits_per_s
    return entry


def _devices(host: Host, lab: record.Lab) -> list[str]:
    """The host's disks of a lab; disks of no server count for the first client, which represents all."""
    first = next((member.name for member in lab.hosts if member.role == "client"), "")
    return [PurePath(device).name for device in lab.disks if lab.disk_servers.get(device, first) == host.name]

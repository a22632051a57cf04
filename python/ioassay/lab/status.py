"""The current state of a lab: processes and their memory, listening ports, mounts, use of its disks.

All of it comes from the kernel; nothing is stored.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from ioassay.lab import network, record
from ioassay.lab.namespaces import Space
from ioassay.lab.running import Running

_OUR_OWN = ("sh", "sleep")
"""The processes that hold the namespaces."""


@dataclass(frozen=True)
class Status:
    """The current state of a lab."""

    lab: record.Lab
    pids: dict[str, int]
    """A process of each host, whose namespaces can be entered."""
    processes: dict[str, int]
    """The number of processes of each program."""
    memory_bytes: int
    """Their memory (PSS): private memory, and a share of shared memory."""
    ports: dict[str, list[str]]
    """The listening ports of each host: `ADDRESS:PORT program`."""
    mounts: dict[str, list[str]]
    """The lab's file systems on each host: `MOUNT POINT (TYPE, SOURCE)`."""
    disks_bytes: int
    """Used bytes of the file systems on its disks."""
    cut: list[str]
    """Hosts whose link is down."""
    users: list[str]
    """Processes that entered it from outside."""

    def document(self) -> dict[str, Any]:
        """The document for JSON, without secrets."""
        document = asdict(self) | {"lab": self.lab.model_dump(mode="json")}
        for target in document["lab"]["targets"]:
            target["environment"] = sorted(target["environment"])
        return document


def status(lab: Running, recorded: record.Lab) -> Status:
    """The current state of a lab with this record."""
    hosts = lab.hosts()
    processes = lab.space.first.process.children(recursive=True)
    return Status(
        lab=recorded,
        pids={name: host.pid for name, host in hosts.items()},
        processes=dict(Counter(name for process in processes if (name := _name(process)) not in (*_OUR_OWN, ""))),
        memory_bytes=sum(map(_memory_bytes, processes)),
        ports={name: _ports(host) for name, host in hosts.items()},
        mounts={name: _mounts(host) for name, host in hosts.items()},
        disks_bytes=sum(psutil.disk_usage(str(lab.space.path(point))).used for point in recorded.disks.values()),
        cut=[name for name in hosts if network.is_cut(lab.space, name)],
        users=[f"{_name(process)} (process {process.pid})" for process in lab.users()],
    )


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:  # it has ended meanwhile
        return ""


def _memory_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def _unescaped(word: str) -> str:
    """Decodes the escapes of /proc, such as `\\040` for a space."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def _ports(host: Space) -> list[str]:
    listing = host.run_on_network("ss", "--no-header", "--listening", "--tcp", "--udp", "--numeric", "--processes")
    ports = set()
    for line in listing.splitlines():
        words = line.split()
        program = line.partition('(("')[2].partition('"')[0]
        ports.add(f"{words[4]} {program}".strip())
    return sorted(ports)


def _mounts(host: Space) -> list[str]:
    mounts = []
    for line in host.first.read("mounts").splitlines():
        source, point, kind, *_ = map(_unescaped, line.split())
        if point.startswith(f"{record.ROOT}/"):
            mounts.append(f"{point} ({kind}, {source})")
    return mounts

"""What a lab consists of at the moment: processes with their memory, what listens, mounts, what its disks take.

Everything is asked of the kernel; nothing is remembered.
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
    """A lab as it is now."""

    lab: record.Lab
    pids: dict[str, int]
    """A process of each host, whose namespaces can be entered."""
    processes: dict[str, int]
    """How many there are of each program."""
    memory_bytes: int
    """What they take: each process's own, and its share of what it has in common with others."""
    ports: dict[str, list[str]]
    """What listens on each host: `ADDRESS:PORT program`."""
    mounts: dict[str, list[str]]
    """What each host sees of the lab's file systems: `MOUNT POINT (TYPE, SOURCE)`."""
    disks_bytes: int
    """What the file systems on its disks hold."""
    cut: list[str]
    """Hosts whose link is down."""
    users: list[str]
    """Who came into it from outside."""

    def document(self) -> dict[str, Any]:
        """As JSON, without what is secret."""
        document = asdict(self) | {"lab": self.lab.model_dump(mode="json")}
        for target in document["lab"]["targets"]:
            target["environment"] = sorted(target["environment"])
        return document


def status(lab: Running, written: record.Lab) -> Status:
    """Looks at a lab. `written` is what it says of itself."""
    hosts = lab.hosts()
    processes = lab.space.first.process.children(recursive=True)
    return Status(
        lab=written,
        pids={name: host.pid for name, host in hosts.items()},
        processes=dict(Counter(name for process in processes if (name := _name(process)) not in (*_OUR_OWN, ""))),
        memory_bytes=sum(map(_memory_bytes, processes)),
        ports={name: _ports(host) for name, host in hosts.items()},
        mounts={name: _mounts(host) for name, host in hosts.items()},
        disks_bytes=sum(psutil.disk_usage(str(lab.space.path(point))).used for point in written.disks.values()),
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
    """As /proc has it, a space is `\\040`."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)


def _ports(host: Space) -> list[str]:
    asked = host.run_on_network("ss", "--no-header", "--listening", "--tcp", "--udp", "--numeric", "--processes")
    ports = set()
    for line in asked.splitlines():
        words = line.split()
        program = line.partition('(("')[2].partition('"')[0]
        ports.add(f"{words[4]} {program}".strip())
    return sorted(ports)


def _mounts(host: Space) -> list[str]:
    found = []
    for line in host.first.read("mounts").splitlines():
        source, point, kind, *_ = map(_unescaped, line.split())
        if point.startswith(f"{record.ROOT}/"):
            found.append(f"{point} ({kind}, {source})")
    return found

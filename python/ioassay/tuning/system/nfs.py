"""NFS as a node sees it: its mounts as a client, its exports and threads as a server.

Sources: nfs(5), exports(5), nfsd(7); for exports what `exportfs -v` printed, else the files that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.numbers import is_whole

_OPTIONS = re.compile(r"(?P<client>[^\s()]+)(?:\((?P<options>[^)]*)\))?")


@dataclass(frozen=True)
class NfsMount:
    """A mount of an NFS server, with the options as the kernel negotiated them."""

    mount: Mount

    @property
    def point(self) -> str:
        """Where it is mounted."""
        return self.mount.point

    @property
    def server(self) -> str:
        """The server's name or address as it was given, without the export."""
        return self.mount.source.partition(":/")[0]

    @property
    def export(self) -> str:
        """The path on the server."""
        return "/" + self.mount.source.partition(":/")[2]

    @cached_property
    def version(self) -> tuple[int, int]:
        """The version of the protocol: (4, 1); (3, 0); (0, 0) where it is not said."""
        match = re.match(r"(\d{1,18})(?:\.(\d{1,18}))?", self.mount.options.get("vers", ""))
        return (int(match[1]), int(match[2] or 0)) if match else (0, 0)

    @property
    def transport(self) -> str:
        """`tcp`, `udp` or `rdma`, whatever the family of its addresses."""
        return self.mount.options.get("proto", "tcp").removesuffix("6")

    def number(self, option: str) -> int | None:
        """The value of an option that is an integer; `None` where it is not listed."""
        text = self.mount.options.get(option, "")
        return int(text) if is_whole(text) else None

    def has(self, *options: str) -> bool:
        """Whether one of these options is set."""
        return any(option in self.mount.options for option in options)


def nfs_mounts(mounts: Sequence[Mount], target: Mount | None) -> list[NfsMount]:
    """The NFS mounts to judge: the target's, or without a target that lies on one all."""
    if target is not None:
        return [NfsMount(target)] if target.is_nfs else []
    return [NfsMount(mount) for mount in mounts if mount.is_nfs]


@dataclass(frozen=True)
class Export:
    """A directory that the server exports, to one client or group of clients."""

    path: str
    client: str
    options: frozenset[str]


def exports(snapshot: Snapshot) -> list[Export]:
    """The exports of the server: as they are in force, otherwise as they are configured. Raises `Unreadable`."""
    try:
        printed = snapshot.printed("exportfs", "-v")
    except Unreadable:
        printed = None
    if printed:
        return list(_parsed(printed))
    names = [name for name in snapshot.names("etc/exports.d") if name.endswith(".exports")]
    files = ["etc/exports", *(f"etc/exports.d/{name}" for name in names)]
    return [export for file in files for export in _parsed(snapshot.text(file) or "")]


def _parsed(text: str) -> Iterator[Export]:
    """Lines of exports(5), and of `exportfs -v`, which puts the client of a long path on the next line."""
    path = ""
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split("#", 1)[0]
        entry = re.match(r'("[^"]+"|\S+)\s*(.*)', words) if words[:1] not in (" ", "\t", "") else None
        if entry is not None:
            path, words = entry[1].strip('"'), entry[2]
        if path:
            for match in _OPTIONS.finditer(words.replace("<world>", "*")):
                yield Export(path, match["client"], frozenset((match["options"] or "").split(",")) - {""})


@dataclass(frozen=True)
class NfsServer:
    """The kernel's NFS server on this node."""

    snapshot: Snapshot

    @property
    def is_running(self) -> bool:
        """Whether it serves. Raises `Unreadable`."""
        return bool(self.threads)

    @property
    def threads(self) -> int | None:
        """How many threads it has; `None` where this node has no server. Raises `Unreadable`."""
        running = self.snapshot.number("proc/fs/nfsd/threads")
        if running is not None:
            return running
        match = re.search(r"^th (\d{1,18})", self.snapshot.text("proc/net/rpc/nfsd") or "", re.MULTILINE)
        return int(match[1]) if match else None

    @property
    def block_bytes(self) -> int | None:
        """The largest READ and WRITE that it accepts. Raises `Unreadable`."""
        return self.snapshot.number("proc/fs/nfsd/max_block_size")

    @property
    def pool_mode(self) -> str | None:
        """How threads are grouped: `global`, `percpu`, `pernode`. Raises `Unreadable`."""
        return self.snapshot.text("sys/module/sunrpc/parameters/pool_mode")

    @property
    def waits(self) -> float | None:
        """The share of packets that found no idle thread since the server started; `None` where it is not counted."""
        lines = [line.split() for line in (self.snapshot.text("proc/fs/nfsd/pool_stats") or "").splitlines()]
        pools = [line for line in lines if len(line) >= 3 and all(is_whole(word) for word in line[:3])]
        packets = sum(int(line[1]) for line in pools)
        return sum(int(line[2]) for line in pools) / packets if packets else None


def kernel_version(snapshot: Snapshot) -> tuple[int, int]:
    """The version of the kernel, (6, 1); (0, 0) where it is not known."""
    match = re.search(r"(\d{1,18})\.(\d{1,18})", snapshot.environment.get("kernel") or "")
    return (int(match[1]), int(match[2])) if match else (0, 0)

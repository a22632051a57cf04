"""The mounts, with their options: /proc/self/mountinfo as proc_pid_mountinfo(5) describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ioassay.mounts import unescaped
from ioassay.tuning.snapshot import Snapshot

_LOCAL = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "ldiskfs", "zfs")

_FIELDS = 6
"""The fields of a line before those that vary in number; a line with fewer is not the kernel's."""


@dataclass(frozen=True)
class Mount:
    """A line of the kernel's list."""

    point: str
    source: str
    file_system: str
    device: str
    """Its number, `8:1`; of file systems without a device one that the kernel made up."""
    options: Mapping[str, str]
    """The options of the mount and of the file system; those without a value have an empty one."""

    @property
    def is_local(self) -> bool:
        """Whether it lies on block devices of this node."""
        return self.file_system in _LOCAL

    @property
    def is_nfs(self) -> bool:
        """Whether it is of an NFS server."""
        return self.file_system in ("nfs", "nfs4")


def mounts(snapshot: Snapshot) -> list[Mount]:
    """All mounts. Raises `Unreadable`."""
    text = snapshot.text("proc/self/mountinfo") or ""
    return [mount for line in text.splitlines() if (mount := _mount(line)) is not None]


@lru_cache(maxsize=4096)
def _mount(line: str) -> Mount | None:
    """The mount of a line, `None` where it is cut off. Nodes of a cluster have mostly the same lines."""
    fields, separator, rest = line.partition(" - ")
    of_mount, of_system = fields.split(" "), [*rest.split(" "), "", ""]
    if not separator or len(of_mount) < _FIELDS:
        return None
    options = [word.partition("=") for word in (*of_mount[5].split(","), *of_system[2].split(",")) if word]
    return Mount(
        point=unescaped(of_mount[4]),
        source=unescaped(of_system[1]),
        file_system=of_system[0],
        device=of_mount[2],
        options={name: value for name, _, value in options},
    )


def configured_options(snapshot: Snapshot, mount: Mount) -> Mapping[str, str]:
    """The options of the mount's line in /etc/fstab, some of which the kernel does not list. Raises `Unreadable`."""
    for line in (snapshot.text("etc/fstab") or "").splitlines():
        words = [unescaped(word) for word in line.partition("#")[0].split()]
        if len(words) >= 4 and words[1] == mount.point and words[2].rstrip("4") == mount.file_system.rstrip("4"):
            return {name: value for name, _, value in (word.partition("=") for word in words[3].split(","))}
    return {}


def covering(known: Sequence[Mount], path: str) -> Mount | None:
    """The mount that `path` lies on; links are not followed."""
    covering_mount = None
    for mount in known:
        # Of two at one point the later one lies on top.
        is_below = path == mount.point or path.startswith(f"{mount.point.rstrip('/')}/")
        if is_below and (covering_mount is None or len(mount.point) >= len(covering_mount.point)):
            covering_mount = mount
    return covering_mount

"""XFS and ext4: their geometry and journal, as `xfs_info` and `dumpe2fs -h` print them and as mounts list it.

Units differ: `xfs_info` gives the stripe in blocks of the file system, XFS's mount options in sectors of 512 bytes,
ext4's mount option in blocks. Everything here is in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system.block import SECTOR_BYTES
from ioassay.tuning.system.mounts import Mount

_SUFFIXES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class Stripe:
    """The geometry of the array below, as a file system stores it; zeros where it stores none."""

    unit_bytes: int
    width_bytes: int


@dataclass(frozen=True)
class XfsInfo:
    """The output of `xfs_info`."""

    block_bytes: int
    blocks: int
    group_count: int
    group_blocks: int
    stripe: Stripe
    log_bytes: int
    log_unit_bytes: int
    is_log_internal: bool

    @property
    def group_bytes(self) -> int:
        """The size of an allocation group."""
        return self.group_blocks * self.block_bytes


def xfs_info(snapshot: Snapshot, mount: Mount) -> XfsInfo | None:
    """The geometry of an XFS file system; `None` where `xfs_info` was not run on it. Raises `Unreadable`."""
    for name in (mount.point, mount.source):
        printed = snapshot.printed("xfs_info", name)
        if printed is not None:
            return parse_xfs_info(printed)
    return None


def parse_xfs_info(text: str) -> XfsInfo | None:
    """The parsed output of `xfs_info`; `None` for other text."""
    sections: dict[str, dict[str, str]] = {}
    name = ""
    for line in text.splitlines():
        head, _, rest = line.partition("=")
        # The name ends where the second column begins: `data     =                       bsize=4096`.
        if head.strip():
            name = head.split()[0]
            if name != "meta-data" and rest.split()[:1] and "=" not in rest.split()[0]:
                sections.setdefault(name, {})["kind"] = rest.split()[0]
        sections.setdefault(name, {}).update(re.findall(r"([\w-]+)=(\w+)", rest))
    data, log, meta = sections.get("data", {}), sections.get("log", {}), sections.get("meta-data", {})
    block = _integer(data, "bsize")
    if not block:
        return None
    log_block = _integer(log, "bsize") or block
    return XfsInfo(
        block_bytes=block,
        blocks=_integer(data, "blocks"),
        group_count=_integer(meta, "agcount"),
        group_blocks=_integer(meta, "agsize"),
        stripe=Stripe(_integer(data, "sunit") * block, _integer(data, "swidth") * block),
        log_bytes=_integer(log, "blocks") * log_block,
        log_unit_bytes=_integer(log, "sunit") * log_block,
        is_log_internal=log.get("kind") == "internal",
    )


def xfs_stripe(snapshot: Snapshot, mount: Mount) -> Stripe:
    """The stripe that XFS allocates by: the mount's, which lists it unless it is zero. Raises `Unreadable`."""
    if "sunit" in mount.options:
        unit, width = (_integer(mount.options, name) * SECTOR_BYTES for name in ("sunit", "swidth"))
        return Stripe(unit, width)
    if "noalign" in mount.options:
        info = xfs_info(snapshot, mount)
        return info.stripe if info is not None else Stripe(0, 0)
    return Stripe(0, 0)


@dataclass(frozen=True)
class ExtSuperblock:
    """The output of `dumpe2fs -h`."""

    fields: Mapping[str, str]

    @property
    def block_bytes(self) -> int:
        """The size of a block."""
        return self._number("Block size")

    @property
    def size_bytes(self) -> int:
        """The size of the file system."""
        return self._number("Block count") * self.block_bytes

    @property
    def stripe(self) -> Stripe:
        """The stripe that it was made for."""
        return Stripe(
            self._number("RAID stride") * self.block_bytes, self._number("RAID stripe width") * self.block_bytes
        )

    @property
    def journal_bytes(self) -> int | None:
        """The size of the journal; `None` without one, or where it is on a device of its own."""
        text = self.fields.get("Total journal size") or self.fields.get("Journal size")
        return byte_count(text) if text else None

    @property
    def has_journal(self) -> bool:
        """Whether it has one."""
        return "has_journal" in self.fields.get("Filesystem features", "").split()

    @property
    def default_options(self) -> frozenset[str]:
        """The mount options that are kept in it."""
        return frozenset(self.fields.get("Default mount options", "").split())

    def _number(self, name: str) -> int:
        return _integer(self.fields, name)


def ext_superblock(snapshot: Snapshot, mount: Mount) -> ExtSuperblock | None:
    """The superblock of an ext4 file system; `None` where `dumpe2fs` was not run on it. Raises `Unreadable`."""
    printed = snapshot.printed("dumpe2fs", "-h", mount.source)
    fields = dict(re.findall(r"^([A-Z][^:\n]*):[ \t]*(.*?)[ \t]*$", printed or "", re.MULTILINE))
    return ExtSuperblock(fields) if "Block size" in fields else None


def byte_count(text: str) -> int | None:
    """Bytes of `256k`, `1024M`, `32768`; `None` for anything else."""
    match = re.fullmatch(r"(\d{1,18})([kmg]?)", text.strip().lower())
    return int(match[1]) * _SUFFIXES[match[2]] if match else None


def _integer(fields: Mapping[str, str], name: str) -> int:
    match = re.match(r"\d{1,18}", fields.get(name, ""))
    return int(match[0]) if match else 0

"""Arrays of the kernel's own RAID driver (md).

Sources: md(4), Documentation/admin-guide/md.rst of Linux.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.tuning.system.block import BlockDevice

PARITY_DISKS = {"raid4": 1, "raid5": 1, "raid6": 2}
"""By level, how many members of one stripe hold parity."""
_UNSTRIPED = ("raid1", "linear")
_USUAL_LAYOUT = 0x102
"""The layout of RAID10: two copies side by side (the lower byte), one far away (the next)."""


@dataclass(frozen=True)
class MdArray:
    """An array, `md0`."""

    device: BlockDevice

    @property
    def name(self) -> str:
        """`md0`."""
        return self.device.name

    @property
    def level(self) -> str:
        """`raid6`; empty where it is not assembled. Raises `Unreadable`."""
        return self.device.text("md/level") or ""

    @property
    def has_parity(self) -> bool:
        """Whether a write of a part of a stripe has to read. Raises `Unreadable`."""
        return self.level in PARITY_DISKS

    @property
    def disks(self) -> int:
        """How many members it has when it is complete. Raises `Unreadable`."""
        # While it is reshaped the file says `8 (7)`.
        match = re.match(r"\d{1,18}", self.device.text("md/raid_disks") or "")
        return int(match[0]) if match else 0

    @property
    def data_disks(self) -> int:
        """How many members hold data of one stripe; less than 1 where that is not known. Raises `Unreadable`."""
        if self.level in _UNSTRIPED:
            return 1
        if self.level == "raid10":
            layout = self.device.number("md/layout") or _USUAL_LAYOUT
            return self.disks // (max(1, layout & 0xFF) * max(1, layout >> 8 & 0xFF))
        return self.disks - self.parity_disks

    @property
    def parity_disks(self) -> int:
        """How many members of one stripe hold parity. Raises `Unreadable`."""
        return PARITY_DISKS.get(self.level, 0)

    @property
    def is_striped(self) -> bool:
        """Whether data goes to one member after the other in chunks. Raises `Unreadable`."""
        return self.level not in _UNSTRIPED and self.chunk_bytes > 0

    @property
    def chunk_bytes(self) -> int:
        """The bytes on one member before the next one's turn; 0 where the level has none. Raises `Unreadable`."""
        match = re.match(r"\d{1,18}", self.device.text("md/chunk_size") or "")
        return int(match[0]) if match else 0

    @property
    def stripe_bytes(self) -> int:
        """The data of a full stripe. Raises `Unreadable`."""
        return self.chunk_bytes * self.data_disks

    @property
    def missing(self) -> int:
        """How many members it lacks. Raises `Unreadable`."""
        return self.device.number("md/degraded") or 0

    @property
    def sync_action(self) -> str:
        """`idle`, `resync`, `recover`, `check`, `repair`, `reshape`, `frozen`. Raises `Unreadable`."""
        return self.device.text("md/sync_action") or "idle"

    @property
    def sync_percent(self) -> float | None:
        """How much of that is done. Raises `Unreadable`."""
        match = re.match(r"(\d{1,18}) / (\d{1,18})", self.device.text("md/sync_completed") or "")
        return 100 * int(match[1]) / int(match[2]) if match and int(match[2]) else None


def md_arrays(concerned: list[BlockDevice]) -> list[MdArray]:
    """The arrays among devices."""
    return [MdArray(device) for device in concerned if device.kind == "md"]


@dataclass(frozen=True)
class ListedArray:
    """An array in /proc/mdstat."""

    level: str
    members: tuple[str, ...]
    chunk_bytes: int
    expected: int
    working: int
    action: str
    percent: float | None


def listed_arrays(text: str) -> Mapping[str, ListedArray]:
    """The arrays of /proc/mdstat."""
    arrays: dict[str, ListedArray] = {}
    for part in re.split(r"\n(?=md\S* : )", "\n" + text):
        head = re.match(r"(md\S*) : (\S+)(?: \([^)]*\))?(?: (raid\d{1,18}|linear|multipath))?(.*)", part)
        if head is None:
            continue
        chunk = re.search(r"(\d{1,18})k chunk", part)
        disks = re.search(r"\[(\d{1,18})/(\d{1,18})\] \[[U_]+\]", part)
        sync = re.search(r"(resync|recovery|reshape|check)\s*=\s*([\d.]+)%", part)
        members = re.findall(r"(\S+?)\[\d{1,18}\](?:\([A-Z]\))*", head[4])
        arrays[head[1]] = ListedArray(
            level=head[3] or "",
            members=tuple(members),
            chunk_bytes=int(chunk[1]) << 10 if chunk else 0,
            expected=int(disks[1]) if disks else len(members),
            working=int(disks[2]) if disks else len(members),
            action=sync[1] if sync else "idle",
            percent=float(sync[2]) if sync else None,
        )
    return arrays

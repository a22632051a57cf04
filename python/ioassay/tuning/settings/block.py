"""`block:DEVICE/PARAMETER`: the block queue, or another file of a block device."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.settings.errors import NotLive
from ioassay.tuning.settings.files import FileInstance, first_line, names, readable
from ioassay.tuning.settings.model import Instance, Setting
from ioassay.yaml_models.source import nearest

KIND = "block"
MAX_SECTORS = "max_sectors_kb"
_DEFAULT_OF_KERNEL = {MAX_SECTORS: "0", "wbt_lat_usec": "-1"}
"""The word for the kernel's own value, which the file shows then (Linux, Documentation/ABI/stable/sysfs-block)."""
_MD_SPEED = re.compile(r"(\d+) \((system|local)\)")
_MULTIPATH = re.compile(r"(part\d+-)?mpath-(?P<wwid>.+)")


class BlockInstance(FileInstance):
    """A file of one device."""

    def __init__(self, root: Path, device: str, parameter: str) -> None:
        self.device, self.parameter = device, parameter
        self.directory = root / "sys/block" / device
        super().__init__(f"{KIND}:{device}/{parameter}", self.directory / _path_below_device(parameter))

    def read(self) -> str:
        """As the base says. MD shows `1000 (system)` where it follows a sysctl, and takes `system` for that."""
        value = super().read()
        match = _MD_SPEED.fullmatch(value) if self.parameter.startswith("md/sync_speed_") else None
        if match is None:
            return value
        return "system" if match[2] == "system" else match[1]

    def check(self, value: str, now: str) -> str:
        """As the base says; also no more than the hardware takes."""
        value = super().check(value, now)
        if self.parameter == MAX_SECTORS:
            most = first_line(self.directory / "queue/max_hw_sectors_kb")
            if most.isdecimal() and value.isdecimal() and int(value) > int(most):
                raise UsageError(
                    f"{self.name}={value}: the adapter of {self.device} takes at most {most} KiB (max_hw_sectors_kb).",
                    f"Use at most {most}; a module parameter of the driver may raise the limit.",
                )
        return value

    def is_taken(self, requested: str, shown: str) -> bool:
        return requested == _DEFAULT_OF_KERNEL.get(self.parameter) or super().is_taken(requested, shown)

    def write(self, value: str) -> None:
        """As the base says. Asks again whether the device is below dm-multipath: nothing may fail paths."""
        if why := self.not_live():
            raise NotLive(f"{self.name}={value}: {why}.")
        super().write(value)

    def not_live(self) -> str:
        """A request that is larger than a path's limit fails the path, so none may change while paths are in use."""
        if self.parameter != MAX_SECTORS or not (wwid := self.multipath_wwid()):
            return ""
        return f"{self.device} belongs to the multipath device {wwid}, whose paths would fail under a live change"

    def multipath_wwid(self) -> str:
        """The identifier of the dm-multipath device that this one is, or is a path of; empty if there is none."""
        holders = [self.directory, *self.directory.glob("holders/*"), *self.directory.glob(f"{self.device}*/holders/*")]
        for holder in holders:
            if match := _MULTIPATH.fullmatch(first_line(holder / "dm/uuid")):
                return match["wwid"]
        return ""

    def identity(self) -> dict[str, str]:
        """The kernel's count of disks so far, which no other disk since boot has, and what the disk says of itself."""
        properties = {
            "diskseq": first_line(self.directory / "diskseq"),
            "wwid": first_line(self.directory / "wwid") or first_line(self.directory / "device/wwid"),
            "uuid": first_line(self.directory / "dm/uuid") or first_line(self.directory / "md/uuid"),
        }
        return {key: value for key, value in properties.items() if value}


class Block(Setting):
    """A parameter of one device, or of all devices that a pattern names."""

    def __init__(self, where: str, root: Path) -> None:
        self._device, slash, parameter = where.partition("/")
        self._parameter = parameter.removeprefix("queue/") if parameter.count("/") == 1 else parameter
        super().__init__(f"{KIND}:{where}")
        if not slash or not parameter or not self._device or ".." in where.split("/"):
            raise UsageError(
                f"{self.name} names no parameter.", "Write block:DEVICE/PARAMETER, such as block:sda/scheduler."
            )
        self._root = root

    def instances(self) -> list[Instance]:
        known = names(self._root / "sys/block")
        devices = [self._device] if self._device in known else fnmatch.filter(known, self._device)
        if not devices:
            raise UsageError(f"{self.name}: no such block device; {self._nearest_device(known)}")
        block_instances = [BlockInstance(self._root, device, self._parameter) for device in devices]
        there = [instance for instance in block_instances if instance.path.is_file()]
        if not there:
            directory = block_instances[0].path.parent
            shown = directory.is_dir()
            advice = (
                nearest_of(self._parameter.rpartition("/")[2], readable(directory)) if shown else "see its directory"
            )
            raise UsageError(f"{self.name}: no such parameter; {advice}")
        return [*there]

    def exact(self) -> Instance:
        return BlockInstance(self._root, self._device, self._parameter)

    def _nearest_device(self, known: list[str]) -> str:
        whole = next((name for name in known if (self._root / "sys/block" / name / self._device).is_dir()), None)
        if whole is not None:
            return f"{self._device} is a partition: write {whole}"
        used = [name for name in known if first_line(self._root / "sys/block" / name / "size") != "0"]
        return nearest_of(self._device, used or known)


def device_of(path: Path, root: Path) -> tuple[str, str] | None:
    """The device and the parameter, if a file of /sys is one of a block device: whichever way leads to it."""
    real = Path(os.path.realpath(path))
    for above in real.parents:
        if Path(os.path.realpath(root / "sys/block" / above.name)) == above:
            below = str(real.relative_to(above))
            if "/" not in below:  # a file of the device itself, such as `comp_algorithm` of zram
                return None
            return above.name, below.removeprefix("queue/") if below.count("/") == 1 else below
    return None


def nearest_of(word: str, known: list[str]) -> str:
    """`nearest`, without a list that is too long to be read."""
    advice = nearest(word, known)
    return advice if len(known) <= 40 or advice.startswith("did you") else "list its directory for those that exist"


def _path_below_device(parameter: str) -> Path:
    return Path(parameter) if "/" in parameter else Path("queue", parameter)

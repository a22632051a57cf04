"""`mount:POINT/OPTION`: an option of a mount, changed by remounting where the file system can.

The value of an option without one is `present` or `absent`; of one with a value that value, or `absent`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.mounts import unescaped
from ioassay.tuning.settings.block import nearest_of
from ioassay.tuning.settings.errors import CannotSet, NotLive, Vanished, cannot_read
from ioassay.tuning.settings.model import Instance, Lifetime, Setting, normalised
from ioassay.tuning.settings.programs import ProgramFailed, run

KIND = "mount"
PRESENT, ABSENT = "present", "absent"
_WORDS = {"yes": PRESENT, "on": PRESENT, "true": PRESENT, "no": ABSENT, "off": ABSENT, "false": ABSENT}

_GENERIC = {"ro", "noatime", "relatime", "nodiratime", "nosuid", "nodev", "noexec", "sync", "dirsync", "lazytime"}
"""Options of the kernel's VFS, which every file system can change."""

_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "glusterfs", "beegfs")
"""File systems whose own options are agreed on when they are mounted."""

_OF_THE_KERNEL = {
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
}
"""File systems without data: nobody means one of these by a mount point with a mistake in it."""

_SET = {"noatime": "noatime", "relatime": "atime,relatime"}
_UNSET = {
    "noatime": "atime,relatime",
    "relatime": "strictatime",
    "nodiratime": "diratime",
    "ro": "rw",
    "sync": "async",
    "acl": "noacl",
}
"""Options for which `mount` needs another word than the option, or that without or with `no`."""

_DEFAULTS = {
    "ext4": {
        "commit": "commit=0",  # the kernel makes 5 of it
        "stripe": "stripe=0",
        "inode_readahead_blks": "inode_readahead_blks=32",
        "max_batch_time": "max_batch_time=15000",
        "min_batch_time": "min_batch_time=0",
    },
    "btrfs": {"compress": "compress=no", "compress-force": "compress-force=no"},
}
"""The value that removes an option with a value."""

_NOT_SHOWN = {"ext4": {"commit": "5"}}
"""Values that stand for a default, so that the option is not shown, beside those of `_DEFAULTS` (Linux, fs/ext4)."""

_DEFAULT_LEVELS = {"zlib": "zlib:3", "zstd": "zstd:3"}
"""The form in which btrfs shows a compression without a level (Linux, fs/btrfs/compression.c)."""

_TIMES = ("noatime", "relatime", "strictatime", "atime")
"""When access times are written: one of them holds, and `strictatime` is not shown."""


@dataclass(frozen=True)
class Mounted:
    """A mount, as the kernel lists it."""

    source: str
    point: str
    file_system: str
    options: dict[str, str]
    """Each with its value, or `present`."""

    def value(self, option: str) -> str:
        """The value of an option, `present` or `absent`."""
        return self.options.get(option, ABSENT)


def mounted_at(point: str, root: Path) -> Mounted | None:
    """The mount at `point`; of several the one on top. Raises `OSError`."""
    return {mount.point: mount for mount in mounts(root)}.get(point)


def mounts(root: Path) -> list[Mounted]:
    """Everything that is mounted. Raises `OSError`."""
    mounted = []
    # Not `splitlines`: a mount point may have a form feed in its name, which the kernel writes as it is.
    for line in filter(None, os.fsdecode((root / "proc/self/mounts").read_bytes()).split("\n")):
        source, point, file_system, options = map(unescaped, line.split(" ")[:4])
        mounted.append(Mounted(source, point, file_system, parsed_options(options)))
    return mounted


def parsed_options(text: str) -> dict[str, str]:
    """`rw,commit=30` as a mapping."""
    pairs = (option.partition("=") for option in text.split(",") if option)
    return {name: value if equals else PRESENT for name, equals, value in pairs}


def changed_options(options: dict[str, str], option: str, value: str) -> str:
    """The options as `mount -o` takes them, with one of them changed."""
    left = {name: of for name, of in options.items() if name not in (option, *_opposites(option))}
    if value != ABSENT:
        left[option] = value
    elif option == "noatime":
        left["relatime"] = PRESENT
    elif option == "ro":
        left = {"rw": PRESENT, **left}
    return ",".join(name if of == PRESENT else f"{name}={of}" for name, of in left.items()) or "defaults"


def _opposites(option: str) -> tuple[str, ...]:
    if option in _TIMES:
        return _TIMES
    return ("rw",) if option == "ro" else (f"no{option}", option.removeprefix("no"))


class MountInstance(Instance):
    """An option of one mount."""

    lifetime: Lifetime = "remount"

    def __init__(self, root: Path, point: str, option: str) -> None:
        super().__init__(f"{KIND}:{point}/{option}")
        self.point, self.option = point, option
        self._root = root

    def read(self) -> str:
        return self.mount().value(self.option)

    def write(self, value: str) -> None:
        mount = self.mount()
        if why := self.not_live():
            raise NotLive(f"{self.name}={value}: {why}.")
        words = ["remount", self._value_text(value, mount)]
        if self.option not in _TIMES and not {"noatime", "relatime"} & mount.options.keys():
            words.append("strictatime")  # With nodiratime a remount makes relatime of it otherwise.
        try:
            # From fstab would come whatever else has been changed there since.
            run(["mount", "--options-source=mtab", "-o", ",".join(words), self.point])
        except ProgramFailed as error:
            raise CannotSet(
                f"{self.name}={value}: {error.message}",
                error.remedy or f"{mount.file_system} may take this option only when it is mounted: see --persist.",
            ) from None

    def check(self, value: str, now: str) -> str:
        """As the base says; also that it can be put back."""
        value = _WORDS.get(value.lower(), value)
        value = normalised(self.name, value)
        if "," in value:
            raise UsageError(f"{self.name}={value}: a value with a comma.", "Set one option after the other.")
        mount = self.mount()
        has_value = value not in (PRESENT, ABSENT)
        if now == PRESENT and has_value:
            raise UsageError(f"{self.name}={value}: the option takes no value.", f"Write {PRESENT} or {ABSENT}.")
        if self.option == "ro" or self.not_live():
            return value
        default = _DEFAULTS.get(mount.file_system, {}).get(self.option)
        is_shown_when_off = self.option.startswith("no") or self.option in {*_GENERIC, *_UNSET}
        if value == now == ABSENT and not is_shown_when_off and default is None:
            raise UsageError(
                f"{self.name}={value}: {mount.file_system} does not show whether {self.option} is on.",
                f"To turn it off, write {KIND}:{self.point}/no{self.option}={PRESENT}.",
            )
        if has_value and now == ABSENT and default is None:
            raise CannotSet(
                f"{self.name}={value}: {self.point} is mounted without the option, and its default is unknown: "
                "it could not be put back.",
                "Write the persistent form: --persist DIR.",
            )
        return value

    def is_same(self, requested: str, shown: str) -> bool:
        """As the base says. An option with its default is not shown."""
        if super().is_same(requested, shown):
            return True
        file_system = self.mount().file_system
        if file_system == "btrfs" and _DEFAULT_LEVELS.get(requested) == shown:
            return True
        default = _DEFAULTS.get(file_system, {}).get(self.option, "").partition("=")[2]
        hidden = {default, _NOT_SHOWN.get(file_system, {}).get(self.option)}
        return shown == ABSENT and requested in hidden and requested != ""

    def not_live(self) -> str:
        """Options that network file systems agree on with their server cannot be changed later."""
        file_system = self.mount().file_system
        if file_system.partition(".")[2] in _NETWORK or file_system in _NETWORK:
            return "" if self.option in _GENERIC else f"{file_system} takes {self.option} only when it is mounted"
        return ""

    def identity(self) -> dict[str, str]:
        """The mounted file system."""
        mount = self.mount()
        return {"source": mount.source, "file system": mount.file_system}

    def mount(self) -> Mounted:
        """The mount. Raises `Vanished` if there is none."""
        try:
            mount = mounted_at(self.point, self._root)
        except OSError as error:
            raise cannot_read(self.name, "the list of mounts", error) from None
        if mount is None:
            raise Vanished(f"{self.name}: nothing is mounted at {self.point}.", "Check that it is still mounted.")
        return mount

    def _value_text(self, value: str, mount: Mounted) -> str:
        option = self.option
        if value == PRESENT:
            return _SET.get(option, option)
        if value != ABSENT:
            return f"{option}={value}"
        default = _DEFAULTS.get(mount.file_system, {}).get(option)
        return (
            default or _UNSET.get(option) or (option.removeprefix("no") if option.startswith("no") else f"no{option}")
        )


class MountSetting(Setting):
    """An option of a mount."""

    def __init__(self, where: str, root: Path) -> None:
        super().__init__(f"{KIND}:{where}")
        point, _, option = where.rpartition("/")
        if not where.startswith("/") or not option or "," in option:
            raise UsageError(
                f"{self.name} names no option.", "Write mount:POINT/OPTION, such as mount:/mnt/scratch/noatime."
            )
        if option in ("rw", "atime", "strictatime"):
            instead = {"rw": "ro=absent", "atime": "noatime=absent", "strictatime": "relatime=absent"}[option]
            raise UsageError(f"{self.name}: not an option of its own; write mount:{point or '/'}/{instead}")
        self._root = root
        self._instance = MountInstance(root, point or "/", option)

    def instances(self) -> list[Instance]:
        try:
            mounted = mounts(self._root)
        except OSError as error:
            raise cannot_read(self.name, "the list of mounts", error) from None
        if all(mount.point != self._instance.point for mount in mounted):
            points = [mount.point for mount in mounted if mount.file_system not in _OF_THE_KERNEL]
            above = next(str(path) for path in Path(self._instance.point).parents if str(path) in [*points, "/"])
            advice = nearest_of(self._instance.point, points) if above == "/" else f"did you mean `{above}`?"
            raise UsageError(f"{self.name}: nothing is mounted at {self._instance.point}; {advice}")
        return [self._instance]

    def exact(self) -> Instance:
        return self._instance

"""ZFS: its pools with their vdevs, the properties of pools and data sets, and the limits of its cache.

From `zpool status -LP`, `zpool get -Hp all` and `zfs get -Hp …` of OpenZFS 2.1 to 2.4, /proc/spl/kstat/zfs/arcstats and
the parameters of the module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.numbers import is_whole

FILE_SYSTEM = "filesystem"
_CLASSES = ("dedup", "special", "logs", "cache", "spares")
"""Headings in `zpool status` above vdevs that hold no ordinary data."""
_UNSET = ("", "-")


@dataclass(frozen=True)
class Dataset:
    """A file system or a volume of a pool."""

    name: str
    """`tank/scratch`."""
    properties: Mapping[str, str]
    """Exact values, `131072` and not `128K`; without those that do not apply to it."""

    @property
    def pool(self) -> str:
        """The pool that it belongs to."""
        return self.name.partition("/")[0]

    def number(self, name: str) -> int | None:
        """A property that is an integer; `None` where it has none."""
        text = self.properties.get(name, "")
        return int(text) if is_whole(text) else None


@dataclass(frozen=True)
class Vdev:
    """A top-level vdev: a disk, a mirror, a RAID-Z or a dRAID."""

    name: str
    """`raidz2-0`, `mirror-1`, or the path of a disk."""
    use: str
    """Empty for data, otherwise the heading it stands under: `special`, `logs`."""
    disks: tuple[str, ...]
    """Paths below /dev."""

    @property
    def failures(self) -> int:
        """How many disks it can lose without losing data."""
        if match := re.match(r"(?:raidz|draid)(\d?)", self.name):
            return int(match[1] or 1)
        return len(self.disks) - 1 if self.name.startswith("mirror") else 0


@dataclass(frozen=True)
class Pool:
    """A pool."""

    name: str
    state: str
    """`ONLINE`, `DEGRADED`."""
    activities: tuple[str, ...]
    """Activities beside I/O, past or present, a line of each: a scrub or a resilver, a removal, an expansion."""
    vdevs: tuple[Vdev, ...]
    properties: Mapping[str, str]

    @property
    def failures(self) -> int:
        """How many disks of a data vdev it can lose, in the weakest one."""
        return min((vdev.failures for vdev in self.vdevs if not vdev.use), default=0)

    def number(self, name: str) -> int | None:
        """A property that is an integer; `None` where it is not known."""
        text = self.properties.get(name, "").rstrip("%")
        return int(text) if is_whole(text) else None


def version(snapshot: Snapshot) -> tuple[int, int] | None:
    """The release of the module, (2, 2); `None` where it is not loaded. Raises `Unreadable`."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", snapshot.text("sys/module/zfs/version") or "")
    return (int(match[1]), int(match[2])) if match else None


def is_used(snapshot: Snapshot, target_mount: Mount | None) -> bool:
    """Whether ZFS is what is judged: the target lies on it, or there is no target and the module is loaded."""
    if snapshot.target is None:
        return version(snapshot) is not None
    return bool(dataset_below(target_mount))


def dataset_below(mount: Mount | None) -> str:
    """The data set that a mount lies on: its own, or that of a target of a Lustre server; empty for others."""
    if mount is None:
        return ""
    is_store = mount.file_system == "lustre" and "svname" in mount.options and not mount.source.startswith("/")
    return mount.source if mount.file_system == "zfs" or is_store else ""


def datasets(snapshot: Snapshot) -> Mapping[str, Dataset]:
    """All file systems and volumes by name. Raises `Unreadable` where `zfs get` was not run or failed."""
    file_systems = _properties(snapshot, "zfs", "get", "-Hp", "-t", "filesystem,volume")
    try:
        direct = _properties(snapshot, "zfs", "get", "-Hp", "-t", "filesystem", "direct")
    except Unreadable:
        direct = {}  # OpenZFS has had it since 2.3.
    return {name: Dataset(name, {**properties, **direct.get(name, {})}) for name, properties in file_systems.items()}


def concerned(snapshot: Snapshot, target_mount: Mount | None, name: str) -> list[Dataset]:
    """The file systems to judge a property of: the target's, or all but those that have it as the one above has it.

    Raises `Unreadable`.
    """
    known = datasets(snapshot)
    target = dataset_below(target_mount)
    if target:
        if target not in known:
            raise Unreadable(f"properties of {target}", "zfs get does not list it")
        return [known[target]]
    chosen = []
    for dataset in known.values():
        above = known.get(dataset.name.rpartition("/")[0])
        is_same = above is not None and above.properties.get(name) == dataset.properties.get(name)
        if dataset.properties.get("type") == FILE_SYSTEM and not is_same:
            chosen.append(dataset)
    return chosen


def pools(snapshot: Snapshot, target_mount: Mount | None) -> list[Pool]:
    """The pools to judge: the target's, or all. Raises `Unreadable` where `zpool` was not run or failed."""
    properties = _properties(snapshot, "zpool", "get", "-Hp", "all")
    printed = snapshot.printed("zpool", "status", "-LP")
    if printed is None:
        raise Unreadable("zpool status -LP", "the snapshot does not have it")
    listed = [_pool(text, properties) for text in re.split(r"^(?=\s*pool: )", printed, flags=re.MULTILINE) if text]
    name = dataset_below(target_mount).partition("/")[0]
    if not name:
        return [pool for pool in listed if pool.name]
    of_target = [pool for pool in listed if pool.name == name]
    if not of_target:
        raise Unreadable(f"pool {name}", "zpool status does not list it")
    return of_target


def sector_exponents(snapshot: Snapshot, pool: Pool) -> Mapping[str, int]:
    """The ashift of top-level vdevs by name, of the pool where its vdevs are not listed. Empty where none is known."""
    try:
        of_vdevs = _properties(snapshot, "zpool", "get", "-Hp", "ashift", pool.name)
    except Unreadable:
        of_vdevs = {}  # Properties of vdevs came with OpenZFS 2.2, and are asked for the target's pool only.
    exponents = {
        name: int(properties["ashift"])
        for name, properties in of_vdevs.items()
        if is_whole(properties.get("ashift", ""))
    }
    tops = {name: ashift for name, ashift in exponents.items() if ashift and not name.startswith("root")}
    known = {vdev.name for vdev in pool.vdevs}
    of_pool = pool.number("ashift")
    return (
        {name: ashift for name, ashift in tops.items() if name in known}
        or tops
        or ({pool.name: of_pool} if of_pool else {})
    )


def arc_statistic(snapshot: Snapshot, name: str) -> int | None:
    """A number of arcstats; `None` where it has none. Raises `Unreadable`."""
    text = snapshot.text("proc/spl/kstat/zfs/arcstats") or ""
    match = re.search(rf"^{name}\s+\d+\s+(\d{{1,18}})$", text, re.MULTILINE)
    return int(match[1]) if match else None


def _properties(snapshot: Snapshot, *argv: str) -> Mapping[str, Mapping[str, str]]:
    """The output of `get -H`, by name: `tank<TAB>compression<TAB>lz4<TAB>local`. Raises `Unreadable`."""
    printed = snapshot.printed(*argv)
    if printed is None:
        raise Unreadable(" ".join(argv), "the snapshot does not have it")
    properties: dict[str, dict[str, str]] = {}
    for line in printed.splitlines():
        name, *rest = line.split("\t")
        if len(rest) == 3 and rest[1] not in _UNSET:
            properties.setdefault(name, {})[rest[0]] = rest[1]
    return properties


def _pool(text: str, properties: Mapping[str, Mapping[str, str]]) -> Pool:
    fields = dict(re.findall(r"^\s*(pool|state|scan|remove|expand): (.*)$", text, re.MULTILINE))
    name = fields.get("pool", "").strip()
    vdevs: list[tuple[str, str, list[str]]] = []
    use = ""
    _, _, config = text.partition("config:")
    for line in config.partition("\nerrors:")[0].splitlines():
        words = line.split()
        if not words or words[:2] == ["NAME", "STATE"]:
            continue
        depth = len(line) - 1 - len(line[1:].lstrip(" ")) if line.startswith("\t") else -1
        if depth == 0:
            use = words[0] if words[0] in _CLASSES else ""
        elif depth == 2:
            vdevs.append((words[0], use, [words[0]] if words[0].startswith("/") else []))
        elif depth > 2 and vdevs and words[0].startswith("/"):
            vdevs[-1][2].append(words[0])
    pool_vdevs = tuple(Vdev(name_of_vdev, of, tuple(disks)) for name_of_vdev, of, disks in vdevs)
    activities = tuple(fields[key].strip() for key in ("scan", "remove", "expand") if key in fields)
    return Pool(name, fields.get("state", "").strip(), activities, pool_vdevs, properties.get(name, {}))

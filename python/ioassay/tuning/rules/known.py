"""The rule that knows a setting, by its name in `ioassay tune apply`, and whether a value is out of its bounds.

Not: what the rule says of a system.
"""

from __future__ import annotations

from ioassay.tuning.rule import Area, Rule
from ioassay.tuning.rules import RULES
from ioassay.tuning.system.numbers import is_whole

_OF_KIND: dict[str, tuple[tuple[str, tuple[Area, ...]], ...]] = {
    "block": (("", ("block queue",)),),
    "sysctl": (
        ("vm.", ("memory",)),
        ("net.", ("processor and network",)),
        ("sunrpc.", ("NFS",)),
        ("dev.raid.", ("MD RAID",)),
    ),
    "sys": (
        ("kernel/mm/", ("memory",)),
        ("devices/system/cpu/", ("processor and network",)),
        ("class/net/", ("processor and network",)),
        ("class/bdi/", ("NFS",)),
        ("class/nvme-subsystem/", ("NVMe over fabrics",)),
        ("fs/lustre/", ("Lustre",)),
        ("module/zfs/", ("ZFS",)),
        ("module/", ("adapter", "NFS", "Lustre")),
        ("block/", ("block queue",)),
    ),
    "lctl": (("", ("Lustre",)),),
    "stripe": (("", ("Lustre",)),),
    "module": (("zfs/", ("ZFS",)), ("", ("adapter", "NFS", "Lustre"))),
}
"""By kind, what settings whose name begins like this belong to. The same word is another setting elsewhere: `sync` of a
mount and of an export, `read_ahead_kb` of a disk and of an NFS mount."""
_UNSET_BY_ZERO = ("sysctl:vm.dirty_bytes",)
"""Settings of which 0 says that another one is in force."""
_OF_DEVICE: dict[str, Area] = {"md": "MD RAID", "device": "adapter"}
"""Below the directory of a block device, what its files belong to."""


def rule_of(name: str, file_system: str = "") -> Rule | None:
    """The first rule that knows the parameter of a setting, if one does. `file_system`: the type, of a mount."""
    kind, _, where = name.partition(":")
    parameter, areas = _parameter(name), _areas(kind, where, file_system)
    return next((rule for rule in RULES if rule.area in areas and parameter in rule.parameters), None)


def out_of_bounds(rule: Rule, name: str, value: str) -> str:
    """Why no node should have a setting that `rule` knows at `value`, as a clause; empty where it may.

    Of values with several numbers, such as `tcp_rmem`, the last one counts, which is the largest.
    """
    bounds, words = rule.bounds.get(_parameter(name)), value.split()
    if bounds is None or not words or not is_whole(words[-1]) or (name in _UNSET_BY_ZERO and words[-1] == "0"):
        return ""
    breach = bounds.breach(int(words[-1]))
    return f"{breach}; keep it {bounds.range_text}" if breach else ""


def _parameter(name: str) -> str:
    kind, _, where = name.partition(":")
    parts = where.replace("/", ".").split(".")
    parameter = parts[-2] if parts[-1] == "enabled" and len(parts) > 1 else parts[-1]
    return f"stripe_{parameter}" if kind == "stripe" else parameter


def _areas(kind: str, where: str, file_system: str) -> tuple[Area, ...]:
    if kind == "mount":
        of_type: dict[str, tuple[Area, ...]] = {"nfs": ("NFS",), "nfs4": ("NFS",), "btrfs": ("btrfs",)}
        return (*of_type.get(file_system, ()), "file system")
    areas = next((areas for begin, areas in _OF_KIND.get(kind, ()) if where.startswith(begin)), ())
    if areas == ("block queue",):
        directories = where.removeprefix("block/").split("/")[1:-1]
        return next(((_OF_DEVICE[directory],) for directory in directories if directory in _OF_DEVICE), areas)
    return areas

"""Settings by name: `KIND:WHERE`, each read and set in the way of its kind.

    block:sda/nr_requests                 the block queue (`block`), or with a slash another file of the device
    sysctl:vm.dirty_ratio  sys:PATH       other files of the kernel (`kernel`)
    module:mpt3sas/max_sgl_entries        what a module is loaded with (`module`)
    lctl:osc.*.max_rpcs_in_flight         Lustre's parameters, stripe:DIRECTORY/count: its striping (`lustre`)
    mount:/mnt/scratch/noatime            options of mounts (`mount`)
    tuned:profile                         the active profile of TuneD (`tuned`)
    command:NAME                          a pair of commands of the user (`command`)

`coupling` knows which settings move others. Not here: in which order several are changed, what is journalled.

How to add a kind: docs/development/tuning.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.settings import block, command, kernel, lustre, module, mount, tuned
from ioassay.tuning.settings.errors import CannotRead, CannotSet, NotLive, NotTaken, Vanished
from ioassay.tuning.settings.model import Instance, Lifetime, Setting
from ioassay.yaml_models.source import nearest

__all__ = [
    "KINDS",
    "Assignment",
    "CannotRead",
    "CannotSet",
    "Definitions",
    "Instance",
    "Lifetime",
    "NotLive",
    "NotTaken",
    "Setting",
    "Vanished",
    "instance_named",
    "parse",
    "parse_assignment",
]

Definitions = Mapping[str, command.Command]
"""The user's commands, by name."""

ROOT = Path("/")

_MAKERS: dict[str, Callable[[str, Path, Definitions], Setting]] = {
    block.KIND: lambda where, root, commands: block.Block(where, root),
    kernel.SYSCTL: lambda where, root, commands: kernel.Sysctl(where, root),
    kernel.SYS: lambda where, root, commands: kernel.Sys(where, root),
    lustre.LCTL: lambda where, root, commands: lustre.Lctl(where),
    lustre.STRIPE: lambda where, root, commands: lustre.Stripe(where),
    mount.KIND: lambda where, root, commands: mount.MountSetting(where, root),
    module.KIND: lambda where, root, commands: module.Module(where, root),
    tuned.KIND: lambda where, root, commands: tuned.Tuned(where, root),
    command.KIND: lambda where, root, commands: command.CommandSetting(where, dict(commands)),
}

KINDS = tuple(_MAKERS)


@dataclass(frozen=True)
class Assignment:
    """A setting and the value that it shall have."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


def parse_assignment(text: str) -> Assignment:
    """`KIND:WHERE=VALUE`. Raises `UsageError`."""
    name, equals, value = text.partition("=")
    if not equals or ":" not in name:
        raise UsageError(f"{text} is not an assignment.", "Write KIND:WHERE=VALUE, such as block:sda/nr_requests=256.")
    return Assignment(name.strip(), value.strip())


def parse(name: str, definitions: Definitions | None = None, root: Path = ROOT) -> Setting:
    """The setting of that name, which exists on this machine.

    Raises `UsageError` for a kind, device or parameter that does not exist, with the nearest that does.
    """
    setting = _make_setting(name, definitions, root)
    setting.instances()
    return setting


def instance_named(name: str, definitions: Definitions | None = None, root: Path = ROOT) -> Instance:
    """The one value of exactly this name, also if it is no longer there. Raises `UsageError`."""
    return _make_setting(name, definitions, root).exact()


def _make_setting(name: str, definitions: Definitions | None, root: Path) -> Setting:
    kind, colon, where = name.partition(":")
    if not colon or not where:
        raise UsageError(f"{name} is not a setting.", "Write KIND:WHERE, such as block:sda/nr_requests.")
    if kind not in _MAKERS:
        raise UsageError(f"{name}: no such kind of settings; {nearest(kind, KINDS)}")
    if not where.isprintable():
        raise UsageError(f"{kind}: the name has characters that cannot be printed.")
    return _MAKERS[kind](where, root, definitions or {})

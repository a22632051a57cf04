"""Reading parameters of Lustre for a rule: in groups of one file system, which are judged and set together."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.tuning.rule import Assignment
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System, lustre

MIB = 1 << 20
NO_CLIENT = "the node mounts no Lustre file system"
NO_SERVER = "the node is no object storage server of Lustre"


@dataclass(frozen=True)
class Group:
    """The instances of a parameter that belong to one file system: of all its OSTs, or of its mounts."""

    system: System
    kind: str
    """`osc`, the first part of their names."""
    file_system: str
    parameter: str

    @property
    def pattern(self) -> str:
        """Their names, as `lctl` takes them: `osc.scratch-*.max_dirty_mb`."""
        return f"{self.kind}.{self.file_system}-*.{self.parameter}"

    def sibling(self, parameter: str) -> Group:
        """The same instances' other parameter."""
        return Group(self.system, self.kind, self.file_system, parameter)

    def texts(self) -> list[str]:
        """What they say, in the order of their names; empty where there are none. Raises `Unreadable`."""
        return [text(self.system, name) for name in names(self.system, self.pattern)]

    def numbers(self) -> list[int]:
        """The integers that they hold. Raises `Unreadable`, also where one holds another."""
        return [number(self.system, name) for name in names(self.system, self.pattern)]

    def assign(self, value: int | str) -> Assignment:
        """A value for all of them."""
        return Assignment(f"lctl:{self.pattern}", str(value))


def groups(system: System, kind: str, parameter: str) -> list[Group]:
    """The groups of a parameter, by file system."""
    found = {lustre.file_system(name): None for name in names(system, f"{kind}.*-*.{parameter}")}
    return [Group(system, kind, file_system, parameter) for file_system in found]


def names(system: System, pattern: str) -> list[str]:
    """The names of parameters that match, readable or not."""
    known = {*system.lustre, *system.lustre_unreadable}
    return sorted(name for name in known if fnmatch.fnmatchcase(name, pattern))


def text(system: System, name: str) -> str:
    """What a parameter says. Raises `Unreadable`."""
    if name in system.lustre:
        return system.lustre[name]
    raise system.lustre_unreadable.get(name) or Unreadable(name, "there is no such parameter")


def number(system: System, name: str) -> int:
    """The integer that a parameter holds. Raises `Unreadable`, also where it holds another."""
    content = text(system, name)
    if not content.isascii() or not content.isdecimal() or len(content) > 20:
        raise Unreadable(name, f"holds {content[:40]!r}, which is no integer")
    return int(content)


def span(values: Sequence[int], unit: str = "") -> str:
    """The values as one: `8`, or `8 to 32 MiB`."""
    least, most = min(values), max(values)
    shown = str(least) if least == most else f"{least} to {most}"
    return f"{shown} {unit}" if unit else shown


def rpc_bytes(group: Group) -> int:
    """The largest RPC that the clients of a group send. Raises `Unreadable`, also where the snapshot lacks it."""
    pages = max(group.sibling("max_pages_per_rpc").numbers(), default=0)
    if not pages:
        raise Unreadable(group.sibling("max_pages_per_rpc").pattern, "the snapshot lacks it")
    return pages * group.system.page_bytes

"""Where runs take place: resolves --target and --clients to what they are now.

A target may be a storage system of a lab (`lab:NAME`, `lab:NAME/STORAGE`), which also determines the hosts.
Not here: starting labs, inspecting targets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun, UsageError
from ioassay.launchers import Node
from ioassay.store.origin import LabEntry
from ioassay.studies.target import Target, parse_target

if TYPE_CHECKING:
    from ioassay.lab import record
    from ioassay.lab.running import Running

_LAB = "lab:"
_THE_LAB = "lab"
"""As --clients: the target's lab, or the only lab that is up."""


@dataclass(frozen=True)
class LabAccess:
    """What a run needs of the lab that it takes place in, as the lab is now."""

    nodes: Sequence[Node]
    """The hosts that clients can be on."""
    secrets: Mapping[str, str]
    """What the engine gets to know of the storage system through its environment."""
    entry: LabEntry
    """For the record of the run."""


@dataclass(frozen=True)
class Place:
    """Where one run takes place."""

    target: Target
    storage: str | None = None
    """The target's storage system, if it is in a lab: `lab:NAME/STORAGE`."""
    clients: str | None = None
    """Whose hosts are the clients: `lab:NAME`; `None`: processes on this node."""
    lab: LabAccess | None = None
    """The lab of the clients, looked up once; `None`: processes on this node."""

    @property
    def name(self) -> str:
        """A name for use in file names."""
        word = self.storage.rpartition("/")[2] if self.storage else PurePath(self.target.place.partition("?")[0]).name
        return re.sub(r"[^A-Za-z0-9.-]+", "-", word).strip("-.") or "root"

    def again(self) -> Place:
        """The same place with its lab as it is now, which may have been started anew. Raises as `lab_access`."""
        return replace(self, lab=lab_access(self.storage, self.clients))


def places(typed: Sequence[str], destroy_data: str | None, clients: str | None, *, look: bool = True) -> list[Place]:
    """The typed places: one for each target, and for a lab one for each of its storage systems. `look` as in
    `parse_target`.

    Raises `UsageError` for an invalid place or a lab that is down, `CannotRun` for a target that does not respond.
    """
    resolved = []
    for target in typed:
        if not target.startswith(_LAB):
            hosts = clients_of(clients)
            resolved.append(Place(parse_target(target, destroy_data, look=look), None, hosts, lab_access(None, hosts)))
            continue
        if destroy_data is not None:
            raise UsageError("--destroy-data is for block devices, but the target is a lab's.", "Leave it out.")
        lab = _look(target.partition("/")[0])
        of_clients = lab if clients in (None, _THE_LAB, lab.typed) else _look(clients or "")
        resolved += [
            Place(Target(offer.kind, offer.place), name, of_clients.typed, of_clients.access(offer))
            for name, offer in lab.offers(target).items()
        ]
    return resolved


def clients_of(typed: str | None) -> str | None:
    """`Place.clients` of a typed --clients. Raises `UsageError`."""
    return _the_lab() if typed == _THE_LAB else typed


def lab_access(storage: str | None, clients: str | None) -> LabAccess | None:
    """What a run needs of the lab of `Place.storage` and `Place.clients`; `None` without one.

    Raises `UsageError`, `CannotRun` for a lab that is not up.
    """
    if clients is None:
        return None
    lab = _look(clients)
    if storage is None:
        return lab.access(None)
    name = storage.partition("/")[0]
    (offer,) = (lab if name == lab.typed else _look(name)).offers(storage).values()
    return lab.access(offer)


@dataclass(frozen=True)
class _Lab:
    """A lab that is up, with what it says of itself."""

    typed: str
    """`lab:NAME`."""
    running: Running
    published: record.Lab

    def offers(self, typed: str) -> dict[str, record.Target]:
        """What it offers as `lab:NAME` or `lab:NAME/STORAGE`, by `lab:NAME/STORAGE`. Raises `UsageError`."""
        _, slash, wanted = typed.partition("/")
        targets = self.published.targets
        offers = {
            f"{self.typed}/{target.storage}": target for target in targets if not slash or target.storage == wanted
        }
        if not offers:
            known = ", ".join(target.storage for target in targets)
            raise UsageError(f"{self.typed} has no storage `{wanted}`.", f"Use one of: {known}.")
        return offers

    def access(self, offer: record.Target | None) -> LabAccess:
        """With its hosts as clients of `offer`, which may be another lab's. Raises `CannotRun` for lost hosts."""
        hosts = self.running.hosts()
        names = [member.name for member in self.published.clients]
        if gone := [name for name in names if name not in hosts]:
            again = f"ioassay lab down {self.running.name}"
            raise CannotRun(
                f"The lab {self.running.name} has lost {', '.join(gone)}.", f"End it and start it again: {again}"
            )
        return LabAccess(
            nodes=[Node(name, hosts[name].first) for name in names],
            secrets=offer.environment if offer else {},
            entry=LabEntry(
                about=offer.about if offer else None,
                hosts=names,
                link_bits_per_s=self.published.link_bits_per_s,
                started=self.published.started,
                yaml=self.published.yaml,
            ),
        )


def _look(typed: str) -> _Lab:
    """The lab that is typed `lab:NAME`. Raises `UsageError`, `CannotRun`."""
    from ioassay.lab.running import find  # noqa: PLC0415  (psutil is for labs only)

    if not typed.startswith(_LAB):
        raise UsageError(f"`{typed}` is not a list of clients.", "Write --clients lab:NAME for the hosts of a lab.")
    if typed == _LAB:
        raise UsageError(
            "`lab:` needs the name of a lab.", "Write lab:NAME; `ioassay lab status` shows those that are up."
        )
    running = find(typed.removeprefix(_LAB))
    return _Lab(typed, running, running.ready())


def _the_lab() -> str:
    """The only lab that is up, as typed. Raises `UsageError`."""
    from ioassay.lab.running import running  # noqa: PLC0415

    labs = running()
    if len(labs) != 1:
        raise UsageError(f"Several labs or none are up: {', '.join(labs) or 'none'}.", "Write --clients lab:NAME.")
    return f"{_LAB}{next(iter(labs))}"

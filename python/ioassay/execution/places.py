"""Where runs take place: what was typed after --target and --clients, and what that is at this moment.

A target may be a storage system of a lab (`lab:NAME`, `lab:NAME/STORAGE`), which brings the hosts that see it along.
Not here: starting labs, looking at targets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun, UsageError
from ioassay.launchers import Node
from ioassay.store.origin import LabEntry
from ioassay.studies.target import Target, parse_target

if TYPE_CHECKING:
    from ioassay.lab import record

_LAB = "lab:"
_THE_LAB = "lab"
"""After --clients: the lab that the target is in, or the only one that is up."""


@dataclass(frozen=True)
class Place:
    """Where one run takes place."""

    target: Target
    storage: str | None = None
    """The storage system of a lab that the target is: `lab:NAME/STORAGE`."""
    clients: str | None = None
    """Whose hosts are the clients: `lab:NAME`; `None`: processes on this node."""

    @property
    def name(self) -> str:
        """A word for it, for files."""
        word = self.storage.rpartition("/")[2] if self.storage else PurePath(self.target.place.partition("?")[0]).name
        return re.sub(r"[^A-Za-z0-9.-]+", "-", word).strip("-.") or "root"

    def lab(self) -> LabEntry | None:
        """The lab that it is in, for the record. Raises `CannotRun`."""
        if self.clients is None:
            return None
        written = _written(self.clients)
        return LabEntry(
            about=_offer(self.storage).about if self.storage else None,
            hosts=[host.name for host in written.clients],
            link_bits_per_s=written.link_bits_per_s,
            started=written.started,
            yaml=written.yaml,
        )


def nodes_of(clients: str | None) -> list[Node]:
    """The hosts of `Place.clients` as they are now; none where it is this node. Raises `UsageError`, `CannotRun`."""
    return _nodes(clients) if clients else []


def secrets_of(storage: str | None) -> dict[str, str]:
    """What the engine is told of `Place.storage` through its environment. Raises `UsageError`, `CannotRun`."""
    return _offer(storage).environment if storage else {}


def places(typed: Sequence[str], destroy_data: str | None, clients: str | None, *, look: bool = True) -> list[Place]:
    """The places that were typed: one for each target, of a lab one for each of its storage systems. `look` as in
    `parse_target`.

    Raises `UsageError` for what cannot be meant or is not up, `CannotRun` for a target that does not answer.
    """
    found = []
    for target in typed:
        if not target.startswith(_LAB):
            found.append(Place(parse_target(target, destroy_data, look=look), clients=clients_of(clients)))
            continue
        if destroy_data is not None:
            raise UsageError("--destroy-data is for block devices, but the target is a lab's.", "Leave it out.")
        ours = target.partition("/")[0] if clients in (None, _THE_LAB) else clients
        found += [Place(Target(offer.kind, offer.place), name, ours) for name, offer in _offers(target).items()]
    for place in found:
        nodes_of(place.clients)  # what is not up is refused now
    return found


def clients_of(typed: str | None) -> str | None:
    """`Place.clients` as it was typed after --clients. Raises `UsageError`."""
    return _the_lab() if typed == _THE_LAB else typed


def _the_lab() -> str:
    """The only lab that is up, as it is typed. Raises `UsageError`."""
    from ioassay.lab.running import running  # noqa: PLC0415

    labs = running()
    if len(labs) != 1:
        raise UsageError(f"Several labs or none are up: {', '.join(labs) or 'none'}.", "Write --clients lab:NAME.")
    return f"{_LAB}{next(iter(labs))}"


def _written(lab: str) -> record.Lab:
    """What a lab says of itself, by `lab:NAME`."""
    from ioassay.lab.running import find  # noqa: PLC0415  (psutil is for labs only)

    if lab == _LAB:
        raise UsageError(
            "`lab:` needs the name of a lab.", "Write lab:NAME; `ioassay lab status` shows those that are up."
        )
    return find(lab.removeprefix(_LAB)).ready()


def _offer(storage: str) -> record.Target:
    """The storage system `lab:NAME/STORAGE`."""
    return next(iter(_offers(storage).values()))


def _offers(typed: str) -> dict[str, record.Target]:
    """What a lab offers under that name, by `lab:NAME/STORAGE`."""
    lab, slash, wanted = typed.partition("/")
    targets = _written(lab).targets
    offers = {f"{lab}/{target.storage}": target for target in targets if not slash or target.storage == wanted}
    if not offers:
        known = ", ".join(target.storage for target in targets)
        raise UsageError(f"{lab} has no storage `{wanted}`.", f"Use one of: {known}.")
    return offers


def _nodes(clients: str) -> list[Node]:
    from ioassay.lab.running import find  # noqa: PLC0415

    if not clients.startswith(_LAB):
        raise UsageError(f"`{clients}` is not a list of clients.", "Write --clients lab:NAME for the hosts of a lab.")
    lab = find(clients.removeprefix(_LAB))
    hosts = lab.hosts()
    names = [member.name for member in lab.ready().clients]
    if gone := [name for name in names if name not in hosts]:
        again = f"ioassay lab down {lab.name}"
        raise CannotRun(f"The lab {lab.name} has lost {', '.join(gone)}.", f"End it and start it again: {again}")
    return [Node(name, hosts[name].first) for name in names]

"""A brick and the kind of I/O that it does, in a condition: what every place on its path is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.sizing.arithmetic import Value, exactly, product, quotient, total
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, IoKind
from ioassay.sizing.model import BrickChoice, Ceiling
from ioassay.sizing.rates.groups import Groups
from ioassay.sizing.rates.names import rate_name
from ioassay.sizing.rates.work import OPERATION, Work, is_random


@dataclass(frozen=True)
class BrickIo:
    """One kind of I/O of a brick."""

    catalogue: Catalogue
    choice: BrickChoice
    brick: Brick
    groups: Groups
    kind: IoKind
    work: Work
    pace: Value | None
    """While rebuilding, or without the drives of a server: the share of a healthy group's rate that all go at."""
    servers_left: Value | None
    """While failed over: the share of the servers and their adapters that is left."""

    @property
    def rate(self) -> str:
        """`write rate`."""
        return rate_name(self.kind)

    @property
    def asked(self) -> Value | None:
        """Bytes that each operation takes of a link; `None` of sequential I/O, a byte for each byte."""
        return OPERATION if is_random(self.kind) else None

    def figure(self, component: str, key: str, what: str) -> Value | None:
        """A figure of a component of the brick, called `what`."""
        return self.catalogue.value(component, key, what)


def over_link(name: str, link: Value, unit: Value | None) -> Value:
    """The rate of a link, in bytes or operations that take `unit` of it each; `None` means a byte for each byte."""
    return link.named(name) if unit is None else quotient(name, link, unit)


def ceiling_of_all(
    io: BrickIo, place: str, counts: Mapping[str, int], each: Mapping[str, Value | None], share: Value | None = None
) -> list[Ceiling]:
    """The ceiling of all components of a place; none where there is none, or where one of them has no figure.

    `counts` and `each` are by component; `share` of them is at work.
    """
    values = []
    for component, count in counts.items():
        if (value := each[component]) is None:
            return []
        values.append(
            product(f"{io.rate} of all {component}", exactly(component, count), value, *filter(None, [share]))
        )
    return [Ceiling(place, total(f"{io.rate} of the {place}", *values))] if values else []

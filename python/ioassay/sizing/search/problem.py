"""Candidates, needs and limits, and whether counts of candidates meet them: exactly, in fractions.

Not: the program that finds such counts (`formulation`), which questions are asked (`front`, `shortfalls`, `movements`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ioassay.sizing.components import RANDOM_BYTES
from ioassay.sizing.packing import Item, RackLimits
from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.model import kind_of, tier_of
from ioassay.sizing.search.needs import DATA_KINDS, METADATA_KINDS

Counts = tuple[int, ...]
"""How many of each candidate of a problem, in their order."""


@dataclass(frozen=True)
class Problem:
    """The needs to meet, and the candidates."""

    candidates: tuple[Candidate, ...]
    needs: Mapping[str, Fraction]
    """The least of what candidates give, by its key, such as `usable`."""
    most: Mapping[str, Fraction]
    """The most of what they take together, by its key: `power`, `price`, `rack_units`."""
    racks: int | None
    rack: RackLimits
    kinds: int
    """The most kinds of bricks."""
    has_switches: bool
    """Whether switches are bought too: then each port of a brick or module takes one of theirs."""
    with_modules: frozenset[str]
    """The tiers in which at least one metadata module is bought; "" where there are none."""
    clients: int | None
    """Ports of switches that lead to clients, at most."""
    speed: Mapping[str, Fraction]
    """The rates at a speed of 1, for each kind that counts."""
    most_speed: Fraction | None
    """The speed that the links of the clients carry."""
    packed_heights: list[tuple[int, ...]] = field(default_factory=list)
    """Heights, the tallest first, of items that were found not to fit into racks; shared by problems alike."""
    tiers: tuple[str, ...] = ("",)
    """Parts with bricks of their own."""
    of_clients: Mapping[str, Fraction] | None = None
    """With tiers: the rates that switches carry to clients, whichever tier has the data. `None`: all needs."""

    def most_of(self, candidate: Candidate) -> int | None:
        """How many of a candidate the limits let be bought at most; `None` where they do not limit it."""
        of_a_rack = self.rack.most(_item(candidate))
        rows = [of_a_rack * self.racks] if self.racks is not None else [0] if of_a_rack == 0 else []
        rows += [int(most / candidate.takes[what]) for what, most in self.most.items() if candidate.takes[what]]
        rows += [] if candidate.most is None else [candidate.most]
        return min(rows, default=None)

    @property
    def carried_needs(self) -> Mapping[str, Fraction]:
        """The needs that switches carry to clients."""
        return self.needs if self.of_clients is None else self.of_clients

    def ports(self, switch: Candidate, what: str, rate: Fraction) -> int:
        """How many ports of a switch carry a rate; none is needed for what is not I/O on data."""
        if kind_of(what) not in DATA_KINDS:
            return 0
        return math.ceil(rate * bytes_of(what) / switch.gives["link"])

    def at_least(self, least: Mapping[str, Fraction]) -> Problem:
        """The same, where so much is needed at least."""
        return replace(
            self, needs={**self.needs, **{what: max(need, self.needs.get(what, need)) for what, need in least.items()}}
        )

    def at_speed(self, speed: Fraction) -> Problem:
        """The same, where such a speed is needed at least."""
        return self.at_least({kind: rate * speed for kind, rate in self.speed.items()})

    def at_most(self, what: str, most: Fraction) -> Problem:
        """The same, where no more of `what` may be taken."""
        return replace(self, most={**self.most, what: min(most, self.most.get(what, most))})

    def speed_of(self, counts: Counts) -> Fraction:
        """The speed of counts: of its kinds of I/O the least, as far as switches and clients carry it."""
        speeds = [self.carried(counts, kind) / rate for kind, rate in self.speed.items()]
        return min([*speeds, *([] if self.most_speed is None else [self.most_speed])], default=Fraction(0))

    def carried(self, counts: Counts, what: str) -> Fraction:
        """The amount that they give together, as far as switches carry it; of a tier, all that it gives."""
        amount, links = self.total(counts, what), self._links(counts)
        return amount if links is None or what not in DATA_KINDS else min(amount, links / bytes_of(what))

    def _links(self, counts: Counts) -> Fraction | None:
        """The bytes/s that switches carry from bricks to clients; `None` where there are no switches."""
        bought = self.bought(counts)
        switches = {candidate: count for candidate, count in bought.items() if candidate.kind == "switch"}
        if not switches:
            return None
        ports = sum(int(switch.gives["ports"]) * count for switch, count in switches.items())
        taken = {
            kind: sum(
                int(candidate.takes["switch_ports"]) * count
                for candidate, count in bought.items()
                if candidate.kind == kind
            )
            for kind in ("brick", "metadata module")
        }
        used = [taken["brick"], ports - sum(taken.values()), *([] if self.clients is None else [self.clients])]
        (link,) = {switch.gives["link"] for switch in switches}
        return min(used) * link

    def network_carries(self, counts: Counts) -> bool:
        """Whether switches carry what clients need, and what each tier does."""
        links = self._links(counts)
        if links is None or self.of_clients is None:  # without tiers, switches limit the rates themselves
            return True
        (link,) = {candidate.gives["link"] for candidate in self.bought(counts) if candidate.kind == "switch"}
        of_tiers = {
            tier: link
            * sum(
                int(candidate.takes["switch_ports"]) * number
                for candidate, number in self.bought(counts).items()
                if candidate.tier == tier
            )
            for tier in self.tiers
        }
        return all(
            need * bytes_of(what) <= (of_tiers[tier_of(what)] if tier_of(what) else links)
            for what, need in (*self.of_clients.items(), *self.needs.items())
            if kind_of(what) in DATA_KINDS
        )

    def fits(self, counts: Counts) -> bool:
        """Whether counts meet all needs and limits exactly, but for packing."""
        return all(self.total(counts, what) >= need for what, need in self.needs.items()) and all(
            self.taken(counts, what) <= most for what, most in self.most.items()
        )

    def total(self, counts: Counts, what: str) -> Fraction:
        """The amount that they give together; 0 where it is unknown."""
        parts = (candidate.together(what, count) for candidate, count in self.bought(counts).items())
        return sum((part or Fraction(0) for part in parts), Fraction(0))

    def taken(self, counts: Counts, what: str) -> Fraction:
        """The amount that they take together."""
        return sum((candidate.takes[what] * count for candidate, count in self.bought(counts).items()), Fraction(0))

    def needs_of(self, candidate: Candidate) -> dict[str, Fraction]:
        """The needs that candidates of its kind meet in its tier."""
        kinds = {"brick": ("usable", *DATA_KINDS), "metadata module": METADATA_KINDS, "switch": ()}[candidate.kind]
        return {
            what: need
            for what, need in self.needs.items()
            if kind_of(what) in kinds and tier_of(what) == candidate.tier
        }

    def counts(self, bought: Mapping[Candidate, int]) -> Counts:
        """The counts of what is bought."""
        return tuple(bought.get(candidate, 0) for candidate in self.candidates)

    def items(self, counts: Counts) -> list[Item]:
        """The items for racks."""
        return [_item(candidate) for candidate, count in self.bought(counts).items() for _ in range(count)]

    def bought(self, counts: Counts) -> dict[Candidate, int]:
        """The candidates of which there is at least one."""
        return {candidate: count for candidate, count in zip(self.candidates, counts, strict=True) if count}


def bytes_of(what: str) -> int:
    """How many bytes one of a rate of data is."""
    return RANDOM_BYTES if kind_of(what).startswith("random") else 1


def _item(candidate: Candidate) -> Item:
    return Item(
        candidate.title,
        int(candidate.takes["rack_units"]),
        candidate.stands,
        candidate.takes.get("weight"),
        candidate.takes.get("power"),
    )

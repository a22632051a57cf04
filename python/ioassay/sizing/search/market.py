"""Which candidates are looked at: known well enough, surviving what they must, and beaten by no other.

Not: what one gives and takes (`candidates`), how many are bought (`problem`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, MetadataModule, Rack, Switch
from ioassay.sizing.failure_domains import survives
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.parts import Name, currencies
from ioassay.sizing.requirements import Requirements, Survives
from ioassay.sizing.search.candidates import Candidate, candidate_of
from ioassay.sizing.search.model import Cost, Need
from ioassay.sizing.search.needs import DATA_KINDS, METADATA_KINDS, SEQUENTIAL

RESOURCE: Mapping[str, str] = {
    "racks": "rack_units",
    "power": "power",
    "weight_per_rack": "weight",
    "budget": "price",
}
"""What a limit is on, as a key of `Candidate.takes`."""

_GIVES: Mapping[str, tuple[str, ...]] = {
    "brick": ("usable", *DATA_KINDS),
    "metadata module": METADATA_KINDS,
    "switch": (),
}

_WORDS = {"rack_units": "height", "price": "price in the currency asked for"}


@dataclass(frozen=True)
class Market:
    """All that can be bought."""

    candidates: tuple[Candidate, ...]
    looked_at: int
    """Bricks with their drives."""
    dominated: int
    """Of them, those that another one beats in everything."""
    unknown: tuple[str, ...]
    """What was left out because the catalogue does not say enough of it, as sentences."""
    fragile: tuple[str, ...]
    """What was left out because it does not survive what it must, as sentences."""
    cost: Cost
    currency: str | None
    """Of the cost, if it is a price."""


def market(requirements: Requirements, catalogue: Catalogue, needs: Sequence[Need]) -> Market:
    """All that can be bought to meet `needs`. Raises `UsageError` for names that the catalogue does not have."""
    choices = _choices(requirements, catalogue)
    why_not = {choice: _why_not_survived(catalogue, choice, requirements.survives) for choice in choices}
    names: list[Name] = [
        *(choice for choice in choices if not why_not[choice]),
        *_modules(requirements, catalogue, needs),
        *(name for name in requirements.switches if catalogue.find(name, Switch)),
    ]
    currency = requirements.limits.currency or _only_currency(catalogue, names)
    every = [candidate_of(requirements, catalogue, name, currency) for name in names]
    demanded = _demanded(requirements, catalogue, needs)
    missing = {one.title: _missing(one, demanded) for one in every}
    known = [one for one in every if not missing[one.title]]
    of_metadata = [need.what.replace("_", " ") for need in needs if need.what in METADATA_KINDS]
    without = _without_modules(known) if of_metadata else []
    known = [one for one in known if one not in without]
    has_prices = bool(known) and all("price" in one.takes for one in known)
    combined = requirements.kinds > 1 or any(one.kind == "metadata module" for one in known)
    kept = _unbeaten(known, demanded | speed_kinds(needs) | ({"price"} if has_prices else set()), combined)
    bricks_known, bricks_kept = (sum(one.kind == "brick" for one in some) for some in (known, kept))
    return Market(
        candidates=tuple(kept),
        looked_at=len(choices),
        dominated=bricks_known - bricks_kept,
        unknown=(
            *(f"{title}: {' and '.join(what)} unknown." for title, what in missing.items() if what),
            *(
                f"{one.title}: no metadata module for {one.software} has a known {' and '.join(of_metadata)} rate."
                for one in without
            ),
            *(
                f"{one.title}: nothing says what several do together; looked at one alone."
                for one in known
                if one.is_alone
            ),
        ),
        fragile=tuple(f"{choice.name} {why}" for choice, why in why_not.items() if why),
        cost="price" if has_prices else "rack units",
        currency=currency if has_prices else None,
    )


def speed_kinds(needs: Iterable[Need]) -> set[str]:
    """The rates that make one configuration faster than another: those required, else the sequential ones."""
    return {need.what for need in needs if need.what in DATA_KINDS} or set(SEQUENTIAL)


def _choices(requirements: Requirements, catalogue: Catalogue) -> list[BrickChoice]:
    names = requirements.bricks or [entry.name for entry in catalogue.all(Brick)]
    return [BrickChoice(name, drive) for name in names for drive in catalogue.find(name, Brick).drives]


def _why_not_survived(catalogue: Catalogue, choice: BrickChoice, wanted: Survives) -> str:
    """What of `wanted` a brick does not survive, as the end of a sentence; empty where it survives all."""
    has = survives(catalogue, choice)
    for what, tolerance, least in (
        ("drives of a group", has.drives, wanted.drives),
        ("servers", has.servers, wanted.servers),
        ("enclosures", has.enclosures, wanted.enclosures),
    ):
        if tolerance.count < least:
            return f"survives the loss of {_counted(tolerance.count, what)}, not of {least}. {tolerance.reason}"
    return ""


def _counted(count: int, noun: str) -> str:
    """`1 drive of a group`, `no servers`."""
    head, of, rest = noun.partition(" of ")
    return f"{count or 'no'} {head.removesuffix('s') if count == 1 else head}{of}{rest}"


def _modules(requirements: Requirements, catalogue: Catalogue, needs: Sequence[Need]) -> list[str]:
    """Those that are named; all where rates of metadata are required and none is named."""
    named = [name for name in requirements.metadata if catalogue.find(name, MetadataModule)]
    if named or not any(need.what in METADATA_KINDS for need in needs):
        return named
    return [entry.name for entry in catalogue.all(MetadataModule)]


def _only_currency(catalogue: Catalogue, names: Iterable[Name]) -> str | None:
    """The currency of all prices, if they have one."""
    found = {currency for name in names for currency in currencies(catalogue, name)}
    return found.pop() if len(found) == 1 else None


def _demanded(requirements: Requirements, catalogue: Catalogue, needs: Iterable[Need]) -> set[str]:
    """What must be known of a candidate, as keys of what it gives and takes."""
    rack = catalogue.find(requirements.limits.rack, Rack)
    own = {"power": rack.most_power, "weight": rack.most_weight}
    return {
        "rack_units",
        *(RESOURCE.get(need.what, need.what) for need in needs),
        *(key for key, most in own.items() if most is not None),
        *(["switch_ports"] if requirements.switches else []),
    }


def _missing(candidate: Candidate, demanded: Iterable[str]) -> list[str]:
    """What is not known of a candidate and would have to be, in words."""
    gives = _GIVES[candidate.kind]
    return sorted(
        _WORDS.get(key, f"{key.replace('_', ' ')} rate" if key in gives else key)
        for key in demanded
        if key in (*gives, *RESOURCE.values()) and key not in candidate.gives and key not in candidate.takes
    )


def _without_modules(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Bricks with which no metadata module can be combined."""
    served = {one.software for one in candidates if one.kind == "metadata module"}
    return [
        one
        for one in candidates
        if one.kind == "brick" and one.software is not None and None not in served and one.software not in served
    ]


def _unbeaten(candidates: Sequence[Candidate], relevant: set[str], combined: bool) -> list[Candidate]:
    """Those that no other one of the same kind beats; of equal ones the first.

    What is `combined` with others has rivals only in what can be combined with the same.
    """

    def beats(one: Candidate, other: Candidate) -> bool:
        return (not combined or one.software == other.software) and _beats(one, other, relevant)

    kept: list[Candidate] = []
    for candidate in candidates:
        if not any(beats(other, candidate) for other in kept):
            kept = [other for other in kept if not beats(candidate, other)] + [candidate]
    return kept


def _beats(one: Candidate, other: Candidate, relevant: set[str]) -> bool:
    """Whether one gives at least as much of all that counts, and takes no more: then nobody needs the other."""
    if one.kind != other.kind or not (one.scaling == other.scaling or (one.is_linear and other.is_linear)):
        return False
    gives = (relevant | {"usable", "ports", "link"}) & other.gives.keys()
    takes = relevant & other.takes.keys()
    return all(one.gives.get(key, -1) >= other.gives[key] for key in gives) and all(
        key in one.takes and one.takes[key] <= other.takes[key] for key in takes
    )

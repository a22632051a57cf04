"""The candidates of a search: known well enough, surviving what they must, and beaten by no other.

Not: what one gives and takes (`candidates`), how many are bought (`problem`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ioassay.sizing.capacity.limits import limits_of_brick
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, MetadataModule, Rack, Switch
from ioassay.sizing.failure_domains import survives
from ioassay.sizing.formulas import amount
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.parts import Name, currencies, media_of, without_figure
from ioassay.sizing.requirements import Requirements, Survives, Tier
from ioassay.sizing.search.candidates import Candidate, candidate_of
from ioassay.sizing.search.model import Cost, Need, kind_of, tier_of
from ioassay.sizing.search.needs import DATA_KINDS, METADATA_KINDS, SEQUENTIAL
from ioassay.text.prose import listed
from ioassay.text.units import format_count

RESOURCE: Mapping[str, str] = {
    "racks": "rack_units",
    "power": "power",
    "weight_per_rack": "weight",
    "budget": "price",
}
"""The resource of a limit, as a key of `Candidate.takes`."""

_GIVES: Mapping[str, tuple[str, ...]] = {
    "brick": ("usable", *DATA_KINDS),
    "metadata module": METADATA_KINDS,
    "switch": (),
}

_WORDS = {"rack_units": "height"}

_MOST_NAMES = 3
"""Parts that are named of which a figure is unknown; the bill of materials names all."""


@dataclass(frozen=True)
class Market:
    """All that can be bought."""

    candidates: tuple[Candidate, ...]
    looked_at: int
    """Bricks with their drives."""
    dominated: int
    """How many of them another one beats in everything."""
    unknown: tuple[str, ...]
    """The candidates without enough figures in the catalogue, as sentences."""
    fragile: tuple[str, ...]
    """The candidates that do not survive required failures, as sentences."""
    beyond_limits: tuple[str, ...]
    """The candidates beyond the supported size of their file system, as sentences."""
    cost: Cost
    currency: str | None
    """The currency of the cost, if it is a price, and of the budget."""


def market(requirements: Requirements, catalogue: Catalogue, needs: Sequence[Need]) -> Market:
    """All that can be bought to meet `needs`. Raises `UsageError` for names that the catalogue does not have."""
    tiers = tuple(requirements.tiers) or ("",)
    choices = {tier: _choices(requirements, catalogue, tier) for tier in tiers}
    every_choice = list(dict.fromkeys(choice for several in choices.values() for choice in several))
    why_not = {choice: _why_not_survived(catalogue, choice, requirements.survives) for choice in every_choice}
    beyond = {choice: limits_text for choice in every_choice if (limits_text := _beyond_limits(catalogue, choice))}
    names: list[tuple[Name, str]] = [
        *((choice, tier) for tier in tiers for choice in choices[tier] if not why_not[choice] and choice not in beyond),
        *((module, tier) for tier in tiers for module in _modules(requirements, catalogue, needs, tier)),
        *((name, "") for name in requirements.switches if catalogue.find(name, Switch)),
    ]
    currency = requirements.limits.currency or _only_currency(catalogue, [name for name, _ in names])
    candidates = [candidate_of(requirements, catalogue, name, currency, tier) for name, tier in names]
    demanded = _demanded(requirements, catalogue, needs)
    missing = {
        candidate.title: _missing(catalogue, candidate, demanded, requirements.limits.currency)
        for candidate in candidates
    }
    known = [candidate for candidate in candidates if not missing[candidate.title]]
    of_metadata = {tier: _of_metadata(needs, tier) for tier in tiers}
    without = [candidate for tier in tiers if of_metadata[tier] for candidate in _without_modules(known, tier)]
    known = [candidate for candidate in known if candidate not in without]
    has_prices = bool(known) and all("price" in candidate.takes for candidate in known)
    combined = requirements.kinds > 1 or any(candidate.kind == "metadata module" for candidate in known)
    kept = _unbeaten(known, demanded | speed_kinds(needs) | ({"price"} if has_prices else set()), combined)
    bricks_known, bricks_kept = (sum(candidate.kind == "brick" for candidate in some) for some in (known, kept))
    return Market(
        candidates=tuple(kept),
        looked_at=len(every_choice),
        dominated=bricks_known - bricks_kept,
        unknown=(
            *(f"{title}: {' and '.join(what)}." for title, what in missing.items() if what),
            *(
                f"{candidate.title}: no metadata module for {candidate.software} has a known "
                f"{' and '.join(of_metadata[candidate.tier])} rate."
                for candidate in without
            ),
            *(
                f"{candidate.title}: nothing says what several do together; only one was considered."
                for candidate in known
                if candidate.is_alone
            ),
        ),
        fragile=tuple(f"{choice.name} {why}" for choice, why in why_not.items() if why),
        beyond_limits=tuple(f"{choice.name}: {limits_text}" for choice, limits_text in beyond.items()),
        cost="price" if has_prices else "rack units",
        currency=currency if has_prices else requirements.limits.currency,
    )


def speed_kinds(needs: Iterable[Need]) -> set[str]:
    """The rates that make one configuration faster than another: those required, else the sequential ones."""
    return {need.what for need in needs if kind_of(need.what) in DATA_KINDS} or set(SEQUENTIAL)


def _choices(requirements: Requirements, catalogue: Catalogue, tier: str) -> list[BrickChoice]:
    wishes = requirements.tiers[tier] if tier else Tier()
    names = wishes.bricks or requirements.bricks or [entry.name for entry in catalogue.all(Brick)]
    choices = [BrickChoice(name, drive) for name in names for drive in catalogue.find(name, Brick).drives]
    return [choice for choice in choices if wishes.media in (None, media_of(catalogue, choice.drive))]


def _why_not_survived(catalogue: Catalogue, choice: BrickChoice, wanted: Survives) -> str:
    """The failures of `wanted` that a brick does not survive, as the end of a sentence; empty where it survives all."""
    has = survives(catalogue, choice)
    for what, tolerance, least in (
        ("drives of a group", has.drives, wanted.drives),
        ("servers", has.servers, wanted.servers),
        ("enclosures", has.enclosures, wanted.enclosures),
    ):
        if tolerance.count < least:
            return f"survives the loss of {_counted_noun(tolerance.count, what)}, not of {least}. {tolerance.reason}"
    return ""


def _beyond_limits(catalogue: Catalogue, choice: BrickChoice) -> str:
    """The limits of its file system that a brick exceeds, as sentences; empty where it keeps all."""
    limits = (limit for limit in limits_of_brick(catalogue, choice) if limit.kind == "supported" and not limit.is_kept)
    return " ".join(
        f"{limit.what} {amount(limit.has)}, at most {amount(limit.most)} supported. {limit.source}" for limit in limits
    )


def _counted_noun(count: int, noun: str) -> str:
    """`1 drive of a group`, `no servers`."""
    head, of, rest = noun.partition(" of ")
    return f"{count or 'no'} {head.removesuffix('s') if count == 1 else head}{of}{rest}"


def _of_metadata(needs: Iterable[Need], tier: str) -> list[str]:
    """The rates of metadata that a tier needs, in words."""
    kinds = [kind_of(need.what) for need in needs if tier_of(need.what) == tier]
    return [kind.replace("_", " ") for kind in kinds if kind in METADATA_KINDS]


def _modules(requirements: Requirements, catalogue: Catalogue, needs: Sequence[Need], tier: str) -> list[str]:
    """The named modules; all where rates of metadata are required and none is named."""
    module_names = requirements.tiers[tier].metadata if tier else requirements.metadata
    named = [name for name in module_names if catalogue.find(name, MetadataModule)]
    if named or not _of_metadata(needs, tier):
        return named
    return [entry.name for entry in catalogue.all(MetadataModule)]


def _only_currency(catalogue: Catalogue, names: Iterable[Name]) -> str | None:
    """The currency of all prices, if they have one."""
    currencies_used = {currency for name in names for currency in currencies(catalogue, name)}
    return currencies_used.pop() if len(currencies_used) == 1 else None


def _demanded(requirements: Requirements, catalogue: Catalogue, needs: Iterable[Need]) -> set[str]:
    """The figures that must be known of a candidate, as keys of what it gives and takes."""
    rack = catalogue.find(requirements.limits.rack, Rack)
    limits = {"power": rack.most_power, "weight": rack.most_weight}
    return {
        "rack_units",
        *(RESOURCE.get(need.what, need.what) for need in needs),
        *(key for key, most in limits.items() if most is not None),
        *(["switch_ports"] if requirements.switches else []),
    }


def _missing(catalogue: Catalogue, candidate: Candidate, demanded: Iterable[str], currency: str | None) -> list[str]:
    """The missing figures of a candidate, in words; of resources that its parts take, for which parts."""
    gives = _GIVES[candidate.kind]
    lacking_figures = []
    of_tier = [key for key in sorted(demanded) if tier_of(key) in ("", candidate.tier)]
    for key in (kind_of(key) for key in of_tier if key not in candidate.gives and key not in candidate.takes):
        if key not in (*gives, *RESOURCE.values()):
            continue
        noun = _WORDS.get(key, f"{key.replace('_', ' ')} rate" if key in gives else key)
        if key == "price":
            noun = f"price in {currency}" if currency else "price in one currency"
        lacking = [] if key in gives else without_figure(catalogue, candidate.name, key, currency)
        lacking_figures.append(f"{noun} unknown{f' (that of {_few(lacking)} is not given)' if lacking else ''}")
    return lacking_figures


def _few(names: Sequence[str]) -> str:
    """The first of many names, and how many others there are."""
    rest = len(names) - _MOST_NAMES
    return listed([*names[:_MOST_NAMES], f"{format_count(rest, 'other part')}"]) if rest > 0 else listed(names)


def _without_modules(candidates: Sequence[Candidate], tier: str) -> list[Candidate]:
    """Bricks of a tier with which no metadata module can be combined."""
    of_tier = [candidate for candidate in candidates if candidate.tier == tier]
    served = {candidate.software for candidate in of_tier if candidate.kind == "metadata module"}
    return [
        candidate
        for candidate in of_tier
        if candidate.kind == "brick"
        and candidate.software is not None
        and None not in served
        and candidate.software not in served
    ]


def _unbeaten(candidates: Sequence[Candidate], relevant: set[str], combined: bool) -> list[Candidate]:
    """The candidates that no other one of the same kind beats; of equal ones the first.

    What is `combined` with others has rivals only in what can be combined with the same.
    """

    def beats(candidate: Candidate, other: Candidate) -> bool:
        return (not combined or candidate.software == other.software) and _beats(candidate, other, relevant)

    kept: list[Candidate] = []
    for candidate in candidates:
        if not any(beats(other, candidate) for other in kept):
            kept = [other for other in kept if not beats(candidate, other)] + [candidate]
    return kept


def _beats(candidate: Candidate, other: Candidate, relevant: set[str]) -> bool:
    """Whether one gives at least as much of all that counts, and takes no more: then nobody needs the other."""
    if (candidate.kind, candidate.tier) != (other.kind, other.tier) or not (
        candidate.scaling == other.scaling or (candidate.is_linear and other.is_linear)
    ):
        return False
    gives = (relevant | {"usable", "ports", "link"}) & other.gives.keys()
    takes = relevant & other.takes.keys()
    return all(candidate.gives.get(key, -1) >= other.gives[key] for key in gives) and all(
        key in candidate.takes and candidate.takes[key] <= other.takes[key] for key in takes
    )

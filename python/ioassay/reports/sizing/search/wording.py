"""Sentences of a search: its verdict, what cannot be met, what moves it. Not: words of all sizes (`sizing.wording`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import get_args

from ioassay.reports.document import Text
from ioassay.reports.sizing import wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value, difference
from ioassay.sizing.components import MetadataKind, RateKind
from ioassay.sizing.model import Size
from ioassay.sizing.search.model import Answer, Margin, Movement, Need, Search, Shortfall, kind_of, tier_of
from ioassay.systems.amounts import BYTES
from ioassay.text.format import count
from ioassay.text.prose import listed

NEEDS: Mapping[str, str] = {
    "usable": "usable capacity",
    "write": "write rate",
    "read": "read rate",
    "random_write": "random write rate",
    "random_read": "random read rate",
    "create": "create rate",
    "stat": "stat rate",
    "read_files": "read rate of empty files",
    "remove": "remove rate",
    "racks": "racks",
    "power": "power",
    "weight_per_rack": "weight of a rack",
    "budget": "price",
}
"""The keys of needs, as nouns."""

NO_CHANGE = "no change"
"""The effect of a figure that moves nothing."""


def noun(need: Need) -> str:
    """A need as a noun: `write rate`, `write rate of flash`."""
    tier = tier_of(need.what)
    return f"{NEEDS[kind_of(need.what)]} of {tier}" if tier else NEEDS[need.what]


def amount(value: Value, need: Need, currency: str | None = None) -> str:
    """A value in the unit of the need: `36 GB/s`, `20 kops/s`, `1,200,000 EUR`, `3 racks`."""
    if need.what == "racks":
        return count(value.nominal, "rack")
    if kind_of(need.what) in get_args(MetadataKind):
        return wording.amount(value, "create")
    return f"{wording.amount(value)} {currency if need.what == 'budget' and currency else ''}".rstrip()


def cell(value: Value, need: Need, currency: str | None = None) -> Text:
    """A value as a cell of a table: bytes in binary units below those in decimal ones."""
    return wording.cell(value) if value.dimension == BYTES else amount(value, need, currency)


def wanted(need: Need, currency: str | None = None) -> str:
    """`a write rate of at least 36 GB/s`, `at most 10 racks`."""
    bound = f"at {'most' if need.is_most else 'least'} {amount(need.value, need, currency)}"
    return bound if need.what == "racks" else f"a {noun(need)} of {bound}"


def cost(search: Search, value: Value) -> str:
    """`40 U`, or with the currency `1,880,000 EUR`."""
    return (
        f"{formulas.brief(value)} {search.currency or ''}".rstrip() if search.cost == "price" else formulas.brief(value)
    )


def verdict(search: Search) -> str:
    """The cheapest configuration in one sentence, or that there is none."""
    if search.answers:
        first = search.answers[0]
        number = count(len(search.answers), "configuration")
        best = "cheapest" if search.cost == "price" else "smallest"
        lead = (
            f"The {best} of {number} that meet all requirements"
            if len(search.answers) > 1
            else "One configuration meets all requirements"
        )
        return f"{lead}: {bought(first)}. {holds(search, first)}"
    if search.is_impossible and not search.is_complete:
        return f"No configuration meets the requirements, which is proved; {ended(search)} for what stands in the way."
    if search.shortfalls:
        return "No configuration meets the requirements."
    if not search.is_complete:
        return f"Not decided: {ended(search)} before it found a configuration or proved that none exists."
    return _nothing_considered(search)


def not_proved(search: Search) -> str:
    """The remark on answers that may not be the best."""
    return f"Not proved to be the best: {ended(search)}. What was found holds; better ones may exist."


def ended(search: Search) -> str:
    """The reason that ended an incomplete search, as a clause."""
    return f"the time limit, {search.limit_s:g} s of processor time, ended the search"


def _nothing_considered(search: Search) -> str:
    tiers = f"tier {listed(search.empty_tiers)}" if search.empty_tiers else "catalogue"
    if search.beyond_limits and not search.unknown and not search.fragile:
        return f"The file system of no brick of the {tiers} is supported so large."
    if search.fragile and not search.unknown:
        return f"No brick of the {tiers} survives what it must."
    if search.unknown and not search.fragile:
        return f"Too little is known of all bricks of the {tiers} to say whether they meet the requirements."
    return f"No brick of the {tiers} is known well enough and survives what it must."


def holds(search: Search, answer: Answer) -> str:
    """Capacity, rates and space of a configuration: `1.536 PB (1.364 PiB) usable, 36 GB/s write; 40 U in 1 rack.`"""
    parts = [f"{f'{tier}: ' if tier else ''}{_does(search, tier, size)}" for tier, size in answer.parts.items()]
    racks = f" in {count(len(answer.racks), 'rack')}" if answer.racks else ""
    return f"{'; '.join(parts)}; {'together ' if answer.tiers else ''}{cost(search, answer.cost)}{racks}."


def _does(search: Search, tier: str, size: Size) -> str:
    rates = size.rates["healthy"]
    does = [
        f"{wording.amount(rates[kind].value, kind)} {wording.kind(kind)}" for kind in main_kinds(search, tier, size)
    ]
    return ", ".join([f"{wording.amount(size.capacity.usable)} usable", *does])


def bought(answer: Answer) -> str:
    """`8 × md3460-performance with nl-sas-4tb`; of tiers those of each: `flash 2 × …, disk 8 × …`."""
    return "; ".join(f"{tier} {wording.bought(size)}".strip() for tier, size in answer.parts.items())


def main_kinds(search: Search, tier: str, size: Size) -> list[RateKind]:
    """The kinds of I/O that are required of a tier, or of all; otherwise sequential writes and reads."""
    needed = [kind_of(need.what) for need in search.needs if tier_of(need.what) == tier]
    known = size.rates["healthy"]
    return [kind for kind in known if kind in needed] or [kind for kind in known if kind in ("write", "read")]


def margin(margin: Margin) -> str:
    """`+12 %`: what it has over what is needed; of a limit `30 % used`."""
    if margin.need.is_most:
        return f"{_percent(margin.has.nominal / margin.need.value.nominal)} used"
    return f"{'+' if margin.share >= 1 else '−'}{_percent(abs(margin.share - 1))}"


def shortfall(shortfall: Shortfall, currency: str | None) -> str:
    """A need that cannot be met, by how much, and why: a limit, or contradicting needs.

    `Write rate: 36 GB/s needed, 27 GB/s possible, 9 GB/s short (25 %); limited by 1 rack of 42 U.`
    """
    need = shortfall.need
    missing = (
        difference("missing", shortfall.best, need.value)
        if need.is_most
        else difference("missing", need.value, shortfall.best)
    )
    asked, best, missing_amount = (amount(value, need, currency) for value in (need.value, shortfall.best, missing))
    share = f" ({_percent(missing.nominal / need.value.nominal)})" if need.value.nominal else ""
    others = listed([wanted(other, currency) for other in shortfall.together])
    together = f" together with {others}" if others else ""
    too_much = "too many" if need.what == "racks" else "too much"
    gap = (
        f"{asked} allowed, {best} required{together or _EVEN_BY_THE_LEAST}, {missing_amount} {too_much}{share}"
        if need.is_most
        else f"{asked} needed, {best} possible{together}, {missing_amount} short{share}"
    )
    # What it contradicts is what limits it.
    limited = f"; limited by {shortfall.limited_by}" if shortfall.limited_by and not others else ""
    return f"{wording.capital(noun(need))}: {gap}{limited}."


_EVEN_BY_THE_LEAST = " even by the least that can be bought"

CONFLICT = "Each of these can be met without the others; to give way in one of them is enough."
"""The remark on needs that contradict each other."""


def side(factor: float) -> str:
    """`20 % lower`."""
    return f"{_percent(abs(factor - 1))} {'lower' if factor < 1 else 'higher'}"


def movement(movement: Movement, answer: Answer) -> str:
    """`write rate of md3460-controllers 20 % lower: 8 → 10 bricks`."""
    return f"{movement.figure} {side(movement.factor)}: {effect(movement, answer)}"


def effect(movement: Movement, answer: Answer) -> str:
    """`8 → 10 bricks`, `no change`, `cannot be met`."""
    if movement.after is None:
        return "cannot be met"
    after = dict(movement.after)
    changed = [
        f"{number} → {_counted(name, after.get(name, 0), answer)}"
        for name, number in movement.before
        if after.get(name, 0) != number
    ]
    return ", ".join(changed) or NO_CHANGE


def _counted(name: str, number: int, answer: Answer) -> str:
    """`10 bricks`, `1 metadata module` where there is one kind of them, otherwise with their name."""
    configuration = answer.configuration
    if name in configuration.metadata and len(configuration.metadata) == 1:
        return count(number, "metadata module")
    is_brick = name not in configuration.metadata and name not in configuration.switches
    return count(number, "brick") if is_brick and len(configuration.bricks) == 1 else f"{number} {name}"


def scope_of_search(search: Search) -> str:
    """The extent of the search, as a sentence."""
    left_out = f", {search.dominated:,} of them beaten by another one in everything" if search.dominated else ""
    ends = search.cost_ends_at
    were = "brick with its drives was" if search.candidates == 1 else "bricks with their drives were"
    considered = f"{search.candidates:,} {were} considered{left_out}."
    if ends is None or not search.answers:
        return considered
    unit = search.currency if search.cost == "price" else "U"
    end = f"{formulas.significant(ends)} {unit}"
    return f"{considered} As nothing limits racks, power or price, the search ended at {end}."


def left_out_by_reason(search: Search) -> list[str]:
    """Each reason for which bricks were left out, with how many: `28 bricks: power unknown.`"""
    reasons = [sentence.partition(": ")[2] for sentence in search.unknown]
    reasons += [sentence.partition(": ")[2].partition(". ")[0] + "." for sentence in search.beyond_limits]
    reasons += [f"survives {sentence.partition(' survives ')[2]}" for sentence in search.fragile]
    return [f"{count(number, 'component')}: {why}" for why, number in Counter(reasons).most_common()]


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.1f} %" if 0 < percent < 10 and round(percent, 1) != round(percent) else f"{percent:.0f} %"

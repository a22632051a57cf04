"""The needs that cannot be met, by how much, and their limits.

First what the clients' links rule out; then limits within which nothing at all can be bought; then each need alone
within all limits; then, if each can be met, a smallest set that contradicts itself, found by leaving out one need or
limit after the other for good where the rest still does (the deletion filter: J. W. Chinneck, E. W. Dravnieks,
*Locating Minimal Infeasible Constraint Sets in Linear Programs*, ORSA Journal on Computing 3, 1991).

Not: solving (`finder`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from ioassay.sizing.arithmetic import Value, exactly
from ioassay.sizing.formulas import brief
from ioassay.sizing.search.context import Context
from ioassay.sizing.search.finder import BoughtCounts
from ioassay.sizing.search.market import RESOURCE
from ioassay.sizing.search.model import Need, Shortfall, kind_of, tier_of
from ioassay.sizing.search.needs import METADATA_KINDS, clients_rates, needs_of_clients

_MORE = Fraction(10_001, 10_000)
"""How many times the best is more than it."""

_NOUNS = {
    "usable": "usable capacity",
    "write": "sequential writes",
    "read": "sequential reads",
    "random_write": "random writes",
    "random_read": "random reads",
    "create": "file creations",
    "stat": "stat calls",
    "read_files": "files opened, read and closed",
    "remove": "file removals",
    "power": "power",
}


def clients_shortfalls(context: Context) -> list[Shortfall]:
    """Needs that the links of the clients rule out, whatever storage is behind them."""
    rates, clients = clients_rates(context.requirements), context.requirements.clients
    return [
        Shortfall(need, rates[need.what], f"network links of {clients.count} clients")
        for need in needs_of_clients(context.requirements)
        if clients and need.what in rates and rates[need.what].interval.nominal < need.value.interval.nominal
    ]


def shortfalls(context: Context) -> list[Shortfall]:
    """Why nothing meets all needs; those that the clients' links rule out are left aside."""
    ruled_out = {shortfall.need for shortfall in clients_shortfalls(context)}
    needs = [need for need in context.needs if not need.is_most and need not in ruled_out]
    limits = [need for need in context.needs if need.is_most]
    if not _is_possible(context, limits):
        return _contradicting(context, limits)
    alone = [_unmet_alone(context, need, limits) for need in needs if not _is_possible(context, [need, *limits])]
    if alone or _is_possible(context, [*needs, *limits]):
        return alone
    return _contradicting(context, [*limits, *needs])


def _unmet_alone(context: Context, need: Need, limits: Sequence[Need]) -> Shortfall:
    """A need that the limits rule out, with those that hold it down: without them, more than the best is possible."""
    best = _best(context, need, limits)
    more = replace(need, value=exactly(need.value.name, best.interval.nominal * _MORE, need.value.dimension))
    in_the_way = [limit for limit in _smallest(context, [*limits, more]) if limit is not more]
    return Shortfall(need, best, _needs_text(context, in_the_way) or _what_is_lacking(context, need))


def _contradicting(context: Context, needs: Sequence[Need]) -> list[Shortfall]:
    """A shortfall for each of a smallest set of needs and limits that contradict each other."""
    conflict = _smallest(context, needs)
    return [_in_conflict(context, need, [other for other in conflict if other is not need]) for need in conflict]


def _in_conflict(context: Context, need: Need, others: Sequence[Need]) -> Shortfall:
    return Shortfall(need, _best(context, need, others), _needs_text(context, others), tuple(others))


def _best(context: Context, need: Need, others: Sequence[Need]) -> Value:
    """The most of a need, or the least of a limit, that is possible while all others are met."""
    problem, find = context.problem(others), context.finder.find
    if need.what == "weight_per_rack":
        bought = _lightest(context, need, others)
    elif need.is_most:
        bought = find(problem, "racks") if need.what == "racks" else find(problem, "least", RESOURCE[need.what])
    else:
        problem = replace(problem, needs={**problem.needs, need.what: Fraction(0)})
        bought = find(problem, "most", need.what)
    has = None if bought is None else context.has(need.what, problem.bought(bought.counts), context.racks(bought))
    return has or exactly(need.value.name, 0, need.value.dimension)


def _lightest(context: Context, need: Need, others: Sequence[Need]) -> BoughtCounts | None:
    """The purchase that meets all others with the lightest heaviest rack, to the nearest hundredth, by bisection."""
    find, problem = context.finder.find, context.problem(others)
    best = find(problem, "least", RESOURCE[need.what])
    if best is None:
        return None

    def heaviest(bought: BoughtCounts) -> Fraction:
        return max(rack.weight or Fraction(0) for rack in context.racks(bought))

    low = need.value.interval.nominal
    while heaviest(best) > low * Fraction(101, 100):
        between = (low + heaviest(best)) / 2
        rack = replace(problem.rack, weight=min(between, problem.rack.weight or between))
        lighter = find(replace(problem, rack=rack), "least", RESOURCE[need.what])
        low, best = (between, best) if lighter is None else (low, lighter)
    return best


def _smallest(context: Context, needs: Sequence[Need]) -> list[Need]:
    """Needs and limits that contradict each other, though without any one of them the others do not."""
    kept = list(needs)
    for need in needs:
        without = [other for other in kept if other is not need]
        if not _is_possible(context, without):
            kept = without
    return kept


def _is_possible(context: Context, needs: Iterable[Need]) -> bool:
    return context.finder.find(context.problem(needs), "least", "rack_units") is not None


def _needs_text(context: Context, needs: Iterable[Need]) -> str:
    return " and ".join(_noun(context, need) for need in needs)


def _noun(context: Context, need: Need) -> str:
    """A need or limit as a noun with its number."""
    amount, limits = brief(need.value), context.requirements.limits
    match need.what:
        case "racks":
            return f"{amount} rack{'' if amount == '1' else 's'} of {context.rack.units} U"
        case "weight_per_rack":
            return f"{amount} per rack"
        case "budget":
            return f"a budget of {amount} {limits.currency}"
        case what:
            tier = f" in {tier_of(what)}" if tier_of(what) else ""
            return f"{amount} of {_NOUNS[kind_of(what)]}{tier}"


def _what_is_lacking(context: Context, need: Need) -> str:
    """The reason for an unmet need that no limit explains."""
    kind = "metadata module" if kind_of(need.what) in METADATA_KINDS else "brick"
    known = [
        candidate
        for candidate in context.market.candidates
        if candidate.kind == kind and candidate.tier == tier_of(need.what)
    ]
    if not known:
        return f"no {kind} of the catalogue that can be considered"
    if any(candidate.is_alone for candidate in known):
        return f"a single {kind}, because nothing says what several do together"
    switches = [candidate for candidate in context.market.candidates if candidate.kind == "switch"]
    if context.requirements.switches and not switches:
        return "no switch of which enough is known"
    clients, problem, rate = context.requirements.clients, context.problem([need]), need.value.interval.nominal
    if clients and switches and all(problem.ports(switch, need.what, rate) > clients.count for switch in switches):
        return f"one switch port to each of {clients.count} clients"
    return f"what several {kind}s were measured to do together"

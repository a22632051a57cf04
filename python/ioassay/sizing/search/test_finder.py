"""The program against every configuration that there is, tried one after the other; and racks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ioassay.sizing.components import Scaling, ScalingPoint
from ioassay.sizing.packing import Item, RackLimits, first_fit, patterns
from ioassay.sizing.quantities import Rate
from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.finder import Finder
from ioassay.sizing.search.formulation import Aim, Formulation
from ioassay.sizing.search.greedy import greedy
from ioassay.sizing.search.model import in_tier
from ioassay.sizing.search.problem import Problem
from ioassay.sizing.search.racks import pack
from ioassay.sizing.search.solver import Solver

_LINEAR = Scaling.model_construct(by="linear", because="for a test", points={})


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    """One for all programs: it takes a second to start."""
    with Solver(limit_s=300) as started:
        yield started


def _table(multiples: Sequence[int]) -> Scaling:
    """Tenths of what one writes, from one on."""
    points = [
        ScalingPoint.model_construct(
            count=count, rate=Rate.model_validate({"value": f"{tenths}GB/s", "assumed": "for a test"})
        )
        for count, tenths in enumerate((10, *multiples), start=1)
    ]
    return Scaling.model_construct(by="table", because=None, points={"write": points})


@st.composite
def _candidates(draw: st.DrawFn) -> Candidate:
    units = draw(st.integers(2, 5))
    gives = {"usable": Fraction(draw(st.integers(1, 9))), "write": Fraction(draw(st.integers(1, 9)))}
    takes = {"rack_units": Fraction(units), "price": Fraction(draw(st.integers(1, 20)))}
    scalings = st.one_of(st.just(_LINEAR), st.none(), st.lists(st.integers(8, 60), min_size=1, max_size=4).map(_table))
    return Candidate("brick", f"brick-{draw(st.integers(0, 10**9))}", gives, takes, (("box", units),), draw(scalings))


_heights = st.sets(st.integers(2, 5), min_size=1).map(lambda some: tuple(sorted(some, reverse=True)))


@st.composite
def _problems(draw: st.DrawFn) -> Problem:
    return Problem(
        candidates=tuple(draw(st.lists(_candidates(), min_size=1, max_size=3))),
        needs={"usable": Fraction(draw(st.integers(1, 40))), "write": Fraction(draw(st.integers(1, 40)))},
        most={"price": Fraction(draw(st.integers(10, 100)))},
        racks=draw(st.integers(1, 2)),
        rack=RackLimits(draw(st.integers(5, 10))),
        kinds=draw(st.integers(1, 3)),
        has_switches=False,
        with_modules=frozenset(),
        clients=None,
        speed={"write": Fraction(1)},
        most_speed=None,
        packed_heights=draw(st.lists(_heights, max_size=2)),  # whichever are packed, no answer may be lost
    )


def _problem(
    candidates: Sequence[Candidate], needs: Mapping[str, Fraction], racks: int, units: int, kinds: int
) -> Problem:
    """One of which a switch is part as soon as it is a candidate."""
    return Problem(
        candidates=tuple(candidates),
        needs=needs,
        most={},
        racks=racks,
        rack=RackLimits(units),
        kinds=kinds,
        has_switches=any(candidate.kind == "switch" for candidate in candidates),
        with_modules=frozenset(),
        clients=None,
        speed={"write": Fraction(1)} if "write" in needs else {},
        most_speed=None,
    )


def _fits(heights: Sequence[int], racks: Sequence[int]) -> bool:
    """Whether boxes fit into what is left of racks, by trying all ways."""
    if not heights:
        return True
    return any(
        height_left >= heights[0]
        and _fits(heights[1:], [*racks[:index], height_left - heights[0], *racks[index + 1 :]])
        for index, height_left in enumerate(racks)
        if height_left not in racks[:index]
    )


def _tried(problem: Problem) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """The price of every configuration that meets a problem, with its counts."""
    assert problem.racks is not None
    most = [
        problem.rack.units // int(candidate.takes["rack_units"]) * problem.racks for candidate in problem.candidates
    ]
    for counts in product(*(range(number + 1) for number in most)):
        bought = [(candidate, count) for candidate, count in zip(problem.candidates, counts, strict=True) if count]
        if not bought or len(bought) > problem.kinds:
            continue
        if sum(counts) > 1 and any(candidate.scaling is None for candidate, _ in bought):
            continue
        if any(
            candidate.scaling and candidate.scaling.by == "table" and count > len(candidate.scaling.points["write"])
            for candidate, count in bought
        ):
            continue
        written = [candidate.together("write", count) for candidate, count in bought]
        price = sum((candidate.takes["price"] * count for candidate, count in bought), Fraction(0))
        if (
            sum((rate or 0 for rate in written), Fraction(0)) >= problem.needs["write"]
            and sum(candidate.gives["usable"] * count for candidate, count in bought) >= problem.needs["usable"]
            and price <= problem.most["price"]
            and _fits(
                sorted(
                    (int(candidate.takes["rack_units"]) for candidate, count in bought for _ in range(count)),
                    reverse=True,
                ),
                [problem.rack.units] * problem.racks,
            )
        ):
            yield price, counts


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=_problems())
def test_the_cheapest_is_that_of_all_that_can_be_tried_and_none_as_cheap_beats_it(
    solver: Solver, problem: Problem
) -> None:
    bought = Finder(solver).find(problem, "cheapest", "price")
    prices = {counts: price for price, counts in _tried(problem)}
    if bought is None:
        assert not prices
    else:
        assert prices[bought.counts] == min(prices.values())
        assert len(bought.racks) <= (problem.racks or 0)
        assert all(problem.rack.takes(rack) for rack in bought.racks)
        usable, write = (problem.total(bought.counts, what) for what in ("usable", "write"))
        for counts in (counts for counts, price in prices.items() if price == prices[bought.counts]):
            others = (problem.total(counts, "usable"), problem.total(counts, "write"))
            assert others == (usable, write) or others[0] < usable or others[1] < write


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=_problems())
def test_the_largest_and_the_fastest_are_those_of_all_that_can_be_tried(solver: Solver, problem: Problem) -> None:
    every = [counts for _, counts in _tried(problem)]
    largest, fastest = (Finder(solver).find(problem, "most", "usable"), Finder(solver).find(problem, "fastest"))
    if largest is None or fastest is None:
        assert not every
    else:
        assert problem.total(largest.counts, "usable") == max(problem.total(counts, "usable") for counts in every)
        assert problem.total(fastest.counts, "write") == max(problem.total(counts, "write") for counts in every)


def _bought_in(problem: Problem, counts: Sequence[int], tier: str) -> list[tuple[Candidate, int]]:
    return [
        (candidate, n) for candidate, n in zip(problem.candidates, counts, strict=True) if n and candidate.tier == tier
    ]


def _tried_in_tiers(problem: Problem) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """The price of every configuration of tiers that meets a problem, with its counts."""
    assert problem.racks is not None
    most = [
        problem.rack.units // int(candidate.takes["rack_units"]) * problem.racks for candidate in problem.candidates
    ]
    for counts in product(*(range(number + 1) for number in most)):
        parts = [_bought_in(problem, counts, tier) for tier in problem.tiers]
        if any(not 1 <= len(bought) <= problem.kinds for bought in parts):
            continue
        held = all(problem.total(counts, what) >= need for what, need in problem.needs.items())
        heights = [int(candidate.takes["rack_units"]) for bought in parts for candidate, n in bought for _ in range(n)]
        price = problem.taken(counts, "price")
        fits = price <= problem.most["price"] and _fits(
            sorted(heights, reverse=True), [problem.rack.units] * problem.racks
        )
        if held and fits:
            yield price, counts


@st.composite
def _tiered(draw: st.DrawFn) -> Problem:
    """Two tiers with linear bricks of their own, under one budget and in the same racks."""
    problem = draw(_problems())
    candidates: list[Candidate] = []
    needs: dict[str, Fraction] = {}
    for tier in ("flash", "disk"):
        for candidate in draw(st.lists(_candidates(), min_size=1, max_size=2)):
            amounts = {in_tier(tier, what): rate for what, rate in candidate.gives.items()} | {
                "usable": candidate.gives["usable"]
            }
            candidates.append(replace(candidate, gives=amounts, scaling=_LINEAR, tier=tier))
        needs |= {in_tier(tier, what): Fraction(draw(st.integers(1, 20))) for what in ("usable", "write")}
    return replace(
        problem, candidates=tuple(candidates), needs=needs, tiers=("flash", "disk"), speed={"flash/write": Fraction(1)}
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=_tiered())
def test_tiers_share_a_budget_and_racks_as_well_as_all_that_can_be_tried(solver: Solver, problem: Problem) -> None:
    bought = Finder(solver).find(problem, "cheapest", "price")
    prices = {counts: price for price, counts in _tried_in_tiers(problem)}
    at_once = greedy(problem, "price", lambda counts: True)
    assert at_once is None or at_once.counts in prices
    if bought is None:
        assert not prices
    else:
        assert prices[bought.counts] == min(prices.values())
        assert len(bought.racks) <= (problem.racks or 0)


def test_coefficients_are_scaled_even_where_nothing_is_required() -> None:
    gives = {"usable": Fraction(2 * 10**15), "write": Fraction(10**10)}
    brick = Candidate("brick", "brick", gives, {"rack_units": Fraction(4)}, (("box", 4),), _LINEAR)
    needs = {"usable": Fraction(0), "write": Fraction(5 * 10**10)}
    problem = replace(_problem([brick], needs, racks=10, units=42, kinds=1), speed={})
    formulation = Formulation(problem, needs_bind=False)
    parts = formulation.program.document(formulation.objective("most", "usable"))
    assert max(np.abs(parts["coefficient"])) < 1000
    assert max(np.abs(parts["objective"])) < 1000


def _items(*heights: int) -> list[Item]:
    return [Item(f"box of {height}", height, (("box", height),)) for height in heights]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(heights=st.lists(st.integers(1, 9), min_size=1, max_size=7), racks=st.integers(1, 3))
def test_racks_are_packed_wherever_trying_all_ways_packs_them(solver: Solver, heights: list[int], racks: int) -> None:
    packed = pack(_items(*heights), RackLimits(10), racks, solver)
    assert (packed is not None) == _fits(sorted(heights, reverse=True), [10] * racks)
    if packed is not None:
        assert sorted(item.rack_units for rack in packed for item in rack) == sorted(heights)
        assert all(RackLimits(10).takes(rack) for rack in packed)


@given(heights=_heights, units=st.integers(1, 20))
def test_the_ways_to_fill_a_rack_are_different_and_leave_no_room(heights: tuple[int, ...], units: int) -> None:
    ways = patterns(heights, units)
    filled = [sum(number * height for number, height in zip(way, heights, strict=True)) for way in ways]
    assert len(set(ways)) == len(ways)
    assert all(units - min(heights) < height <= units for height in filled)


def test_boxes_of_three_heights_are_packed_by_the_program_itself(solver: Solver) -> None:
    boxes = [
        Candidate(
            "brick",
            f"box of {units}",
            {"usable": Fraction(usable)},
            {"rack_units": Fraction(units)},
            (("box", units),),
            _LINEAR,
        )
        for units, usable in ((8, 17), (5, 10), (3, 5))
    ]
    problem = _problem(boxes, {}, racks=3, units=12, kinds=3)
    bought = Finder(solver).find(problem, "most", "usable")
    assert bought is not None
    assert problem.total(bought.counts, "usable") == 3 * 22
    assert (8, 5, 3) in problem.packed_heights
    assert len(set(problem.packed_heights)) == len(problem.packed_heights)  # nothing is packed twice


@pytest.mark.parametrize(("aim", "what"), [("fastest", ""), ("most", "write")])
def test_switches_leave_no_more_of_one_kind_than_several_kinds_must_do(solver: Solver, aim: Aim, what: str) -> None:
    """5 bricks write 25 a second, and three switches, with 10 ports for them, leave 14 for clients: 20 a second."""
    bricks = [
        Candidate(
            "brick",
            f"brick-{index}",
            {"usable": Fraction(10 + index), "write": Fraction(50 - index, 10)},
            {"rack_units": Fraction(3), "switch_ports": Fraction(2)},
            (("box", 3),),
            _LINEAR,
        )
        for index in range(11)
    ]
    ports = {"ports": Fraction(8), "link": Fraction(2)}
    switch = Candidate(
        "switch", "switch", ports, {"rack_units": Fraction(1), "switch_ports": Fraction(0)}, (("switch", 1),)
    )
    problem = _problem([*bricks, switch], {"write": Fraction(1)}, racks=1, units=20, kinds=2)
    bought = Finder(solver).find(problem, aim, what)
    assert bought is not None
    assert problem.speed_of(bought.counts) == 20


def test_first_fit_needs_a_rack_more_where_the_exact_answer_does_not(solver: Solver) -> None:
    items = _items(4, 3, 3, 2, 2, 2)
    limits = RackLimits(8)
    assert len(first_fit(items, limits) or []) == 3
    assert len(pack(items, limits, 2, solver) or []) == 2


def test_a_rack_takes_no_more_weight_and_power_than_it_may() -> None:
    item = Item("brick", 2, (("box", 2),), weight=Fraction(300), power=Fraction(1000))
    assert RackLimits(42, weight=Fraction(900)).most(item) == 3
    assert RackLimits(42, power=Fraction(2500)).most(item) == 2
    racks = first_fit([item] * 7, RackLimits(42, weight=Fraction(900)))
    assert [len(rack) for rack in racks or []] == [3, 3, 1]
    assert first_fit([item], RackLimits(42, weight=Fraction(299))) is None

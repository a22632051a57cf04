"""A problem as a mixed-integer program, and its solutions as counts.

Integers count what is bought. What does not grow with its number (a table, a law) has a binary for each count, so that
its rates are those of the arithmetic and not of a fit to them. Racks are counted too: of everything at least so tall, a
rack takes only so many. Where that is not enough, `pack` has racks filled item by item.

With one kind of bricks, the fewest of a kind that meet all needs are known beforehand, and bind the binary that says
whether it is bought (a valid inequality; L. A. Wolsey, *Integer Programming*, 2nd edition, 2020, chapter 9): without
it the relaxation buys a part of each kind. All is scaled to needs and limits, because HiGHS's tolerances are absolute.

Not: solving it (`solver`), packing racks (`packing`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from ioassay.sizing.packing import patterns
from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.model import tier_of
from ioassay.sizing.search.needs import DATA_KINDS
from ioassay.sizing.search.problem import Counts, Problem, bytes_of
from ioassay.sizing.search.program import Program, Terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Aim = Literal["least", "cheapest", "most", "fastest", "racks"]
"""`least` of what is taken; `cheapest`: likewise, and of equally cheap ones the best in capacity and speed together;
`most` of what is given; `fastest`: the highest speed; `racks`: the fewest."""

MOST_COUNT = 1000
"""The most bricks or modules of a kind, where no limit, no need and no table ends it earlier."""

_MOST_STEPS = 10_000
"""So many steps the least cost may have: of finer ones, HiGHS's tolerances leave nothing."""

_PART_OF_A_STEP = 0.4
"""The weight of the best capacity and the highest speed together: less than a step."""

_MOST_SWITCHES = 10_000

_MOST_PORTS = 100_000
"""The most ports of switches to clients, where their number is unknown."""


class Formulation:
    """The program of a problem. Solutions that turn out not to hold are cut off, and it is solved again."""

    def __init__(self, problem: Problem, *, needs_bind: bool) -> None:
        """With `needs_bind`, nothing is bought beyond what meets each need alone: of use where cost is kept low."""
        self.program = Program()
        self._problem = problem
        self._needs_bind = needs_bind and not problem.has_switches  # a slow switch may ask for more bricks
        self._counts: dict[Candidate, int] = {}
        self._given: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        self._to_clients: dict[int, Fraction] = {}
        self._racks = self.program.integer(1, math.inf if problem.racks is None else problem.racks)
        for tier in problem.tiers:
            of_tier = [candidate for candidate in problem.candidates if candidate.tier == tier]
            bricks = {candidate: self._brick(candidate) for candidate in of_tier if candidate.kind == "brick"}
            modules = {
                candidate: self._module(candidate) for candidate in of_tier if candidate.kind == "metadata module"
            }
            self.program.row(_sum(bricks.values()), lower=1, upper=problem.kinds)
            self.program.row(_sum(modules.values()), lower=1 if tier in problem.with_modules else 0)
            self._rows_of_software({**bricks, **modules})
            self._rows_of_several(bricks)
            self._rows_of_several(modules)
        if problem.has_switches:
            self._rows_of_switches()
        self._rows_of_needs()
        self._rows_of_limits()
        self._rows_of_racks()
        for heights in problem.packed_heights:
            self.pack(heights)

    def counts(self, values: NDArray[np.float64]) -> Counts:
        """How many of each candidate a solution buys."""
        return tuple(round(values[self._counts[candidate]]) for candidate in self._problem.candidates)

    def racks(self, values: NDArray[np.float64]) -> int:
        """The racks of a solution."""
        return round(float(values[self._racks]))

    def objective(self, aim: Aim, what: str = "") -> Terms:
        """The terms to minimise; `what` is a key of what candidates take (`least`, `cheapest`) or give (`most`)."""
        match aim:
            case "least":
                return _scaled(self._taken_terms(what), 1 / min(self._sizes(what), default=Fraction(1)))
            case "cheapest":
                return self._cost_and_merit(what)
            case "most":
                return self._maximised(what)
            case "fastest":
                return {self._speed(): -1.0}
            case "racks":
                return {self._racks: 1.0}

    def cut_off(self, counts: Counts) -> None:
        """Excludes these counts."""
        program, choices = self.program, []
        for candidate, count in zip(self._problem.candidates, counts, strict=True):
            variable = self._counts[candidate]
            low, high = program.lower[variable], program.upper[variable]
            if count < high:
                choices.append(more := program.integer(0, 1))
                program.row({variable: 1.0, more: -(count + 1.0 - low)}, lower=low)
            if count > low:
                choices.append(fewer := program.integer(0, 1))
                program.row({variable: 1.0, fewer: high - count + 1.0}, upper=high)
        program.row(_sum(choices), lower=1)

    def pack(self, heights: Sequence[int]) -> None:
        """Has racks packed with items of these heights, given the tallest first, and others as if only so tall.

        Counts how often a rack is filled in each way (P. C. Gilmore, R. E. Gomory, *A Linear Programming Approach to
        the Cutting-Stock Problem*, Operations Research 9, 1961). Where it would take an item, it takes a lower one too.
        """
        program, ways = self.program, patterns(heights, self._problem.rack.units)
        filled = [program.integer(0, program.upper[self._racks]) for _ in ways]
        program.row({**_sum(filled), self._racks: -1.0}, upper=0)
        for index, height in enumerate(heights):
            tall = {
                self._counts[candidate]: 1.0
                for candidate in self._problem.candidates
                if candidate.takes["rack_units"] >= height
            }
            places = {rack: -float(sum(way[: index + 1])) for rack, way in zip(filled, ways, strict=True)}
            program.row({**tall, **places}, upper=0)

    def cut_off_packing(self, counts: Counts, racks: int) -> None:
        """Excludes everything that has at least as many of each and not more racks than these."""
        program, choices = self.program, []
        for candidate, count in self._problem.bought(counts).items():
            variable = self._counts[candidate]
            high = program.upper[variable]
            choices.append(fewer := program.integer(0, 1))
            program.row({variable: 1.0, fewer: high - count + 1.0}, upper=high)
        if program.upper[self._racks] > racks:
            choices.append(more := program.integer(0, 1))
            program.row({self._racks: 1.0, more: -float(racks)}, lower=1)
        program.row(_sum(choices), lower=1)

    def _brick(self, candidate: Candidate) -> int:
        """A brick's variables; that of the binary which says whether it is bought."""
        needs = self._problem.needs_of(candidate)
        possible = self._possible_counts(candidate, needs, is_alone=self._problem.kinds == 1, binds=self._needs_bind)
        bought = self.program.integer(0, 1 if possible else 0)
        count = self._count_variable(candidate, possible)
        self.program.row({count: 1.0, bought: -float(max(possible, default=0))}, upper=0)
        self.program.row({count: 1.0, bought: -float(min(possible, default=0))}, lower=0)
        return bought

    def _module(self, candidate: Candidate) -> int:
        """A module's variables; that of its count."""
        needs = self._problem.needs_of(candidate)
        binds = all(needs.values())  # where nothing is needed, the most may be sought
        return self._count_variable(candidate, self._possible_counts(candidate, needs, is_alone=False, binds=binds))

    def _possible_counts(
        self, candidate: Candidate, needs: Mapping[str, Fraction], *, is_alone: bool, binds: bool
    ) -> Sequence[int]:
        """The counts of a kind that may be bought: if it is alone, those that meet all needs."""
        most = self._problem.most_of(candidate)
        if candidate.is_linear:
            least = [math.ceil(need / candidate.gives[what]) for what, need in needs.items() if candidate.gives[what]]
            if is_alone and len(least) < len(needs):
                return ()
            enough = max(least, default=1)
            limits = [limit for limit in (most, max(enough, 1) if binds else None) if limit is not None]
            return range(max(enough, 1) if is_alone else 1, min(limits, default=MOST_COUNT) + 1)
        possible = []
        for count in range(1, (MOST_COUNT if most is None else most) + 1):
            together = [(candidate.together(what, count), need) for what, need in needs.items()]
            if not candidate.is_possible(count) or any(total is None for total, _ in together):
                break
            meets = all(total is not None and total >= need for total, need in together)
            if meets or not is_alone:
                possible.append(count)
            if meets and binds:
                break
        return possible

    def _count_variable(self, candidate: Candidate, possible: Sequence[int]) -> int:
        """The variable of the count of a candidate, which is 0 or one of `possible`."""
        program = self.program
        count = self._counts[candidate] = program.integer(0, max(possible, default=0))
        if candidate.is_linear:
            for what in self._counted_kinds(candidate):
                self._given[what][count] += float(candidate.gives[what])
            return count
        unary = {number: program.integer(0, 1) for number in possible}
        program.row(_sum(unary.values()), upper=1)
        program.row({count: -1.0} | {variable: float(number) for number, variable in unary.items()}, lower=0, upper=0)
        for what in self._counted_kinds(candidate):
            for number, variable in unary.items():
                self._given[what][variable] += float(candidate.together(what, number) or 0)
        return count

    def _counted_kinds(self, candidate: Candidate) -> list[str]:
        return [what for what in {"usable", *self._problem.needs, *self._problem.speed} if what in candidate.gives]

    def _rows_of_needs(self) -> None:
        for what, need in self._problem.needs.items():
            if need > 0:
                self.program.row(_scaled(self._given[what], 1 / need), lower=1)

    def _rows_of_limits(self) -> None:
        for what, most in self._problem.most.items():
            self.program.row(
                _scaled(self._taken_terms(what), 1 / (most or Fraction(1))), upper=float(most / (most or 1))
            )

    def _rows_of_racks(self) -> None:
        rack = self._problem.rack
        for what, most in (("rack_units", Fraction(rack.units)), ("weight", rack.weight), ("power", rack.power)):
            if most is None:
                continue
            taken = self._taken_terms(what)
            unit = most or Fraction(1)
            self.program.row({**_scaled(taken, 1 / unit), self._racks: -float(most / unit)}, upper=0)
            sizes = sorted(self._sizes(what), reverse=True)
            for number, size in {most // size: size for size in sizes}.items():  # the smallest of equal numbers
                large = [
                    self._counts[candidate] for candidate in self._problem.candidates if candidate.takes[what] >= size
                ]
                self.program.row({**_sum(large), self._racks: -float(number)}, upper=0)

    def _rows_of_software(self, bought: Mapping[Candidate, int]) -> None:
        """All is part of one storage system."""
        named = {candidate: variable for candidate, variable in bought.items() if candidate.software is not None}
        chosen = {
            software: self.program.integer(0, 1)
            for software in dict.fromkeys(candidate.software for candidate in named)
        }
        if len(chosen) < 2:
            return
        self.program.row(_sum(chosen.values()), upper=1)
        for candidate, variable in named.items():
            self.program.row({variable: 1.0, chosen[candidate.software]: -self.program.upper[variable]}, upper=0)

    def _rows_of_several(self, bought: Mapping[Candidate, int]) -> None:
        """Where nothing says what several do together, there is one and nothing of its kind besides."""
        for part, variable in bought.items():
            if part.is_alone:
                others = [other for candidate, other in bought.items() if candidate is not part]
                most = sum(self.program.upper[other] for other in others)
                self.program.row({**_sum(others), variable: most}, upper=most)

    def _rows_of_switches(self) -> None:
        """Switches of one kind, with ports for bricks and modules, and as many for clients as carry the rates."""
        problem, program = self._problem, self.program
        bricks = {
            tier: {
                self._counts[candidate]: float(candidate.takes["switch_ports"])
                for candidate in problem.candidates
                if candidate.kind == "brick" and candidate.tier == tier
            }
            for tier in problem.tiers
        }
        free: dict[int, float] = {
            self._counts[candidate]: -float(candidate.takes["switch_ports"])
            for candidate in problem.candidates
            if candidate.kind != "switch"
        }
        chosen = []
        for switch in (candidate for candidate in problem.candidates if candidate.kind == "switch"):
            most = problem.most_of(switch)
            count = self._counts[switch] = program.integer(0, _MOST_SWITCHES if most is None else most)
            least = max([problem.ports(switch, what, need) for what, need in problem.carried_needs.items()], default=1)
            most_ports = _MOST_PORTS if problem.clients is None else problem.clients
            chosen.append(kind := program.integer(0, 1 if most_ports >= least else 0))
            to_clients = program.integer(0, most_ports)
            program.row({count: 1.0, kind: -program.upper[count]}, upper=0)
            program.row({to_clients: 1.0, kind: -float(most_ports)}, upper=0)
            program.row({to_clients: 1.0, kind: -float(max(least, 1))}, lower=0)
            for tier in problem.tiers if problem.of_clients is not None else ():
                needs = ((what, need) for what, need in problem.needs.items() if tier_of(what) == tier)
                ports = max([problem.ports(switch, what, need) for what, need in needs], default=0)
                program.row({**bricks[tier], kind: -float(ports)}, lower=0)
            free[count] = float(switch.gives["ports"])
            self._to_clients[to_clients] = switch.gives["link"]
        program.row(_sum(chosen), upper=1)
        program.row({**free, **dict.fromkeys(self._to_clients, -1.0)}, lower=0)
        of_all = {count: ports for tier in problem.tiers for count, ports in bricks[tier].items()}
        program.row({**of_all, **dict.fromkeys(self._to_clients, -1.0)}, lower=0)

    def _speed(self) -> int:
        """The variable of the speed, and the rows that hold it down."""
        problem = self._problem
        speed = self.program.continuous(0, float(problem.most_speed) if problem.most_speed is not None else math.inf)
        for what, unit_rate in problem.speed.items():
            self._hold_down(speed, what, unit_rate)
        return speed

    def _cost_and_merit(self, what: str) -> Terms:
        """A cost, less a part of its smallest step for capacity and speed: they decide among the equally cheap."""
        sizes = self._sizes(what)
        step = _common_divisor(sizes)
        unit = max(step, min(sizes, default=step) / _MOST_STEPS)
        terms = _scaled(self._taken_terms(what), 1 / unit)
        part = float(step / unit) * _PART_OF_A_STEP
        if most := self._most_of_kinds("usable"):
            for variable, usable in self._given["usable"].items():
                terms[variable] = terms.get(variable, 0.0) - part * usable / most
        if most := min(
            (self._most_of_kinds(what) / float(unit_rate) for what, unit_rate in self._problem.speed.items()), default=0
        ):
            terms[self._speed()] = -part / most
        return terms

    def _most_of_kinds(self, what: str) -> float:
        """The most that as many kinds as may be mixed give."""
        return (
            self._problem.kinds
            * len(self._problem.tiers)
            * max((each * self.program.upper[variable] for variable, each in self._given[what].items()), default=0.0)
        )

    def _maximised(self, what: str) -> Terms:
        """The amount of `what`, which the ports of switches may hold down; to be minimised."""
        unit = self._unit(what)
        if what not in DATA_KINDS or not self._to_clients:
            return _scaled(self._given[what], -1 / unit)
        rate = self.program.continuous(0, math.inf)
        self._hold_down(rate, what, unit)
        return {rate: -1.0}

    def _hold_down(self, variable: int, what: str, unit: Fraction) -> None:
        """So many units of a rate are no more than what bricks give and the ports of switches carry."""
        self.program.row({**_scaled(self._given[what], -1 / unit), variable: 1.0}, upper=0)
        if self._to_clients and what in DATA_KINDS:
            each = {ports: -float(link / bytes_of(what) / unit) for ports, link in self._to_clients.items()}
            self.program.row({**each, variable: 1.0}, upper=0)

    def _taken_terms(self, what: str) -> dict[int, float]:
        return {self._counts[candidate]: float(candidate.takes[what]) for candidate in self._problem.candidates}

    def _sizes(self, what: str) -> list[Fraction]:
        return [candidate.takes[what] for candidate in self._problem.candidates if candidate.takes[what]]

    def _unit(self, what: str) -> Fraction:
        return min(
            (candidate.gives[what] for candidate in self._problem.candidates if candidate.gives.get(what)),
            default=Fraction(1),
        )


def _common_divisor(numbers: Sequence[Fraction]) -> Fraction:
    """The largest of which each is a multiple; 1 of none."""
    if not numbers:
        return Fraction(1)
    parts = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * parts) for number in numbers)), parts)


def _sum(variables: Iterable[int]) -> dict[int, float]:
    return dict.fromkeys(variables, 1.0)


def _scaled(terms: Terms, factor: Fraction) -> dict[int, float]:
    return {variable: coefficient * float(factor) for variable, coefficient in terms.items()}

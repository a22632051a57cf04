"""Searches of small catalogues whose best configurations can be found by hand, and of the built-in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.search.context import Context
from ioassay.sizing.search.finder import BoughtCounts, Finder
from ioassay.sizing.search.formulation import Aim
from ioassay.sizing.search.front import front
from ioassay.sizing.search.market import market
from ioassay.sizing.search.model import Answer, Search
from ioassay.sizing.search.needs import needs
from ioassay.sizing.search.problem import Counts, Problem
from ioassay.sizing.search.read import read
from ioassay.sizing.search.search import search, search_with
from ioassay.sizing.search.solver import Expired, Solver
from ioassay.yaml_models.source import SourceError

_LINEAR = "scaling: {by: linear, because: for a test}"


def _brick(drive: str, write: str, units: int, more: str = "") -> str:
    """A brick of eight data drives, with two parity drives."""
    return f"""
    title: A brick
    drives: [drive-{drive}]
    drive_count: 10
    redundancy: {{layout: raid6, data: 8, parity: 2, groups: 1}}
    rack_units: {units}
    measured: {{write: {{rate: {{value: {write}, assumed: for a test}}}}}}
{more}"""


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    """One for all searches: it takes a second to start."""
    with Solver(limit_s=300) as started:
        yield started


@dataclass(frozen=True)
class Place:
    """Where a test keeps its files, and what solves."""

    folder: Path
    solver: Solver

    def requirements(self, text: str) -> Path:
        """A file of requirements."""
        file = self.folder / "needs.yaml"
        file.write_text(f"name: test\n{text}\n")
        return file

    def requirements_file(self, requirements: str, bricks: Mapping[str, str], more: str = "") -> Path:
        """Requirements that are to be met by `bricks`, by name; `more` is the rest of their catalogue."""
        drives = "\n".join(
            f"  drive-{size}TB: {{title: A drive, media: hdd, capacity: {{value: {size}TB, assumed: for a test}}}}"
            for size in range(1, 21)
        )
        listed = "\n".join(f"  {name}:{brick}" for name, brick in bricks.items())
        catalogue = f"name: own\ntitle: For a test\ndrives:\n{drives}\nbricks:\n{listed}\n{more}"
        (self.folder / "own.yaml").write_text(catalogue)
        return self.requirements(f"catalogues: [own.yaml]\nbricks: [{', '.join(bricks)}]\n{requirements}")

    def searched(self, requirements: str, bricks: Mapping[str, str], more: str = "") -> Search:
        """What a search finds among `bricks`."""
        return search_with(self.solver, *read(self.requirements_file(requirements, bricks, more)))

    def builtin(self, requirements: str) -> Search:
        """What a search finds among bricks of the built-in catalogue."""
        bricks = "bricks: [md3460-performance, md3460-capacity]"
        return search_with(self.solver, *read(self.requirements(f"{bricks}\n{_LINEAR}\n{requirements}")))


@pytest.fixture
def place(tmp_path: Path, solver: Solver) -> Place:
    """An empty one."""
    return Place(tmp_path, solver)


def _bricks(answer: Answer) -> dict[str, int]:
    return {brick.brick: brick.count for brick in answer.configuration.bricks}


def test_a_petabyte_with_26_gb_per_s_takes_six_performance_bricks_of_a_rack(place: Place) -> None:
    result = place.builtin("usable: 1PB\nwrite: 26GB/s\nlimits: {racks: 1}")
    cheapest, *_, largest = result.answers
    assert result.is_complete
    assert (cheapest.role, _bricks(cheapest)) == ("smallest", {"md3460-performance": 6})
    assert (largest.role, _bricks(largest)) == ("largest and fastest", {"md3460-performance": 8})
    assert [rack.free_units for rack in cheapest.racks] == [12]


def test_two_kinds_hold_a_petabyte_in_fewer_rack_units_than_one(place: Place) -> None:
    alone = place.builtin("usable: 1PB")
    mixed = place.builtin("usable: 1PB\nkinds: 2")
    assert _bricks(alone.answers[0]) == {"md3460-performance": 4}
    assert _bricks(mixed.answers[0]) == {"md3460-performance": 1, "md3460-capacity": 1}
    assert mixed.answers[0].cost.nominal == 18


def test_the_most_that_fits_is_named_beside_a_brick_too_large_for_a_rack(place: Place) -> None:
    tall = _brick("20TB", "1GB/s", 44).replace("drive_count: 10", "drive_count: 20000")
    bricks = {"fits": _brick("20TB", "1GB/s", 4), "too-tall": tall.replace("groups: 1", "groups: 2000")}
    result = place.searched(f"usable: 8PB\nlimits: {{racks: 1}}\n{_LINEAR}", bricks)
    (shortfall,) = result.shortfalls
    assert shortfall.best.nominal == 10 * 160e12
    assert shortfall.limited_by == "1 rack of 42 U"


_MODULE = """
metadata:
  module-{software}:
    title: A metadata module
    software: {software}
    rack_units: 2
    create: {{value: "{rate} IOPS", assumed: for a test}}
"""


def test_bricks_and_metadata_modules_of_a_configuration_are_of_one_software(place: Place) -> None:
    bricks = {
        "slim": _brick("10TB", "2GB/s", 1, "    software: one"),
        "tall": _brick("10TB", "2GB/s", 9, "    software: other"),
    }
    requirements = f"usable: 100TB\ncreate: 1000 IOPS\n{_LINEAR}"
    result = place.searched(requirements, bricks, _MODULE.format(software="other", rate=2000))
    assert {name for answer in result.answers for name in _bricks(answer)} == {"tall"}
    assert result.unknown == ("slim with drive-10TB: no metadata module for one has a known create rate.",)


def test_bricks_of_different_software_are_not_mixed(place: Place) -> None:
    bricks = {
        "fast": _brick("1TB", "9GB/s", 4, "    software: one"),
        "large": _brick("20TB", "1GB/s", 4, "    software: other"),
    }
    result = place.searched(f"usable: 160TB\nwrite: 9GB/s\nkinds: 2\n{_LINEAR}", bricks)
    assert [_bricks(answer) for answer in result.answers][:1] == [{"large": 9}]
    assert all(len(answer.configuration.bricks) == 1 for answer in result.answers)


def test_other_answers_cost_up_to_twice_the_cheapest_without_limits(place: Place) -> None:
    result = place.builtin("usable: 1PB")
    assert result.cost_ends_at == 40
    assert max(answer.cost.nominal for answer in result.answers) <= 40


def test_a_slower_figure_asks_for_more_bricks_and_a_faster_one_does_not_help_where_another_limits(
    place: Place,
) -> None:
    result = place.builtin("usable: 1PB\nwrite: 26GB/s\nlimits: {racks: 1}")
    moved = {(movement.figure, movement.factor): movement for movement in result.movements}
    ((name, before),) = moved["required write rate", 1.2].before
    assert (name, before) == ("md3460-performance with nl-sas-6tb", 6)
    assert moved["write rate of md3460-controllers", 0.8].after == ((name, 8),)
    assert moved["required write rate", 0.8].after == ((name, 5),)
    assert ("write rate of md3460-performance", 1.2) not in moved
    assert result.movements[0].cost is not None
    assert result.movements[0].cost.nominal == 40


def test_the_best_of_one_kind_stands_beside_an_answer_cut_short_by_time(place: Place) -> None:
    class UntilTheCheapest(Finder):
        """Has time for what one kind reaches and for the cheapest of two."""

        def find(
            self, problem: Problem, aim: Aim, what: str = "", holds: Callable[[Counts], bool] = lambda counts: True
        ) -> BoughtCounts | None:
            if problem.kinds == 2 and aim != "cheapest":
                raise Expired
            return super().find(problem, aim, what, holds)

    bricks = "bricks: [md3460-performance, md3460-capacity]"
    requirements, catalogue = read(place.requirements(f"{bricks}\n{_LINEAR}\nusable: 1PB\nkinds: 2"))
    wanted = needs(requirements)
    known = market(requirements, catalogue, wanted)
    answers = front(Context(requirements, catalogue, wanted, known, UntilTheCheapest(place.solver)))
    assert not answers.is_complete
    first = answers.answers[0]
    assert (first.role, len(first.configuration.bricks)) == ("smallest", 2)
    assert "fastest" in answers.answers[-1].role
    assert len(answers.answers) > 2
    assert answers.most_cost is not None
    assert all(answer.cost.interval.nominal <= answers.most_cost for answer in answers.answers)


def test_no_answer_is_beaten_by_another(place: Place) -> None:
    result = place.builtin("usable: 1PB\nwrite: 5GB/s\nlimits: {racks: 3}\nkinds: 2")
    assert 2 < len(result.answers) <= 7
    figures = [
        (
            answer.cost.nominal,
            -answer.size.capacity.usable.nominal,
            -answer.size.rates["healthy"]["write"].value.nominal,
        )
        for answer in result.answers
    ]
    assert len(set(figures)) == len(figures)
    for figure in figures:
        assert not any(other != figure and all(a <= b for a, b in zip(other, figure, strict=True)) for other in figures)


@pytest.mark.parametrize("usable", ["1000000PB", "1000000000000PB"])
def test_more_bricks_than_anybody_places_in_racks_are_refused_at_once(place: Place, usable: str) -> None:
    with pytest.raises(UsageError, match=r"would take [\d,]{7,} bricks, and at most 100,000 are placed in racks"):
        search_with(place.solver, *read(place.requirements(f"usable: {usable}")))


def test_an_unmet_need_says_how_much_of_it_fits(place: Place) -> None:
    result = place.builtin("usable: 1PB\nwrite: 40GB/s\nlimits: {racks: 1}")
    (shortfall,) = result.shortfalls
    assert not result.answers
    assert (shortfall.need.what, shortfall.best.nominal, shortfall.limited_by) == ("write", 36e9, "1 rack of 42 U")


def test_the_capacity_that_fits_is_reported_where_more_is_required(place: Place) -> None:
    bricks = {"large": _brick("20TB", "1GB/s", 10), "fast": _brick("1TB", "10GB/s", 10)}
    (shortfall,) = place.searched(f"{_LINEAR}\nusable: 1PB\nlimits: {{racks: 1}}", bricks).shortfalls
    assert (shortfall.best.nominal, shortfall.limited_by) == (640e12, "1 rack of 42 U")


def test_the_limit_that_holds_a_need_down_is_named(place: Place) -> None:
    priced = _brick("8TB", "2GB/s", 4, "    price: {value: 1000, currency: EUR, date: 2026-01, assumed: for a test}\n")
    limits = "limits: {{racks: {}, budget: 20000, currency: EUR}}"
    shortfalls = {
        racks: place.searched(f"{_LINEAR}\nwrite: 90GB/s\n{limits.format(racks)}", {"small": priced}).shortfalls
        for racks in (1, 3)
    }
    named = {racks: (shortfall.best.nominal, shortfall.limited_by) for racks, (shortfall,) in shortfalls.items()}
    assert named == {1: (20e9, "1 rack of 42 U"), 3: (40e9, "a budget of 20,000 EUR")}


def test_limits_within_which_nothing_can_be_bought_say_what_the_least_takes(place: Place) -> None:
    weighed = _brick("8TB", "2GB/s", 4, "    weight: {value: 100kg, assumed: for a test}\n")
    (shortfall,) = place.searched(
        f"{_LINEAR}\nusable: 1PB\nlimits: {{weight_per_rack: 90kg}}", {"small": weighed}
    ).shortfalls
    assert (shortfall.need.what, shortfall.best.nominal, shortfall.together) == ("weight_per_rack", 100, ())


def test_the_lightest_sufficient_rack_is_reported_where_weight_contradicts(place: Place) -> None:
    more = "    weight: {{value: {}kg, assumed: for a test}}\n"
    bricks = {
        "light": _brick("8TB", "1GB/s", 14, more.format(100)),
        "heavy": _brick("8TB", "10GB/s", 14, more.format(290)),
    }
    needs = "usable: 384TB\nwrite: 15GB/s\nkinds: 2\nlimits: {racks: 2, weight_per_rack: 350kg}"
    shortfalls = {
        shortfall.need.what: shortfall.best.nominal
        for shortfall in place.searched(f"{_LINEAR}\n{needs}", bricks).shortfalls
    }
    assert shortfalls == {"racks": 3, "weight_per_rack": 490, "usable": 128e12, "write": 6e9}


def test_clients_too_few_for_a_rate_are_seen_without_any_storage(place: Place) -> None:
    clients = "clients: {count: 2, link: {value: 8Gbit/s, assumed: for a test}}"
    (shortfall,) = place.builtin(f"read: 3GB/s\n{clients}").shortfalls
    assert (shortfall.best.nominal, shortfall.limited_by) == (2e9, "network links of 2 clients")


def test_needs_that_contradict_each_other_say_what_each_could_be(place: Place) -> None:
    bricks = {"large": _brick("20TB", "1GB/s", 10), "fast": _brick("1TB", "10GB/s", 10)}
    result = place.searched(f"{_LINEAR}\nusable: 320TB\nwrite: 25GB/s\nkinds: 2\nlimits: {{racks: 1}}", bricks)
    best = {shortfall.need.what: shortfall.best.nominal for shortfall in result.shortfalls}
    assert best == {"racks": 2, "usable": 184e12, "write": 22e9}
    assert all(len(shortfall.together) == 2 for shortfall in result.shortfalls)


def test_a_need_that_contradicts_nothing_is_in_no_conflict(place: Place) -> None:
    bricks = {"large": _brick("20TB", "1GB/s", 10), "fast": _brick("1TB", "10GB/s", 10)}
    requirements = f"{_LINEAR}\nusable: 320TB\nwrite: 25GB/s\nkinds: 2\nlimits: {{racks: 1, weight_per_rack: 900kg}}"
    weighed = {name: brick + "    weight: {value: 100kg, assumed: for a test}\n" for name, brick in bricks.items()}
    conflicting = {shortfall.need.what for shortfall in place.searched(requirements, weighed).shortfalls}
    assert conflicting == {"racks", "usable", "write"}


def test_a_rack_of_42_units_takes_three_bricks_of_13_though_five_racks_have_units_for_16(place: Place) -> None:
    bricks = {"tall": _brick("10TB", "1GB/s", 13)}
    fits = place.searched(f"{_LINEAR}\nwrite: 15GB/s\nlimits: {{racks: 5}}", bricks)
    assert [len(rack.items) for rack in fits.answers[0].racks] == [3] * 5
    (shortfall,) = place.searched(f"{_LINEAR}\nwrite: 16GB/s\nlimits: {{racks: 5}}", bricks).shortfalls
    assert (shortfall.best.nominal, shortfall.limited_by) == (15e9, "5 racks of 42 U")


def test_bricks_that_fit_by_units_but_do_not_pack_are_no_answer(place: Place) -> None:
    bricks = {"tall": _brick("20TB", "1GB/s", 8), "low": _brick("1TB", "3GB/s", 3)}
    rack = "racks:\n  low-rack: {title: A rack, units: 10, assumed: for a test}"
    limits = "kinds: 2\nlimits: {racks: 2, rack: low-rack}"
    result = place.searched(f"{_LINEAR}\nusable: 320TB\nwrite: 5GB/s\n{limits}", bricks, rack)
    assert {shortfall.need.what for shortfall in result.shortfalls} == {"racks", "usable", "write"}


def test_a_table_of_measurements_is_used_up_to_its_end_and_not_beyond(place: Place) -> None:
    points = [(1, "2GB/s"), (2, "3.6GB/s"), (4, "5.2GB/s")]
    listed = ", ".join(f"{{count: {count}, rate: {{value: {rate}, assumed: for a test}}}}" for count, rate in points)
    bricks = {"tabled": _brick("8TB", "2GB/s", 2, f"    scaling: {{by: table, points: {{write: [{listed}]}}}}\n")}
    assert _bricks(place.searched("write: 3.7GB/s", bricks).answers[0]) == {"tabled": 3}
    (shortfall,) = place.searched("write: 8GB/s", bricks).shortfalls
    assert shortfall.best.nominal == 5.2e9
    assert shortfall.limited_by == "what several bricks were measured to do together"


def test_bricks_without_scaling_are_considered_alone(place: Place) -> None:
    result = place.searched("usable: 65TB", {"small": _brick("8TB", "2GB/s", 2)})
    assert result.shortfalls[0].limited_by == "a single brick, because nothing says what several do together"
    assert result.unknown == ("small with drive-8TB: nothing says what several do together; only one was considered.",)


def test_the_cheapest_is_by_price_where_all_prices_are_known(place: Place) -> None:
    price = "    price: {{value: {}, currency: EUR, date: 2026-01, assumed: for a test}}\n"
    bricks = {
        "low": _brick("8TB", "2GB/s", 2, price.format(5000)),
        "tall": _brick("8TB", "2GB/s", 4, price.format(4000)),
    }
    result = place.searched(f"{_LINEAR}\nusable: 128TB\nlimits: {{budget: 9000, currency: EUR}}", bricks)
    assert (result.cost, result.currency) == ("price", "EUR")
    assert (_bricks(result.answers[0]), result.answers[0].cost.nominal) == ({"tall": 2}, 8000)
    (shortfall,) = place.searched(
        f"{_LINEAR}\nusable: 200TB\nlimits: {{budget: 9000, currency: EUR}}", bricks
    ).shortfalls
    assert (shortfall.best.nominal, shortfall.limited_by) == (128e12, "a budget of 9,000 EUR")


def test_a_budget_keeps_its_currency_where_no_price_is_known(place: Place) -> None:
    text = f"{_LINEAR}\nusable: 128TB\nlimits: {{budget: 9000, currency: EUR}}"
    result = place.searched(text, {"low": _brick("8TB", "2GB/s", 2)})
    assert (result.verdict, result.currency) == ("undecided", "EUR")


def test_unknown_and_unsafe_candidates_are_left_out_with_the_reason(place: Place) -> None:
    bricks = {"small": _brick("8TB", "2GB/s", 2)}
    result = place.searched(f"{_LINEAR}\nread: 1GB/s\nlimits: {{power: 20kW}}", bricks)
    assert result.unknown == (
        "small with drive-8TB: power unknown (that of drive-8TB is not given) and read rate unknown.",
    )
    assert (result.answers, result.shortfalls) == ((), ())
    result = place.searched(f"{_LINEAR}\nwrite: 1GB/s\nsurvives: {{drives: 3}}", bricks)
    assert result.fragile[0].startswith("small with drive-8TB survives the loss of 2 drives of a group, not of 3.")


def test_a_brick_that_another_one_beats_in_everything_is_not_looked_at(place: Place) -> None:
    bricks = {
        "small": _brick("8TB", "2GB/s", 2),
        "worse": _brick("8TB", "1GB/s", 2),
        "other": _brick("9TB", "1GB/s", 2),
    }
    result = place.searched(f"{_LINEAR}\nusable: 500TB", bricks)
    assert (result.candidates, result.dominated) == (3, 1)


_NETWORK = """
adapters:
  nic: {title: An adapter, side: network, ports: 2, link: {value: 16Gbit/s, assumed: for a test}}
switches:
  switch: {title: A switch, ports: 8, rack_units: 1, link: {value: 16Gbit/s, assumed: for a test}}
"""


def test_switches_have_ports_for_bricks_and_for_clients(place: Place) -> None:
    bricks = {"small": _brick("8TB", "2GB/s", 2, "    adapters: {nic: 1}\n")}
    answer = place.searched(f"{_LINEAR}\nwrite: 8GB/s\nswitches: [switch]", bricks, _NETWORK).answers[0]
    assert (_bricks(answer), answer.configuration.switches) == ({"small": 4}, {"switch": 2})
    assert answer.cost.nominal == 10


def test_the_fastest_and_the_most_that_fits_have_ports_for_the_clients(place: Place) -> None:
    """12 bricks have 24 ports and take 12 for clients; 13 of them leave room for 3 switches, with 24 ports."""
    bricks = {"small": _brick("8TB", "2GB/s", 3, "    adapters: {nic: 1}\n")}
    result = place.searched(f"{_LINEAR}\nwrite: 8GB/s\nswitches: [switch]\nlimits: {{racks: 1}}", bricks, _NETWORK)
    fastest = result.answers[-1]
    assert (fastest.role, _bricks(fastest)) == ("fastest", {"small": 12})
    assert fastest.size.rates["healthy"]["write"].value.nominal == 24e9
    (shortfall,) = place.searched(
        f"{_LINEAR}\nwrite: 60GB/s\nswitches: [switch]\nlimits: {{racks: 1}}", bricks, _NETWORK
    ).shortfalls
    assert (shortfall.best.nominal, shortfall.limited_by) == (24e9, "1 rack of 42 U")


def test_clients_with_a_switch_port_each_limit_a_rate(place: Place) -> None:
    bricks = {"small": _brick("8TB", "2GB/s", 3, "    adapters: {nic: 1}\n")}
    clients = "clients: {count: 3, link: {value: 56Gbit/s, assumed: for a test}}"
    (shortfall,) = place.searched(
        f"{_LINEAR}\nwrite: 8GB/s\nswitches: [switch]\n{clients}", bricks, _NETWORK
    ).shortfalls
    assert (shortfall.best.nominal, shortfall.limited_by) == (6e9, "one switch port to each of 3 clients")


def test_the_most_file_creations_that_fit_are_reported_and_not_those_of_one_module(place: Place) -> None:
    more = "metadata:\n  module: {title: A module, rack_units: 2, create: {value: 10kIOPS, assumed: for a test}}"
    (shortfall,) = place.searched(
        f"{_LINEAR}\nwrite: 2GB/s\ncreate: 500kIOPS\nlimits: {{racks: 1}}\nmetadata: [module]",
        {"small": _brick("8TB", "2GB/s", 2)},
        more,
    ).shortfalls
    assert (shortfall.best.nominal, shortfall.limited_by) == (200e3, "1 rack of 42 U")


def test_metadata_modules_are_bought_for_the_rates_of_metadata(place: Place) -> None:
    more = """
metadata:
  slow: {title: A module, rack_units: 1, create: {value: 10kIOPS, assumed: for a test}}
  fast: {title: A module, rack_units: 2, create: {value: 30kIOPS, assumed: for a test}}
"""
    bricks = {"small": _brick("8TB", "2GB/s", 2)}
    answer = place.searched(f"{_LINEAR}\nwrite: 2GB/s\ncreate: 50kIOPS\nmetadata: [slow, fast]", bricks, more).answers[
        0
    ]
    assert answer.size.rates["healthy"]["create"].value.nominal >= 50e3
    assert answer.cost.nominal == 2 + 4
    assert sum(answer.configuration.metadata.values()) >= 2


def test_needs_add_growth_checkpoints_and_what_must_stay_free(place: Place) -> None:
    file = place.requirements(
        "usable: 1PB\ngrowth: {per_year: 50%, years: 2}\nfill: 80%\nwrite: 1GB/s\nread: 10GB/s\n"
        "checkpoint: {size: 120TB, longest: 10min, kept: 2}\naccelerators: {count: 64, read_each: 500MB/s}\n"
    )
    requirements, _ = read(file)
    amounts = {need.what: need.value.interval.nominal for need in needs(requirements)}
    assert amounts["usable"] == Fraction(10**15) * (Fraction(9, 4) + Fraction(24, 100)) / Fraction(8, 10)
    assert amounts["write"] == Fraction(120 * 10**12, 600)
    assert amounts["read"] == 32 * 10**9


def test_an_error_of_requirements_has_its_line(place: Place) -> None:
    file = place.requirements("usable: 1PB\nlimits: {rack: 1}\nwrite: fast")
    with pytest.raises(SourceError, match=r"needs\.yaml:4"):
        read(file)
    with pytest.raises(UsageError, match='there is no brick "md346x"'):
        search_with(place.solver, *read(place.requirements("usable: 1PB\nbricks: [md346x]")))


def test_a_configuration_is_known_at_once_and_marked_as_not_proved_the_best(place: Place) -> None:
    file = place.requirements_file(f"{_LINEAR}\nusable: 65TB", {"small": _brick("8TB", "2GB/s", 2)})
    result = search(*read(file), limit_s=0.1)
    assert (result.verdict, result.is_complete) == ("found", False)
    assert [_bricks(answer) for answer in result.answers] == [{"small": 2}]


def test_the_first_configuration_has_modules_and_switches(place: Place) -> None:
    bricks = {"slim": _brick("10TB", "2GB/s", 1, "    software: one"), "tall": _brick("10TB", "2GB/s", 9)}
    file = place.requirements_file(
        f"usable: 100TB\ncreate: 3000 IOPS\nkinds: 2\nswitches: [sx6036]\n{_LINEAR}",
        {name: f"{brick}\n    adapters: {{fdr: 1}}" for name, brick in bricks.items()},
        _MODULE.format(software="one", rate=2000),
    )
    result = search(*read(file), limit_s=0.1)
    (answer,) = result.answers
    assert result.verdict == "found"
    assert _bricks(answer) == {"slim": 2}
    assert (answer.configuration.metadata, answer.configuration.switches) == ({"module-one": 2}, {"sx6036": 1})


def test_a_need_left_open_by_time_is_neither_met_nor_impossible(place: Place) -> None:
    bricks = {"wide": _brick("20TB", "1GB/s", 30), "fast": _brick("1TB", "20GB/s", 12)}
    text = f"usable: 160TB\nwrite: 20GB/s\nkinds: 2\nlimits: {{racks: 1}}\n{_LINEAR}"
    undecided = search(*read(place.requirements_file(text, bricks)), limit_s=0.1)
    assert (undecided.verdict, undecided.answers, undecided.shortfalls) == ("undecided", (), ())
    assert place.searched(text, bricks).verdict == "best"
    assert place.searched(text.replace("20GB/s", "40GB/s"), bricks).verdict == "impossible"


@pytest.mark.parametrize(
    ("needs", "verdict"), [("survives: {drives: 3}", "impossible"), ("random_read: 1 kIOPS", "undecided")]
)
def test_no_brick_that_survives_is_a_proof_and_none_that_is_known_is_not(
    place: Place, needs: str, verdict: str
) -> None:
    assert place.searched(f"usable: 1PB\n{needs}", {"one": _brick("8TB", "2GB/s", 2)}).verdict == verdict

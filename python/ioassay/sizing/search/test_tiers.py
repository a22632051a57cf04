"""Tiers: what each must hold and do, worked out by hand, and what they share."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from ioassay.sizing.search.model import Search
from ioassay.sizing.search.needs import needs
from ioassay.sizing.search.read import read
from ioassay.sizing.search.search import search, search_with
from ioassay.sizing.search.solver import Solver
from ioassay.yaml_models.source import SourceError

CATALOGUE = """
name: own
title: For a test
drives:
  nvme: {title: Flash, media: nvme, capacity: {value: 4TB, assumed: for a test}}
  hdd: {title: A disk, media: hdd, capacity: {value: 20TB, assumed: for a test}}
adapters:
  port: {title: A port, side: network, link: {value: 400Gbit/s, assumed: for a test}}
bricks:
  fast:
    title: Ten flash drives
    software: one
    drives: [nvme]
    drive_count: 10
    redundancy: {layout: raid6, data: 8, parity: 2, groups: 1}
    rack_units: 2
    adapters: {port: 1}
    price: {value: "30", currency: EUR, date: 2026-11, assumed: for a test}
    measured:
      write: {rate: {value: 20GB/s, assumed: for a test}}
      read: {rate: {value: 30GB/s, assumed: for a test}}
    scaling: {by: linear, because: for a test}
  large:
    title: Ten disks
    software: other
    drives: [hdd]
    drive_count: 10
    redundancy: {layout: raid6, data: 8, parity: 2, groups: 1}
    rack_units: 4
    adapters: {port: 1}
    price: {value: "10", currency: EUR, date: 2026-11, assumed: for a test}
    measured:
      write: {rate: {value: 1GB/s, assumed: for a test}}
      read: {rate: {value: 1GB/s, assumed: for a test}}
    scaling: {by: linear, because: for a test}
metadata:
  names:
    title: A metadata module
    software: other
    rack_units: 1
    price: {value: "5", currency: EUR, date: 2026-11, assumed: for a test}
    create: {value: 10 kIOPS, assumed: for a test}
    scaling: {by: linear, because: for a test}
switches:
  switch:
    title: A switch
    ports: 8
    rack_units: 1
    price: {value: "7", currency: EUR, date: 2026-11, assumed: for a test}
    link: {value: 400Gbit/s, assumed: for a test}
"""

TIERS = "tiers: {flash: {bricks: [fast], usable: 10%, write: 100%, read: 50%}, disk: {bricks: [large]}}"
BURST = "checkpoint: {size: 18TB, longest: 5min, every: 1h, kept: 2}"


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(300) as started:
        yield started


def _file(folder: Path, text: str) -> Path:
    (folder / "own.yaml").write_text(CATALOGUE)
    (folder / "needs.yaml").write_text(f"name: test\ncatalogues: [own.yaml]\n{text}\n")
    return folder / "needs.yaml"


def _needed(folder: Path, text: str) -> dict[str, Fraction]:
    return {need.what: need.value.interval.nominal for need in needs(read(_file(folder, text))[0])}


def _bought(result: Search, index: int = 0) -> dict[str, dict[str, int]]:
    sizes = result.answers[index].tiers
    return {tier: {brick.brick: brick.count for brick in size.configuration.bricks} for tier, size in sizes.items()}


def test_a_checkpoint_sizes_flash_its_writes_and_the_drain_that_disk_carries_beside_its_own_work(
    tmp_path: Path,
) -> None:
    text = f"usable: 1PB\nwrite: 20GB/s\nread: 8GB/s\n{BURST}\n{TIERS}".replace("write: 100%", "write: 75%")
    drain = Fraction(18 * 10**12, 55 * 60)
    assert _needed(tmp_path, text) == {
        "flash/usable": 10**14 + 18 * 10**12,
        "flash/write": Fraction(18 * 10**12, 300),  # more than 75 % of 20 GB/s
        "flash/read": 4 * 10**9 + drain,
        "disk/usable": 9 * 10**14 + 2 * 18 * 10**12,
        "disk/write": 5 * 10**9 + drain,
        "disk/read": 4 * 10**9,
    }


def test_data_moved_between_tiers_is_read_in_one_and_written_in_the_other(tmp_path: Path) -> None:
    text = "read: 10GB/s\ntiers: {a: {read: 80%, drain: 3GB/s, stage_in: 2GB/s}, b: {}}"
    assert _needed(tmp_path, text) == {
        "a/write": 2 * 10**9,
        "a/read": 11 * 10**9,
        "b/write": 3 * 10**9,
        "b/read": 4 * 10**9,
    }


def test_two_checkpoints_in_flash_may_drain_until_the_next_but_one_begins(tmp_path: Path) -> None:
    burst = BURST.replace("kept", "drained_in: 1h, kept")
    tiers = "tiers: {flash: {checkpoints: 2}, disk: {}}"
    assert _needed(tmp_path, f"{burst}\n{tiers}")["disk/write"] == 5 * 10**9
    assert _needed(tmp_path, f"{burst}\n{tiers}")["flash/usable"] == 36 * 10**12


def test_a_tier_that_holds_no_checkpoints_leaves_their_writes_to_the_next(tmp_path: Path) -> None:
    needed = _needed(tmp_path, f"read: 1GB/s\n{BURST}\ntiers: {{flash: {{checkpoints: 0, read: 100%}}, disk: {{}}}}")
    assert needed == {
        "flash/read": 10**9,
        "disk/usable": 36 * 10**12,
        "disk/write": 6 * 10**10,
    }


def test_the_middle_of_three_tiers_takes_and_gives_the_drain(tmp_path: Path) -> None:
    needed = _needed(tmp_path, f"{BURST}\ntiers: {{flash: {{}}, disk: {{}}, cold: {{}}}}")
    drain = Fraction(18 * 10**12, 55 * 60)
    assert (needed["disk/write"], needed["disk/read"], needed["cold/write"]) == (drain, drain, drain)
    assert needed["disk/usable"] == 18 * 10**12
    assert "cold/read" not in needed


NEEDS = f"usable: 1PB\nwrite: 40GB/s\nread: 10GB/s\n{TIERS}"
"""100 TB of 32 TB a brick, which costs 30 EUR and 2 U; 900 TB of 160 TB a brick, which costs 10 EUR and 4 U."""


def _limited(budget: int, racks: int = 1) -> str:
    return f"{NEEDS}\nlimits: {{racks: {racks}, budget: {budget}, currency: EUR}}"


def test_tiers_of_different_software_are_bought_together_under_one_budget(solver: Solver, tmp_path: Path) -> None:
    result = search_with(solver, *read(_file(tmp_path, _limited(180))))
    assert result.verdict == "best"
    assert _bought(result) == {"flash": {"fast": 4}, "disk": {"large": 6}}
    (first, *_) = result.answers
    assert (first.cost.nominal, len(first.racks), first.racks[0].free_units) == (180, 1, 42 - 32)


def test_a_budget_for_one_tier_but_not_for_both_is_impossible_and_says_so(solver: Solver, tmp_path: Path) -> None:
    result = search_with(solver, *read(_file(tmp_path, _limited(179))))
    assert result.verdict == "impossible"
    assert {shortfall.need.what for shortfall in result.shortfalls} >= {"budget"}


def test_a_tier_that_falls_short_is_named(solver: Solver, tmp_path: Path) -> None:
    text = NEEDS.replace("write: 40GB/s", "write: 900GB/s")
    result = search_with(solver, *read(_file(tmp_path, f"{text}\nlimits: {{racks: 1}}")))
    (short, *_) = result.shortfalls
    assert short.need.what == "flash/write"
    assert short.best.nominal == 19 * 20e9  # 42 U hold 19 bricks of 2 U beside one of 4 U
    assert short.limited_by == "1 rack of 42 U"


def test_tiers_are_answered_at_once_even_without_time_for_a_proof(tmp_path: Path) -> None:
    result = search(*read(_file(tmp_path, _limited(1000))), limit_s=0.1)
    assert result.verdict == "found"
    assert _bought(result) == {"flash": {"fast": 4}, "disk": {"large": 6}}


def test_tiers_share_switches_with_ports_for_bricks_and_clients(solver: Solver, tmp_path: Path) -> None:
    result = search_with(solver, *read(_file(tmp_path, f"{NEEDS}\nswitches: [switch]\nlimits: {{racks: 1}}")))
    # 10 ports of bricks, and one of 50 GB/s for 40 GB/s to the clients
    assert result.answers[0].configuration.switches == {"switch": 2}
    faster = NEEDS.replace("read: 10GB/s", "read: 300GB/s").replace("read: 50%", "read: 100%")
    result = search_with(solver, *read(_file(tmp_path, f"{faster}\nswitches: [switch]\nlimits: {{racks: 2}}")))
    assert _bought(result)["flash"] == {"fast": 10}
    assert result.answers[0].configuration.switches == {"switch": 3}  # 16 and 6 ports


def test_metadata_modules_stand_in_the_tier_that_takes_creations(solver: Solver, tmp_path: Path) -> None:
    result = search_with(solver, *read(_file(tmp_path, f"create: 25 kIOPS\n{NEEDS}")))
    assert dict(result.answers[0].tiers["disk"].configuration.metadata) == {"names": 3}
    assert not result.answers[0].tiers["flash"].configuration.metadata


def test_clients_that_carry_less_than_all_tiers_give_are_named(solver: Solver, tmp_path: Path) -> None:
    clients = "clients: {count: 2, link: {value: 100Gbit/s, assumed: for a test}}"
    result = search_with(solver, *read(_file(tmp_path, f"{NEEDS}\n{clients}")))
    assert result.verdict == "impossible"
    assert [(shortfall.need.what, shortfall.limited_by) for shortfall in result.shortfalls] == [
        ("write", "network links of 2 clients")
    ]


def test_bricks_with_other_media_than_their_tier_are_not_considered(solver: Solver, tmp_path: Path) -> None:
    text = "usable: 100TB\nbricks: [fast, large]\ntiers: {a: {media: flash, usable: 50%}, b: {media: disk}}"
    assert _bought(search_with(solver, *read(_file(tmp_path, text)))) == {"a": {"fast": 2}, "b": {"large": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "write: 1GB/s\ntiers:\n  a: {write: 60%}\n  b:\n    write: 50%",
            r":7: tiers\.b\.write: tiers take more than all of the writes: 60% \+ 50%",
        ),
        ("write: 1GB/s\ntiers: {a: {write: 60%}, b: {write: 50%}}", r"take more than all of the writes: 60% \+ 50%"),
        ("write: 1GB/s\ntiers: {a: {write: 60%}, b: {write: 30%}}", r"take less than all of the writes: 60% \+ 30%"),
        (
            "write: 1GB/s\ntiers: {a: {read: 60%}, b: {}}",
            "tiers.a.read: is a share of `read`, which is not required; add `read`",
        ),
        ("write: 1GB/s\ntiers: {a: {}}", ":4: tiers: has 1 tier; write 2 to 5"),
        ("write: 1GB/s\nmetadata: [names]\ntiers: {a: {}, b: {}}", ":4: metadata: stands beside `tiers`"),
        (
            "write: 1GB/s\ntiers: {a: {}, b: {drain: 1GB/s}}",
            ":4: tiers.b.drain: b is the last tier, with none below it",
        ),
        (
            "write: 1GB/s\ntiers: {a: {checkpoints: 2}, b: {}}",
            ":4: tiers.a.checkpoints: there is no `checkpoint` that says how large one is",
        ),
        (
            f"{BURST.replace('every: 1h, ', '')}\ntiers: {{a: {{}}, b: {{}}}}",
            ":3: checkpoint: does not say how fast checkpoints drain from a",
        ),
        (
            f"{BURST}\ntiers: {{a: {{}}, b: {{checkpoints: 1}}}}",
            ":4: tiers.b.checkpoints: is less than the 2 checkpoints `kept`",
        ),
        (BURST.replace("1h", "5min"), ":3: checkpoint.every: begins before the last one is written"),
        (BURST.replace("kept", "drained_in: 1h, kept"), ":3: checkpoint.drained_in: there are no `tiers`"),
        (
            f"{BURST.replace('kept', 'drained_in: 1h, kept')}\ntiers: {{a: {{}}, b: {{}}}}",
            ":3: checkpoint.drained_in: a checkpoint still drains from a when the next one needs its place",
        ),
        (
            f"{BURST.replace('kept', 'drained_in: 2h, kept')}\ntiers: {{a: {{}}, b: {{}}}}",
            ":3: checkpoint.drained_in: checkpoints drain more slowly than they come",
        ),
        ("write: 1GB/s\ntiers: {a: {bricks: [fats]}, b: {}}", 'there is no brick "fats".*did you mean `fast`'),
        ("write: 1GB/s\ntiers: {a: {write: 120%}, b: {}}", "too high"),
        ("write: 1GB/s\ntiers: {a: {write: -5%}, b: {}}", "is negative; write for example 80%"),
        ("usable: 1PB\nlimits: {budget: 0, currency: EUR}", "limits.budget: .* is too low"),
        ("usable: 1PB\nlimits: {power: 0W}", "limits.power: .* is too low"),
        ("usable: -1PB", "is negative; write for example 2PiB"),
        ("usable: 1PB\nlimits:\n  racks: 1\n  budget: 5", ":6: limits.budget: has no currency; add `currency`"),
        ("usable: 1PB\ntiers: {}", ":4: tiers: is empty; write 2 to 5 tiers, or leave out `tiers`"),
        ("usable: 1PB\ntiers:", ":4: tiers: is not a set of keys"),
        ("write: 1GB/s\ngrowth: {per_year: 20%, years: 3}", ":4: growth: grows from nothing; add `usable`"),
        (
            "write: 1GB/s\ntiers:\n  a: {media: flash, bricks: [large]}\n  b: {}",
            ":5: tiers.a.media: no brick of the tier a has flash drives; change it or `bricks`",
        ),
        (
            "write: 1GB/s\nbricks: [fast]\ntiers: {a: {}, b: {media: disk}}",
            ":5: tiers.b.media: no brick of the tier b has disk drives",
        ),
        ("write: 1GB/s\ntiers: {a/b: {}, b: {}}", "is not a name"),
    ],
)
def test_tiers_that_contradict_each_other_are_refused_with_what_is_wrong(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        read(_file(tmp_path, text))


def test_the_same_brick_in_two_tiers_is_weighed_and_priced_as_one_kind(solver: Solver, tmp_path: Path) -> None:
    tiers = "tiers: {a: {bricks: [fast], usable: 50%}, b: {bricks: [fast]}}"
    file = _file(tmp_path, f"usable: 128TB\n{tiers}\nlimits: {{racks: 1, weight_per_rack: 900kg}}")
    weight = "    rack_units: 2\n    weight: {value: 40kg, assumed: for a test}"
    (tmp_path / "own.yaml").write_text(CATALOGUE.replace("    rack_units: 2", weight))
    result = search_with(solver, *read(file))
    first = result.answers[0]
    assert _bought(result) == {"a": {"fast": 2}, "b": {"fast": 2}}
    assert [(brick.brick, brick.count) for brick in first.configuration.bricks] == [("fast", 4)]
    assert next(margin.has.nominal for margin in first.margins if margin.need.what == "weight_per_rack") == 160


def test_a_tier_without_sufficiently_known_bricks_is_named(solver: Solver, tmp_path: Path) -> None:
    text = "random_read: 1 kIOPS\ntiers: {a: {bricks: [fast], random_read: 100%}, b: {bricks: [large]}}"
    result = search_with(solver, *read(_file(tmp_path, text)))
    assert (result.verdict, result.empty_tiers) == ("undecided", ("a",))
    assert result.unknown == ("fast with nvme in a: random read rate unknown.",)

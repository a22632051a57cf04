from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.sizing import formulas
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import RateKind
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Rate, Size
from ioassay.testing.brick_catalogue import as_yaml, brick, catalogue, figure

LINEAR = {"by": "linear", "because": "Made up."}
IB = {"ib": {"title": "FDR", "side": "network", "link": figure("56Gbit/s")}}
SLOW = {"slow": {"title": "Slow", "side": "network", "link": figure("8Gbit/s")}}
EDGE = {"edge": {"title": "Edge", "ports": 12, "link": figure("56Gbit/s")}}
MODULE = {"title": "Module", "create": figure("40 kIOPS"), "stat": figure("100 kIOPS")}
FIVE = {"write": {"rate": figure("5GB/s"), "limited_by": "RAID controllers"}}


def sized(catalogue: Catalogue, count: int = 2, **keys: Any) -> Size:
    tree = {"bricks": [{"brick": "brick", "drive": "disk", "count": count}], "scaling": LINEAR} | keys
    return evaluate(catalogue, "example", Configuration.model_validate(as_yaml(tree)))


def of(size: Size, kind: RateKind = "write") -> Rate:
    return size.rates["healthy"][kind]


def places(rate: Rate) -> Mapping[str, float]:
    return {ceiling.place: round(ceiling.value.nominal / 1e9, 3) for ceiling in rate.ceilings}


def test_bricks_add_up_linearly_where_the_user_says_so() -> None:
    size = sized(catalogue({"brick": brick(measured=FIVE)}), 8)
    assert formulas.formula(of(size).limit.value) == "8 bricks × 5 GB/s"
    assert of(size).limit.place == "RAID controllers"
    assert "Scaled linearly: Made up." in of(size).value.note
    assert size.scaling == "linear, because made up"


def test_several_bricks_without_a_scaling_are_refused_and_a_single_one_is_not() -> None:
    with pytest.raises(UsageError, match="several bricks do together: brick has no scaling") as error:
        sized(catalogue(), 2, scaling=None)
    assert "scaling: {by: linear, because: …}" in error.value.remedy
    assert of(sized(catalogue(), 1, scaling=None)).value.nominal == 9.6e9


def test_a_measured_scaling_limits_what_bricks_do_and_not_what_their_hardware_carries() -> None:
    points = {"write": [{"count": 1, "rate": figure("5GB/s")}, {"count": 4, "rate": figure("15GB/s")}]}
    scaled_brick = brick(measured=FIVE, adapters={"ib": 1}, scaling={"by": "table", "points": points})
    size = sized(catalogue({"brick": scaled_brick}, adapters=IB), 4, scaling=None)
    assert places(of(size))["scaling over bricks"] == 15
    assert places(of(size))["network adapters"] == 28
    assert of(size).limit.place == "scaling over bricks"
    assert size.scaling == "table of measured multiples for 1 to 4, interpolated between them"
    # Reads were not measured, so the read rate of four bricks is unknown.
    assert "read" not in size.rates["healthy"]


def test_the_catalogue_says_how_its_bricks_scale_before_the_configuration_does() -> None:
    linear = {"by": "linear", "because": "Its maker says so."}
    assert sized(catalogue({"brick": brick(scaling=linear)})).scaling == "linear, because its maker says so"


def test_kinds_of_bricks_add_up_each_at_its_own_limit() -> None:
    bricks = {"brick": brick(measured=FIVE, adapters={"ib": 1}), "other": brick(adapters={"slow": 1})}
    components = catalogue(bricks, adapters=IB | SLOW)
    both = [{"brick": "brick", "drive": "disk", "count": 2}, {"brick": "other", "drive": "disk", "count": 3}]
    rate = of(sized(components, bricks=both))
    assert rate.value.nominal == 2 * 5e9 + 3 * 1e9
    assert rate.limit.place == "RAID controllers of brick with disk and network adapters of other with disk"
    assert places(rate)["network adapters"] == 2 * 7 + 3 * 1
    assert "in proportion" in rate.value.note


def test_two_drives_of_the_same_brick_are_two_kinds() -> None:
    both = [{"brick": "brick", "drive": "disk", "count": 1}, {"brick": "brick", "drive": "flash", "count": 2}]
    assert of(sized(catalogue(), bricks=both), "read").value.nominal == 9.6e9 + 2 * 12e9


def test_a_kind_of_brick_without_a_rate_leaves_the_whole_unknown() -> None:
    components = catalogue({"brick": brick(), "other": brick(drives=["unknown"])})
    both = [{"brick": "brick", "drive": "disk", "count": 1}, {"brick": "other", "count": 1}]
    assert "write" not in sized(components, bricks=both).rates["healthy"]


def test_clients_and_switches_come_after_the_bricks() -> None:
    components = catalogue({"brick": brick(adapters={"ib": 1})}, adapters=IB, switches=EDGE)
    size = sized(components, 4, switches={"edge": 1}, clients={"count": 3, "link": figure("56Gbit/s")})
    assert places(of(size))["switches"] == 21
    assert places(of(size))["clients"] == 21
    few = sized(components, 10, switches={"edge": 1})
    # Ten of twelve ports lead to bricks, so that two are left for clients.
    assert of(few).limit.place == "switches"
    assert of(few).value.nominal == 14e9
    assert formulas.formula(of(few).value).endswith("write rate over the switches 14 GB/s")


def test_switches_with_slower_ports_are_for_management() -> None:
    both = EDGE | {"management": {"title": "Management", "ports": 48, "link": figure("1Gbit/s")}}
    components = catalogue({"brick": brick(adapters={"ib": 1})}, adapters=IB, switches=both)
    assert places(of(sized(components, 4, switches={"edge": 1, "management": 1})))["switches"] == 28


def test_switches_whose_ports_are_all_taken_are_refused() -> None:
    components = catalogue({"brick": brick(adapters={"ib": 1})}, adapters=IB, switches=EDGE)
    with pytest.raises(UsageError, match="have 12 ports; bricks and metadata modules take 12"):
        sized(components, 12, switches={"edge": 1})


def test_metadata_is_apart_and_scales_by_the_same_rules() -> None:
    points = {"create": [{"count": 1, "rate": figure("40 kIOPS")}, {"count": 2, "rate": figure("60 kIOPS")}]}
    scaled = MODULE | {"scaling": {"by": "table", "points": points}}
    size = sized(catalogue(metadata={"module": scaled}), metadata={"module": 2})
    assert of(size, "create").value.nominal == 60_000
    assert of(size, "create").limit.place == "scaling over metadata modules"
    assert "stat" not in size.rates["healthy"]
    assert "module: table" in size.scaling
    assert of(sized(catalogue(metadata={"module": MODULE}), metadata={"module": 3}), "stat").value.nominal == 300_000


def test_metadata_rates_are_unknown_without_a_metadata_module() -> None:
    assert set(sized(catalogue()).rates["healthy"]) == {"write", "read", "random_write", "random_read"}


def test_a_brick_with_a_single_server_makes_the_whole_unavailable_when_it_is_down() -> None:
    components = catalogue({"brick": brick(servers={"server": 2}), "single": brick(servers={"server": 1})})
    both = [{"brick": "brick", "drive": "disk", "count": 1}, {"brick": "single", "drive": "disk", "count": 1}]
    assert set(sized(components).rates["failed_over"]) == {"write", "read", "random_write", "random_read"}
    assert sized(components, bricks=both).rates["failed_over"] == {}


@given(st.integers(1, 40), st.integers(1, 10), st.integers(1, 100))
def test_more_bricks_never_do_less_and_no_rate_is_above_a_ceiling(count: int, more: int, clients: int) -> None:
    components = catalogue({"brick": brick(measured=FIVE, adapters={"ib": 1})}, adapters=IB)
    link = {"count": clients, "link": figure("10Gbit/s")}
    fewer, many = (sized(components, number, clients=link) for number in (count, count + more))
    for kind, rate in fewer.rates["healthy"].items():
        assert many.rates["healthy"][kind].value.interval.nominal >= rate.value.interval.nominal
        assert all(rate.value.interval.nominal <= ceiling.value.interval.nominal for ceiling in rate.ceilings)
        assert rate.value.interval.nominal == rate.limit.value.interval.nominal


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 20), st.integers(1, 20))
def test_a_mixture_does_what_its_kinds_do_apart(count: int, other_count: int, first: int, second: int) -> None:
    links = {
        name: {"title": name, "side": "network", "link": figure(f"{speed}GB/s")}
        for name, speed in (("a", first), ("b", second))
    }
    bricks = {"brick": brick(measured=FIVE, adapters={"a": 1}), "other": brick(adapters={"b": 1})}
    components = catalogue(bricks, adapters=links)
    parts = [
        {"brick": "brick", "drive": "disk", "count": count},
        {"brick": "other", "drive": "disk", "count": other_count},
    ]
    apart = [of(sized(components, bricks=[part])).value.interval.nominal for part in parts]
    assert of(sized(components, bricks=parts)).value.interval.nominal == sum(apart)


def test_the_published_rack_of_eight_bricks_is_limited_by_its_raid_controllers() -> None:
    file, known = read("md3460-racks")
    size = evaluate(known, "performance-8", file.configurations["performance-8"])
    rate = of(size)
    assert formulas.formula(rate.limit.value) == "8 bricks × 4.5 GB/s"
    assert (rate.limit.place, rate.value.nominal) == ("RAID controllers", 36e9)
    # FDR carries 64 of 66 bits of 56 Gbit/s, 97 %.
    assert rate.next is not None
    assert (rate.next.place, round(places(rate)["network adapters"])) == ("network adapters", 54)

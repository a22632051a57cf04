from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.sizing import formulas
from ioassay.sizing.capacity.redundancy import PARITY
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import IoKind, Layout
from ioassay.sizing.model import BrickChoice, Rate
from ioassay.sizing.rates import brick_rates
from ioassay.sizing.requirements import Condition
from ioassay.testing.brick_catalogue import DISKS, FLASH, RAID6, brick, catalogue, figure

PAIR = {"pair": {"title": "Pair", "units": 2, "ports": 4, "link": figure("48Gbit/s"), "write": figure("4.5GB/s")}}
SAS = {"sas": {"title": "SAS", "side": "storage", "ports": 4, "link": figure("48Gbit/s")}}
IB = {"ib": {"title": "FDR", "side": "network", "link": figure("56Gbit/s"), "encoding": figure("0.97")}}
MIRROR = {"layout": "mirror", "groups": 30}
RAIDZ = {"layout": "raidz2", "data": 8, "groups": 6, "record": "1m"}


def of(
    catalogue: Catalogue, kind: IoKind = "write", condition: Condition = "healthy", choice: BrickChoice = DISKS
) -> Rate:
    return brick_rates(catalogue, choice, condition)[kind]


def places(rate: Rate) -> dict[str, float]:
    return {ceiling.place: round(ceiling.value.nominal / 1e6, 1) for ceiling in rate.ceilings}


def with_redundancy(**redundancy: Any) -> Catalogue:
    return catalogue({"brick": brick(redundancy=redundancy)})


def test_full_stripes_are_written_at_the_rate_of_the_data_drives() -> None:
    rate = of(catalogue())
    assert places(rate) == {"drives": 12_000, "RAID full-stripe writes": 9_600}
    assert rate.limit.place == "RAID full-stripe writes"
    assert rate.value.nominal == 9.6e9


def test_disks_read_at_the_rate_of_the_data_drives_and_flash_with_all() -> None:
    assert places(of(catalogue(), "read")) == {"drives": 9_600}
    assert places(of(catalogue(), "read", choice=FLASH)) == {"drives": 12_000}


def test_writes_of_half_a_stripe_are_half_as_fast() -> None:
    rate = brick_rates(catalogue(), DISKS, request_bytes=512 << 10)["write"]
    assert places(rate) == {"drives": 12_000, "RAID reconstruct-writes": 4_800}


def test_zfs_collects_small_writes_into_full_stripes() -> None:
    components = with_redundancy(**RAIDZ)
    assert places(brick_rates(components, DISKS, request_bytes=4096)["write"]) == places(of(components))
    # A record of 1 MiB has 256 sectors, 64 of parity, and one of padding.
    assert places(of(components))["raidz full-stripe writes"] == pytest.approx(12_000 * 256 / 321, abs=0.1)


@pytest.mark.parametrize(
    ("redundancy", "reads", "writes"),
    [
        (RAID6, 6000, 1000),
        ({"layout": "raid5", "data": 9, "groups": 6}, 6000, 1500),
        (MIRROR, 6000, 3000),
        ({"layout": "raid10", "data": 5, "groups": 6}, 6000, 3000),
        ({"layout": "none", "groups": 60}, 6000, 6000),
        (RAIDZ, 600, 300),
        (RAIDZ | {"record": "4k"}, 600, 600),
        ({"layout": "draid2", "data": 8, "children": 60, "groups": 1, "spares": 2}, 500, 250),
    ],
)
def test_random_io_has_the_penalty_of_its_layout(redundancy: dict[str, Any], reads: float, writes: float) -> None:
    components = with_redundancy(**redundancy)
    assert of(components, "random_read").value.nominal == pytest.approx(reads)
    assert of(components, "random_write").value.nominal == pytest.approx(writes)


def test_parity_crosses_the_links_of_enclosures() -> None:
    shelves = {"near": {"title": "Near", "slots": 60, "link": figure("4GB/s")}}
    components = catalogue({"brick": brick(enclosures={"near": 1})}, enclosures=shelves)
    assert places(of(components))["links of the enclosures"] == 3_200
    assert places(of(components, "read"))["links of the enclosures"] == 4_000


def test_each_enclosure_carries_the_lower_of_its_drives_and_its_link() -> None:
    shelves = {"far": {"title": "Far", "slots": 60, "link": figure("2.4GB/s")}}
    redundancy = RAID6 | {"groups": 18}
    three = brick(drive_count=180, redundancy=redundancy, enclosures={"shelf": 1, "far": 2})
    # The first has 9.6 GB/s of drives and no link that limits; the others 2.4 GB/s with parity each.
    components = catalogue({"brick": three}, enclosures=shelves)
    assert places(of(components))["links of the enclosures"] == 9_600 + 2 * 1_920
    assert of(components).limit.place == "links of the enclosures"


def test_slots_that_are_too_few_for_another_group_hold_spares() -> None:
    shelves = {"large": {"title": "Large", "slots": 84, "link": figure("10GB/s")}}
    keys: dict[str, Any] = {"drive_count": 168, "redundancy": RAID6 | {"groups": 16, "spares": 8}}
    components = catalogue({"brick": brick(**keys, enclosures={"large": 2})}, enclosures=shelves)
    # Eight groups in each, whose 80 drives write 12.8 GB/s; a link carries 8 GB/s of data.
    assert places(of(components))["links of the enclosures"] == 16_000
    assert "2 enclosures × 8 GB/s" in formulas.formula(of(components).ceilings[2].value)


def test_parity_crosses_sas_adapters_only_where_servers_compute_it() -> None:
    software = catalogue({"brick": brick(adapters={"sas": 1})}, adapters=SAS)
    hardware = catalogue({"brick": brick(adapters={"sas": 1}, controllers={"pair": 1})}, adapters=SAS, controllers=PAIR)
    assert places(of(software))["SAS adapters"] == 19_200
    assert places(of(hardware))["SAS adapters"] == 24_000
    assert places(of(hardware))["host ports of the RAID controllers"] == 24_000


def test_an_adapter_carries_its_ports_less_encoding_and_no_more_than_its_slot() -> None:
    wide = catalogue({"brick": brick(adapters={"ib": 2})}, adapters=IB)
    assert places(of(wide))["network adapters"] == pytest.approx(2 * 7_000 * 0.97)
    narrow = catalogue({"brick": brick(adapters={"ib": 2})}, adapters={"ib": IB["ib"] | {"pcie": figure("4GB/s")}})
    assert places(of(narrow))["network adapters"] == 8_000


def test_links_limit_random_io_by_4_kib_an_operation() -> None:
    slow = {"ib": {"title": "Slow", "side": "network", "link": figure("4096KB/s")}}
    components = catalogue({"brick": brick(adapters={"ib": 1})}, adapters=slow)
    assert of(components, "random_read").value.nominal == 1000
    assert of(components, "random_read").limit.place == "network adapters"


def test_cables_alone_say_nothing_of_a_brick_whose_drives_are_unknown() -> None:
    components = catalogue({"brick": brick(drives=["unknown"], adapters={"ib": 1})}, adapters=IB)
    assert brick_rates(components, BrickChoice("brick", "unknown")) == {}


def test_a_place_without_a_figure_of_a_component_has_no_ceiling() -> None:
    servers = {"fast": {"title": "Fast", "write": figure("5GB/s")}}
    both = catalogue({"brick": brick(servers={"fast": 1, "server": 1})}, servers=servers)
    assert "servers" not in places(of(both))
    assert "servers" not in places(of(catalogue({"brick": brick(servers={"fast": 1})}, servers=servers), "read"))


def test_a_measured_brick_is_limited_where_its_measurement_says() -> None:
    measured = {"write": {"rate": figure("4GB/s"), "limited_by": "RAID controllers"}, "read": {"rate": figure("3GB/s")}}
    components = catalogue({"brick": brick(controllers={"pair": 1}, measured=measured)}, controllers=PAIR)
    assert (of(components).limit.place, of(components).value.nominal) == ("RAID controllers", 4e9)
    assert [ceiling.place for ceiling in of(components).ceilings].count("RAID controllers") == 1
    assert (of(components, "read").limit.place, of(components, "read").value.nominal) == ("brick as assumed", 3e9)


def test_a_measurement_refutes_what_was_computed_lower() -> None:
    # 1000 random writes a second by the write penalty, of a brick whose cache merges them to five times as many.
    measured = {"random_write": {"rate": figure("5 kIOPS")}}
    components = catalogue({"brick": brick(measured=measured, adapters={"ib": 1})}, adapters=IB)
    assert of(components, "random_write").value.nominal == 5000
    assert "RAID parity updates" not in places(of(components, "random_write"))
    assert of(components, "random_write", "rebuilding").value.nominal < 0.7 * 5000


def test_a_measurement_of_full_stripes_does_not_refute_the_cost_of_smaller_writes() -> None:
    components = catalogue({"brick": brick(measured={"write": {"rate": figure("15GB/s")}})})
    assert of(components).value.nominal == 15e9
    small = brick_rates(components, DISKS, request_bytes=512 << 10)["write"]
    assert (small.limit.place, small.value.nominal) == ("RAID reconstruct-writes", 4.8e9)


def test_a_measurement_as_high_as_the_lowest_place_was_limited_there() -> None:
    measured = {"write": {"rate": figure("4.5GB/s")}}
    components = catalogue({"brick": brick(controllers={"pair": 1}, measured=measured)}, controllers=PAIR)
    assert [ceiling.place for ceiling in of(components).ceilings].count("brick as assumed") == 0
    assert of(components, "write", "rebuilding").value.nominal == 4.5e9


def test_a_measurement_in_the_wrong_unit_is_refused() -> None:
    components = catalogue({"brick": brick(measured={"write": {"rate": figure("400 IOPS")}})})
    with pytest.raises(UsageError, match=r"write rate at the brick as assumed is in operations/s, not in bytes/s"):
        of(components)


def test_a_rebuild_takes_its_share_of_full_stripes() -> None:
    assert of(catalogue(), "write", "rebuilding").value.nominal == pytest.approx(0.7 * 9.6e9)
    assert of(catalogue(), "read", "rebuilding").value.nominal == pytest.approx(0.7 * 9.6e9)
    assert of(catalogue(), "read", "rebuilding", FLASH).value.nominal == pytest.approx(0.7 * 12e9 * 9 / 10)


def test_random_reads_of_a_lost_drive_cost_a_read_of_every_data_drive() -> None:
    # Nine drives serve a read each of nine tenths, and eight for the last tenth: 9 ÷ 17 of ten drives.
    assert of(catalogue(), "random_read", "rebuilding").value.nominal == pytest.approx(0.7 * 6000 * 9 / 17)
    components = with_redundancy(**MIRROR)
    assert of(components, "random_read", "rebuilding").value.nominal == pytest.approx(0.7 * 3000)
    assert of(components, "random_write", "rebuilding").value.nominal == pytest.approx(0.7 * 3000)


def test_a_brick_without_parity_has_no_rate_while_a_drive_is_replaced() -> None:
    assert brick_rates(with_redundancy(layout="none", groups=60), DISKS, "rebuilding") == {}


def test_a_measured_limit_of_unknown_place_falls_with_the_rebuild_and_a_known_one_elsewhere_stays() -> None:
    measured = {"write": {"rate": figure("2GB/s")}, "read": {"rate": figure("2GB/s"), "limited_by": "RAID controllers"}}
    components = catalogue({"brick": brick(measured=measured)})
    assert of(components, "write", "rebuilding").value.nominal == pytest.approx(1.4e9)
    assert of(components, "read", "rebuilding").value.nominal == pytest.approx(2e9)


def test_a_server_takes_its_adapters_with_it() -> None:
    servers = {"fast": {"title": "Fast", "write": figure("5GB/s")}}
    two = catalogue({"brick": brick(servers={"fast": 2}, adapters={"ib": 2})}, servers=servers, adapters=IB)
    assert places(of(two))["network adapters"] == pytest.approx(13_580)
    over = of(two, "write", "failed_over")
    assert places(over)["network adapters"] == pytest.approx(6_790)
    assert places(over)["servers"] == 5_000
    assert over.limit.place == "servers"


def test_a_node_takes_its_drives_with_it_where_stripes_are_spread_over_nodes() -> None:
    spread = {"layout": "erasure", "data": 6, "parity": 2, "groups": 1, "children": 60, "spread_over": "servers"}
    keys: dict[str, Any] = {"redundancy": spread, "servers": {"server": 4}, "enclosures": {}}
    components = catalogue({"brick": brick(**keys, measured={"read": {"rate": figure("6GB/s")}})})
    assert of(components, "write", "failed_over").value.nominal == pytest.approx(0.75 * 9e9)
    assert of(components, "read", "failed_over", FLASH).value.nominal == pytest.approx(0.75 * 6e9)
    # Of 60 drives 15 are lost, and a read of theirs costs six of the other 45.
    assert of(components, "random_read", "failed_over").value.nominal == pytest.approx(6000 * 45 / (45 + 15 * 6))


def test_servers_with_drives_inside_do_not_stand_in_for_each_other() -> None:
    components = catalogue({"brick": brick(servers={"server": 2}, enclosures={})})
    assert brick_rates(components, DISKS, "failed_over") == {}


def test_stripes_that_are_spread_over_enclosures_wait_for_the_slowest() -> None:
    shelves = {
        "fast": {"title": "Fast", "slots": 30, "link": figure("10GB/s")},
        "slow": {"title": "Slow", "slots": 30, "link": figure("1GB/s")},
    }
    keys: dict[str, Any] = {"redundancy": RAID6 | {"spread_over": "enclosures"}, "enclosures": {"fast": 1, "slow": 1}}
    rate = of(catalogue({"brick": brick(**keys)}, enclosures=shelves))
    assert places(rate)["links of the enclosures"] == 2 * 800


def test_records_of_raidz_carry_their_padding_over_the_links() -> None:
    shelves = {"linked": {"title": "Linked", "slots": 60, "link": figure("4GB/s")}}
    keys: dict[str, Any] = {"redundancy": RAIDZ | {"record": "4k"}, "enclosures": {"linked": 1}}
    # A sector of data has two of parity, so that a third of what crosses the link is data.
    rate = of(catalogue({"brick": brick(**keys)}, enclosures=shelves))
    assert places(rate)["links of the enclosures"] == pytest.approx(4_000 / 3, abs=0.1)


def test_nothing_takes_over_for_a_single_server() -> None:
    assert brick_rates(catalogue({"brick": brick(servers={"server": 1})}), DISKS, "failed_over") == {}


LAYOUTS: st.SearchStrategy[Layout] = st.sampled_from(
    ["mirror", "raid10", "raid5", "raid6", "raidz1", "raidz2", "raidz3", "draid1", "erasure"]
)


@given(
    layout=LAYOUTS,
    data=st.integers(1, 12),
    groups=st.integers(1, 8),
    request=st.sampled_from([None, 4096, 100_000, 1 << 20, 1 << 24]),
    link=st.integers(1, 100),
    choice=st.sampled_from([DISKS, FLASH]),
    measured=st.none() | st.integers(1, 100),
    limited_by=st.sampled_from([None, "drives", "RAID controllers", "network adapters"]),
)
def test_no_rate_is_above_a_ceiling_and_no_failure_makes_any_faster(
    *,
    layout: Layout,
    data: int,
    groups: int,
    request: int | None,
    link: int,
    choice: BrickChoice,
    measured: int | None,
    limited_by: str | None,
) -> None:
    redundancy: dict[str, Any] = {"layout": layout, "data": data, "groups": groups, "chunk": "128k"}
    redundancy |= {"data": 1} if layout == "mirror" else {"children": data + 3} if layout == "draid1" else {}
    adapters = IB | {"sas": {"title": "SAS", "side": "storage", "link": figure(f"{link}Gbit/s")}}
    if layout == "erasure":
        redundancy["parity"] = 2
    drives = {"mirror": 2, "raid10": 2 * data, "draid1": data + 3, "erasure": data + 2}.get(layout)
    single_brick = brick(
        redundancy=redundancy,
        drive_count=groups * (drives or data + PARITY[layout]),
        adapters={"sas": 2, "ib": 2},
        servers={"server": 2},
        enclosures={"large": 1},
        measured={} if measured is None else {"write": {"rate": figure(f"{measured}00MB/s"), "limited_by": limited_by}},
    )
    large = {"large": {"title": "Large", "slots": 1000}}
    components = catalogue({"brick": single_brick}, adapters=adapters, enclosures=large)
    healthy = brick_rates(components, choice, "healthy", request)
    assert set(healthy) == {"write", "read", "random_write", "random_read"}
    for condition in ("rebuilding", "failed_over"):
        for kind, rate in brick_rates(components, choice, condition, request).items():
            assert rate.value.interval.nominal <= healthy[kind].value.interval.nominal
            assert all(rate.value.interval.nominal <= ceiling.value.interval.nominal for ceiling in rate.ceilings)
            assert rate.limit.value.interval.nominal == rate.value.interval.nominal
    assert healthy["write"].value.interval.nominal <= brick_rates(components, choice)["write"].value.interval.nominal

from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import assignments, change_of, changes_of, fine, not_applicable, not_readable
from ioassay.testing.snapshots import below
from ioassay.testing.storage_nodes import adapter, ext4_host, gpfs_client, infiniband, nfs_client, nfs_server, plugged
from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.network import NETWORK_LINK, PACKET_SIZE, PCIE_LINK, RULES, SOCKET_LIMITS, TCP_BUFFERS

SLOT = "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0"
LINK = f"{SLOT}/net/ens1f0"


@pytest.mark.parametrize("rule", [PCIE_LINK, NETWORK_LINK, PACKET_SIZE, TCP_BUFFERS], ids=lambda rule: rule.name)
def test_a_well_set_client_is_fine(rule: Rule) -> None:
    assert fine(rule, nfs_client())


_OF_HARDWARE = [rule for rule in RULES if rule is not SOCKET_LIMITS]
"""Every node has the limits of sockets, so that a snapshot without them lacks them."""


@pytest.mark.parametrize("rule", _OF_HARDWARE, ids=lambda rule: rule.name)
def test_a_node_without_networks(rule: Rule) -> None:
    assert not_applicable(rule, ext4_host())


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        (PCIE_LINK, f"{SLOT}/current_link_width"),
        (NETWORK_LINK, f"{LINK}/duplex"),
        (PACKET_SIZE, f"{LINK}/mtu"),
        (TCP_BUFFERS, "proc/sys/net/ipv4/tcp_rmem"),
    ],
)
def test_values_that_cannot_be_read(rule: Rule, path: str) -> None:
    [unreadable] = not_readable(rule, nfs_client().with_unreadable(path))
    assert unreadable.what == f"/{path}"


class TestLinks:
    def test_a_narrow_slot(self) -> None:
        change = change_of(PCIE_LINK, nfs_client().with_files({f"{SLOT}/current_link_width": 8}))
        assert (change.subject, change.value, change.wanted) == (
            "ens1f0 (0000:81:00.0)",
            "x8 at 16 GT/s",
            "x16 at 16 GT/s",
        )
        assert change.because == "the link carries 50% of what the device can"

    def test_a_slow_slot(self) -> None:
        change = change_of(PCIE_LINK, nfs_client().with_files({f"{SLOT}/current_link_speed": "8.0 GT/s PCIe"}))
        assert change.because == "the link carries 50% of what the device can"

    def test_a_virtual_device(self) -> None:
        node = nfs_client().with_files({f"{SLOT}/current_link_width": None, f"{SLOT}/max_link_width": None})
        assert not_readable(PCIE_LINK, node)

    def test_lanes_of_infiniband(self) -> None:
        node = plugged(gpfs_client(), infiniband("mlx5_0", rate="25 Gb/sec (1X EDR)"))
        assert change_of(NETWORK_LINK, node).because == "lanes of the cable are down"

    def test_a_port_slower_than_its_sister(self) -> None:
        node = plugged(gpfs_client(), infiniband("mlx5_1", rate="56 Gb/sec (4X FDR)"))
        change = change_of(NETWORK_LINK, node)
        assert (change.subject, change.wanted) == ("mlx5_1/1", "100 Gb/s")

    def test_half_duplex(self) -> None:
        assert change_of(NETWORK_LINK, nfs_client().with_files({f"{LINK}/duplex": "half"})).wanted == "full duplex"

    def test_a_bond_of_two_speeds(self) -> None:
        node = plugged(nfs_client(), adapter("ens1f1", megabits=10_000, node=1, address="0000:81:00.1"))
        bond = below(
            "sys/class/net/bond0", {"mtu": 9000, "type": 1, "operstate": "up", "bonding/slaves": "ens1f0 ens1f1"}
        )
        change = change_of(NETWORK_LINK, node.with_files(bond))
        assert (change.subject, change.because) == ("ens1f1", "as other members of its bond")


class TestPackets:
    def test_small_packets(self) -> None:
        change = change_of(PACKET_SIZE, nfs_client().with_files({f"{LINK}/mtu": 1500}))
        assert assignments(change) == {"sys:class/net/ens1f0/mtu": "9000"}

    def test_a_bond_sets_the_size_for_its_members(self) -> None:
        bond = below("sys/class/net/bond0", {"mtu": 1500, "type": 1, "operstate": "up", "speed": 100000})
        node = nfs_client().with_files({**bond, "sys/class/net/bond0/bonding/slaves": "ens1f0", f"{LINK}/mtu": 1500})
        node = node.with_links({f"{LINK}/master": "../../../../../../virtual/net/bond0"})
        assert assignments(change_of(PACKET_SIZE, node)) == {"sys:class/net/bond0/mtu": "9000"}

    def test_buffers(self) -> None:
        node = nfs_client().with_files({"proc/sys/net/ipv4/tcp_rmem": "4096 131072 6291456"})
        change = change_of(TCP_BUFFERS, node)
        assert assignments(change) == {"sysctl:net.ipv4.tcp_rmem": "4096 131072 33554432"}
        assert change.because == "100 Gb/s × 1 ms = 12207 KiB"
        assert len(changes_of(TCP_BUFFERS, node.with_files({"proc/sys/net/ipv4/tcp_wmem": "4096 16384 4194304"}))) == 2

    def test_slower_links_need_no_more(self) -> None:
        node = nfs_server().with_files({f"{LINK}/speed": 10000})
        assert "25 Gb/s" in not_applicable(TCP_BUFFERS, node)
        assert len(not_readable(TCP_BUFFERS, nfs_server())) == 2

from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import change_of, fine, judged, not_applicable, not_readable
from ioassay.testing.storage_nodes import MOUNTINFO, Node, ext4_host, network_client
from ioassay.tuning.rule import NotJudged, Rule
from ioassay.tuning.rules.distributed import (
    CEPH_MESSENGER,
    CEPHFS_READ_AHEAD,
    CEPHFS_TRANSFER_SIZE,
    DAOS_INTERCEPTION,
    RBD_QUEUE_DEPTH,
    RULES,
    WEKA_CACHE_MODE,
    WEKA_NETWORK_MODE,
    WEKA_READ_AHEAD,
)

CEPH_RULES = [rule for rule in RULES if rule.area == "Ceph"]
WEKA_RULES = [rule for rule in RULES if rule.area == "WEKA"]
_CONFIG = "sys/bus/rbd/devices/0/config_info"


def _mounted(options: str) -> Node:
    return network_client().with_text(MOUNTINFO, "ms_mode=crc", options)


class TestCeph:
    @pytest.mark.parametrize("rule", CEPH_RULES, ids=lambda rule: rule.name)
    def test_a_well_set_client_is_fine(self, rule: Rule) -> None:
        assert fine(rule, network_client())

    @pytest.mark.parametrize("rule", CEPH_RULES, ids=lambda rule: rule.name)
    def test_a_node_without_ceph(self, rule: Rule) -> None:
        assert "here" in not_applicable(rule, ext4_host())

    @pytest.mark.parametrize(("option", "subject"), [("wsize=65536", "writes"), ("rsize=65536", "reads")])
    def test_small_requests_of_cephfs(self, option: str, subject: str) -> None:
        change = change_of(CEPHFS_TRANSFER_SIZE, _mounted(option))
        assert (change.subject, change.value, change.wanted) == (f"/cephfs {subject}", "64 KiB", "at least 4 MiB")

    def test_a_size_that_is_none(self) -> None:
        assert not_readable(CEPHFS_TRANSFER_SIZE, _mounted("wsize=4M"))
        assert not_readable(CEPHFS_READ_AHEAD, _mounted("rasize=-1"))

    def test_little_read_ahead(self) -> None:
        assert change_of(CEPHFS_READ_AHEAD, _mounted("rasize=131072")).wanted == "8 MiB"
        assert fine(CEPHFS_READ_AHEAD, _mounted("rasize=33554432")) == ["32 MiB"]

    def test_no_checksums_and_encryption(self) -> None:
        assert change_of(CEPH_MESSENGER, _mounted("nocrc")).wanted == "crc"
        assert isinstance(judged(CEPH_MESSENGER, _mounted("ms_mode=secure"))[0], NotJudged)

    def test_a_short_queue_of_an_image(self) -> None:
        node = network_client().with_text(_CONFIG, "queue_depth=256", "queue_depth=16")
        assert (change_of(RBD_QUEUE_DEPTH, node).subject, change_of(RBD_QUEUE_DEPTH, node).value) == (
            "rbd0",
            "16 requests",
        )

    def test_an_image_below_the_target_and_elsewhere(self) -> None:
        assert fine(RBD_QUEUE_DEPTH, network_client().with_target("/dev/rbd0"))
        assert not_applicable(RBD_QUEUE_DEPTH, network_client().with_target("/cephfs"))

    def test_options_of_an_image_that_are_not_known(self) -> None:
        default = network_client().with_text(_CONFIG, ",queue_depth=256", "")
        assert fine(RBD_QUEUE_DEPTH, default) == ["128 requests"]
        gone = network_client().with_files({_CONFIG: None, "sys/bus/rbd/devices/0/pool": "rbd"})
        assert not_readable(RBD_QUEUE_DEPTH, gone)
        assert not_readable(RBD_QUEUE_DEPTH, network_client().with_unreadable(_CONFIG))


class TestWeka:
    @pytest.mark.parametrize("rule", WEKA_RULES, ids=lambda rule: rule.name)
    def test_a_well_set_client_is_fine(self, rule: Rule) -> None:
        assert fine(rule, network_client())

    @pytest.mark.parametrize("rule", WEKA_RULES, ids=lambda rule: rule.name)
    def test_a_node_without_weka(self, rule: Rule) -> None:
        assert "WEKA" in not_applicable(rule, ext4_host())

    @pytest.mark.parametrize("rule", WEKA_RULES, ids=lambda rule: rule.name)
    def test_options_that_are_not_listed(self, rule: Rule) -> None:
        node = network_client().with_text(MOUNTINFO, "writecache,inode_bits=auto,readahead_kb=32768", "inode_bits=auto")
        assert not_readable(rule, node.with_files({"etc/fstab": None}))

    @pytest.mark.parametrize("options", ["num_cores=0,net=udp", "net=udp", "num_cores=0"])
    def test_udp(self, options: str) -> None:
        node = network_client().with_text("etc/fstab", "num_cores=2,net=ib0", options)
        assert change_of(WEKA_NETWORK_MODE, node).wanted == "DPDK"

    def test_another_line_of_fstab_is_not_taken_for_the_mount(self) -> None:
        node = network_client().with_text("etc/fstab", "/weka wekafs", "/other wekafs")
        assert not_readable(WEKA_NETWORK_MODE, node)

    def test_what_a_write_waits_for(self) -> None:
        (judgement,) = judged(WEKA_CACHE_MODE, network_client().with_text(MOUNTINFO, "writecache", "readcache"))
        assert isinstance(judgement, NotJudged)
        assert "crash of the client loses" in judgement.why

    def test_little_read_ahead(self) -> None:
        node = network_client().with_text(MOUNTINFO, "readahead_kb=32768", "readahead_kb=128")
        assert change_of(WEKA_READ_AHEAD, node).value == "128 KiB"


class TestDaos:
    def test_dfuse_names_what_passes_the_kernel_by(self) -> None:
        for node in (network_client(), network_client().with_target("/dfuse/a")):
            (judgement,) = judged(DAOS_INTERCEPTION, node)
            assert isinstance(judgement, NotJudged)
            assert (judgement.subject, "LD_PRELOAD" in judgement.why) == ("/dfuse", True)

    def test_a_node_without_dfuse_or_a_target_elsewhere(self) -> None:
        assert "no DFuse" in not_applicable(DAOS_INTERCEPTION, ext4_host())
        assert "no DFuse" in not_applicable(DAOS_INTERCEPTION, network_client().with_target("/cephfs"))

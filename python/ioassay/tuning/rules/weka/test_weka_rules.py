from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import change, fine, judged, not_applicable, not_readable
from ioassay.testing.storage_nodes import MOUNTINFO, ext4_host, network_client
from ioassay.tuning.rule import NotJudged, Rule
from ioassay.tuning.rules.weka import RULES, cache_mode, network_mode, read_ahead


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_well_set_client_is_fine(rule: Rule) -> None:
    assert fine(rule, network_client())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_weka(rule: Rule) -> None:
    assert "WEKA" in not_applicable(rule, ext4_host())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_options_that_are_not_listed(rule: Rule) -> None:
    node = network_client().with_text(MOUNTINFO, "writecache,inode_bits=auto,readahead_kb=32768", "inode_bits=auto")
    assert not_readable(rule, node.with_files({"etc/fstab": None}))


@pytest.mark.parametrize("options", ["num_cores=0,net=udp", "net=udp", "num_cores=0"])
def test_udp(options: str) -> None:
    node = network_client().with_text("etc/fstab", "num_cores=2,net=ib0", options)
    assert change(network_mode.RULE, node).wanted == "DPDK"


def test_another_line_of_fstab_is_not_taken_for_the_mount() -> None:
    node = network_client().with_text("etc/fstab", "/weka wekafs", "/other wekafs")
    assert not_readable(network_mode.RULE, node)


def test_what_a_write_waits_for() -> None:
    (found,) = judged(cache_mode.RULE, network_client().with_text(MOUNTINFO, "writecache", "readcache"))
    assert isinstance(found, NotJudged)
    assert "crash of the client loses" in found.why


def test_little_read_ahead() -> None:
    node = network_client().with_text(MOUNTINFO, "readahead_kb=32768", "readahead_kb=128")
    assert change(read_ahead.RULE, node).value == "128 KiB"

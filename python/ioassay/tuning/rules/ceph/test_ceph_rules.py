from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import change, fine, judged, not_applicable, not_readable
from ioassay.testing.storage_nodes import MOUNTINFO, Node, ext4_host, network_client
from ioassay.tuning.rule import NotJudged, Rule
from ioassay.tuning.rules.ceph import RULES, messenger, rbd_queue_depth, read_ahead, transfer_size

_CONFIG = "sys/bus/rbd/devices/0/config_info"


def _mounted(options: str) -> Node:
    return network_client().with_text(MOUNTINFO, "ms_mode=crc", options)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_well_set_client_is_fine(rule: Rule) -> None:
    assert fine(rule, network_client())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_ceph(rule: Rule) -> None:
    assert "here" in not_applicable(rule, ext4_host())


@pytest.mark.parametrize(("option", "subject"), [("wsize=65536", "writes"), ("rsize=65536", "reads")])
def test_small_requests_of_cephfs(option: str, subject: str) -> None:
    found = change(transfer_size.RULE, _mounted(option))
    assert (found.subject, found.value, found.wanted) == (f"/cephfs {subject}", "64 KiB", "at least 4 MiB")


def test_a_size_that_is_none() -> None:
    assert not_readable(transfer_size.RULE, _mounted("wsize=4M"))
    assert not_readable(read_ahead.RULE, _mounted("rasize=-1"))


def test_little_read_ahead() -> None:
    assert change(read_ahead.RULE, _mounted("rasize=131072")).wanted == "8 MiB"
    assert fine(read_ahead.RULE, _mounted("rasize=33554432")) == ["32 MiB"]


def test_no_checksums_and_encryption() -> None:
    assert change(messenger.RULE, _mounted("nocrc")).wanted == "crc"
    assert isinstance(judged(messenger.RULE, _mounted("ms_mode=secure"))[0], NotJudged)


def test_a_short_queue_of_an_image() -> None:
    node = network_client().with_text(_CONFIG, "queue_depth=256", "queue_depth=16")
    assert (change(rbd_queue_depth.RULE, node).subject, change(rbd_queue_depth.RULE, node).value) == (
        "rbd0",
        "16 requests",
    )


def test_an_image_below_the_target_and_elsewhere() -> None:
    assert fine(rbd_queue_depth.RULE, network_client().at("/dev/rbd0"))
    assert not_applicable(rbd_queue_depth.RULE, network_client().at("/cephfs"))


def test_options_of_an_image_that_are_not_known() -> None:
    default = network_client().with_text(_CONFIG, ",queue_depth=256", "")
    assert fine(rbd_queue_depth.RULE, default) == ["128 requests"]
    gone = network_client().with_files({_CONFIG: None, "sys/bus/rbd/devices/0/pool": "rbd"})
    assert not_readable(rbd_queue_depth.RULE, gone)
    assert not_readable(rbd_queue_depth.RULE, network_client().with_unreadable(_CONFIG))

from __future__ import annotations

import re
from typing import get_args

import pytest

from ioassay.testing.snapshots import snapshot
from ioassay.testing.storage_nodes import Node, ext4_host, gpfs_client, nfs_client, nfs_server
from ioassay.tuning.rule import Area, Change, Rule
from ioassay.tuning.rules import RULES
from ioassay.tuning.system import Array, System

NODES = (nfs_client(), nfs_server(), gpfs_client(), ext4_host())
_SETTING = re.compile(r"(block|sysctl|sys|mount|module|lctl):\S+")


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_says_what_it_goes_by(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert rule.area in get_args(Area)
    assert rule.sources
    assert rule.parameters
    assert rule.reason.endswith((".", "!"))
    assert rule.risk.endswith(".")
    assert not rule.title.endswith(".")
    assert all(source.url.startswith("http") or not source.url for source in rule.sources)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_judges_an_empty_node(rule: Rule) -> None:
    assert rule.judgements(System(snapshot({})))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("node", NODES, ids=lambda node: node.host)
def test_assignments_name_settings(rule: Rule, node: Node) -> None:
    for array in (None, Array(8, 128 << 10, 2)):
        for one in rule.judgements(System(node.snapshot(), array)):
            if isinstance(one, Change):
                assert one.value != one.wanted
                assert one.assignments or one.command
                assert all(_SETTING.fullmatch(each.setting) for each in one.assignments)

from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import assignments, change, changes, fine, judged, not_applicable, not_readable
from ioassay.testing.storage_nodes import Node, ext4_host, network_client
from ioassay.tuning.rule import Fine, NotJudged, Rule
from ioassay.tuning.rules.fabrics import RULES, connection_state, path_policy, queue_count, queue_size

_CONTROLLER = "sys/devices/virtual/nvme-fabrics/ctl/nvme0"
_POLICY = "sys/class/nvme-subsystem/nvme-subsys0/iopolicy"


def _with(**attributes: object) -> Node:
    return network_client().with_files({f"{_CONTROLLER}/{name}": value for name, value in attributes.items()})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_well_set_connections_are_fine(rule: Rule) -> None:
    assert len(fine(rule, network_client())) == (1 if rule is path_policy.RULE else 2)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_fabrics(rule: Rule) -> None:
    assert "NVMe over fabrics" in not_applicable(rule, ext4_host())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_only_connections_below_the_target_are_judged(rule: Rule) -> None:
    assert fine(rule, network_client().at("/dev/nvme0n1"))
    assert not_applicable(rule, network_client().at("/cephfs"))


@pytest.mark.parametrize(
    ("rule", "attribute"),
    [(connection_state.RULE, "state"), (queue_count.RULE, "queue_count"), (queue_size.RULE, "sqsize")],
)
def test_attributes_that_cannot_be_read(rule: Rule, attribute: str) -> None:
    assert not_readable(rule, network_client().with_unreadable(f"{_CONTROLLER}/{attribute}"))
    assert not_readable(rule, _with(**{attribute: None}))


def test_a_connection_that_is_down() -> None:
    found = change(connection_state.RULE, _with(state="connecting"))
    assert (found.subject, found.value) == ("nvme0 (tcp)", "connecting")


def test_the_default_policy_uses_one_path() -> None:
    found = change(path_policy.RULE, network_client().with_files({_POLICY: "numa"}))
    assert assignments(found) == {"sys:class/nvme-subsystem/nvme-subsys0/iopolicy": "round-robin"}
    assert fine(path_policy.RULE, network_client().with_files({_POLICY: "queue-depth"}))
    assert not_readable(path_policy.RULE, network_client().with_files({_POLICY: None, f"{_POLICY}x": ""}))


def test_a_single_path_has_no_policy() -> None:
    node = network_client()
    links = {name: to for name, to in node.links.items() if not name.endswith("nvme-subsys0/nvme1")}
    assert "one path" in not_applicable(path_policy.RULE, Node(node.host, node.files, links))


@pytest.mark.parametrize(("count", "kind"), [(17, Fine), (9, NotJudged)])
def test_fewer_queues_than_processors_may_be_all_that_the_target_grants(count: int, kind: type) -> None:
    assert isinstance(judged(queue_count.RULE, _with(queue_count=count))[0], kind)


def test_one_queue_for_all_processors() -> None:
    assert change(queue_count.RULE, _with(queue_count=2)).wanted == "16 queues"


def test_a_short_queue() -> None:
    assert [one.value for one in changes(queue_size.RULE, _with(sqsize=31))] == ["32 commands"]

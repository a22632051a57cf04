from __future__ import annotations

from ioassay.testing.rule_judgements import judged, not_applicable
from ioassay.testing.storage_nodes import ext4_host, network_client
from ioassay.tuning.rule import NotJudged
from ioassay.tuning.rules.daos import interception


def test_dfuse_names_what_passes_the_kernel_by() -> None:
    for node in (network_client(), network_client().at("/dfuse/a")):
        (found,) = judged(interception.RULE, node)
        assert isinstance(found, NotJudged)
        assert (found.subject, "LD_PRELOAD" in found.why) == ("/dfuse", True)


def test_a_node_without_dfuse_or_a_target_elsewhere() -> None:
    assert "no DFuse" in not_applicable(interception.RULE, ext4_host())
    assert "no DFuse" in not_applicable(interception.RULE, network_client().at("/cephfs"))

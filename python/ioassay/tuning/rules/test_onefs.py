from __future__ import annotations

import pytest

from ioassay.testing.storage_nodes import nfs_client
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable, Rule
from ioassay.tuning.rules.onefs import ONEFS_ASYNC_COMMIT, ONEFS_COALESCER, RULES, SETTINGS
from ioassay.tuning.system import System

WANTED = {
    "efs.bam.ec.mode": "0",
    "efs.bam.coalescer.multiwriter": "0",
    "coalescer": "coal_only",
    "commit-async": "1",
    "setattr-async": "1",
}


def _system(**settings: str) -> System:
    return System(nfs_client().snapshot(), storage="onefs", storage_settings=settings)


def test_the_settings_that_the_user_may_give_are_those_that_rules_ask_for() -> None:
    assert set(SETTINGS) == set(WANTED)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_mount_does_not_tell_that_it_is_onefs(rule: Rule) -> None:
    [judgement] = rule.judgements(System(nfs_client().snapshot()))
    assert isinstance(judgement, NotApplicable)
    assert "--storage onefs" in judgement.why


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_client_cannot_read_the_cluster(rule: Rule) -> None:
    judgements = rule.judgements(_system())
    assert all(
        isinstance(judgement, NotReadable) and "only the cluster shows it: isi" in judgement.reason
        for judgement in judgements
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_values_that_the_user_read(rule: Rule) -> None:
    assert all(isinstance(judgement, Fine) for judgement in rule.judgements(_system(**WANTED)))
    judgements = rule.judgements(_system(**dict.fromkeys(WANTED, "other")))
    assert all(
        isinstance(judgement, Change) and judgement.command.startswith("isi") and not judgement.assignments
        for judgement in judgements
    )


def test_the_commands_of_the_study() -> None:
    system = _system(**dict.fromkeys(WANTED, "other"))
    commands = {
        judgement.command for rule in RULES for judgement in rule.judgements(system) if isinstance(judgement, Change)
    }
    assert commands == {
        "isi_sysctl_cluster efs.bam.ec.mode=0",
        "isi nfs settings export modify --setattr-async=1 --commit-async=1",
        "isi_sysctl_cluster efs.bam.coalescer.multiwriter=0",
        "isi set -c coal_only /ifs/scratch",
    }


def test_asynchronous_commits_lose_data() -> None:
    assert "lost when a node fails" in ONEFS_ASYNC_COMMIT.risk
    assert "lost when the node" in ONEFS_COALESCER.risk

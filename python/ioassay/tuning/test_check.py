from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ioassay.errors import UsageError
from ioassay.testing import io_path_nodes, tuned_systems
from ioassay.testing.snapshots import snapshot
from ioassay.testing.storage_nodes import nfs_client
from ioassay.tuning.check import CheckRequest, examine
from ioassay.tuning.conflicts import profile_of, with_owners
from ioassay.tuning.rule import Assignment, Change, Fine


def _asked(*settings: str, storage: str | None = "onefs") -> CheckRequest:
    return CheckRequest.of(
        transfer=None, raid=None, storage=storage, rules=["onefs-endurant-cache"], storage_settings=settings
    )


@pytest.mark.parametrize(("value", "kind"), [("0", Fine), ("1", Change)])
def test_a_setting_of_the_storage_that_the_user_read_is_judged(value: str, kind: type) -> None:
    (finding,) = examine([nfs_client().snapshot()], _asked(f" efs.bam.ec.mode = {value} ")).findings
    assert [type(judgement) for judgement in finding.judgements] == [kind]


@pytest.mark.parametrize(
    ("settings", "storage", "message"),
    [
        (["efs.bam.ec.mode"], "onefs", "--storage-setting efs.bam.ec.mode: not NAME=VALUE."),
        (["=1"], "onefs", "--storage-setting =1: not NAME=VALUE."),
        (["efs.bam.ec.mode="], "onefs", "--storage-setting efs.bam.ec.mode=: not NAME=VALUE."),
        (["efs.bam.ec.mod=1"], "onefs", "--storage-setting efs.bam.ec.mod=1: no rule knows `efs.bam.ec.mod`."),
        (["coalescer=a", "coalescer=b"], "onefs", "--storage-setting coalescer is given twice."),
        (["coalescer=a"], None, "--storage-setting needs --storage."),
    ],
)
def test_other_settings_of_the_storage_are_refused(settings: list[str], storage: str | None, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        _asked(*settings, storage=storage)
    assert raised.value.message == message
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ({"rules": ["max_sectors_kb"]}, "There is no rule `max_sectors_kb`.", "did you mean `max-sectors-kb`?"),
        ({"rules": ["qqq"]}, "There is no rule `qqq`.", "docs/reference/tuning-rules.md lists them."),
        ({"transfer": "0"}, "--transfer 0: nothing is transferred.", "Write for example --transfer 1MiB."),
        ({"storage": "onfs"}, "--storage onfs: no rule knows this storage.", "Use onefs, or leave the option out."),
    ],
)
def test_options_without_meaning_for_a_check_are_refused(options: dict[str, Any], message: str, remedy: str) -> None:
    known: dict[str, Any] = {"transfer": None, "raid": None, "storage": None, "rules": []}
    with pytest.raises(UsageError) as raised:
        CheckRequest.of(**known | options)
    assert (raised.value.message, raised.value.remedy) == (message, remedy)


def test_rules_about_what_splits_requests_have_the_evidence() -> None:
    request = CheckRequest.of(transfer="1MiB", raid="segment=128k,data=8,parity=2", storage=None, rules=[])
    evidence = {
        finding.rule.name: finding.evidence for finding in examine([tuned_systems.md3460_oss()], request).findings
    }
    path = "the I/O path to dm-0, dm-1, … dm-5 (6 alike) on oss1"
    assert evidence["max-sectors-kb"] == [f"max_sectors_kb 512 splits requests on {path}."]
    assert evidence["max-sgl-entries"] == [f"sg_tablesize 128 × 4 KiB splits requests on {path}."]
    assert evidence["raid-segment-size"] == [
        f"Writes on {path} cover parts of stripes, so the RAID reads before it writes."
    ]
    assert not evidence["vfs-cache-pressure"]
    assert not evidence["nr-requests"]
    tuned = examine([tuned_systems.md3460_oss_tuned()], request).findings
    assert not [finding for finding in tuned if finding.evidence]


def test_evidence_is_of_the_host_whose_limit_it_is() -> None:
    request = CheckRequest.of(transfer="1MiB", raid=None, storage=None, rules=["max-sectors-kb"])
    snapshots = [io_path_nodes.lustre_client_snapshot(), io_path_nodes.oss_snapshot()]
    client, server = examine(snapshots, request).findings
    assert (client.host, server.host) == ("client1", "oss1")
    assert not client.evidence
    assert server.evidence


_TUNED = {
    "etc/tuned/active_profile": "throughput-performance\n",
    "usr/lib/tuned/throughput-performance/tuned.conf": "[main]\nsummary=x\n\n[sysctl]\nvm.swappiness=60\n\n"
    "[disk]\nreadahead=>512\n",
}
"""In the form of TuneD 2.20."""


def _recommended(rule: str, files: Mapping[str, str]) -> list[Change]:
    captured = tuned_systems.md3460_oss()
    known = replace(captured, files={**captured.files, **{path: text.encode() for path, text in files.items()}})
    request = CheckRequest.of(transfer=None, raid=None, storage=None, rules=[rule])
    return [change for _, change in examine([known], request).of_kind(Change)]


def test_a_recommendation_that_the_profile_of_tuned_undoes_says_where_to_change_it() -> None:
    scheduler = _TUNED["usr/lib/tuned/throughput-performance/tuned.conf"].replace("readahead=>512", "elevator=none")
    files = {**_TUNED, "usr/lib/tuned/throughput-performance/tuned.conf": scheduler}
    recommended = _recommended("scheduler", files)
    assert recommended
    assert all(
        "profile throughput-performance (/usr/lib/tuned/throughput-performance/tuned.conf:8)" in change.because
        for change in recommended
    )
    assert all(
        "sets it to none: change it there, or in a profile of your own" in change.because for change in recommended
    )


def test_a_recommendation_that_the_profile_leaves_alone_does_not_name_it() -> None:
    recommended = _recommended("read-ahead-kb", _TUNED)
    assert recommended
    assert not [change for change in recommended if "TuneD" in change.because]
    assert not [change for change in _recommended("scheduler", _TUNED) if "TuneD" in change.because]


@pytest.mark.parametrize(
    ("value", "is_undone"), [("10", False), ("0xa", False), ("60", True), ("${f:exec:echo}", True)]
)
def test_the_profile_undoes_a_recommendation_where_its_value_means_another(value: str, is_undone: bool) -> None:
    files = {**_TUNED, "usr/lib/tuned/throughput-performance/tuned.conf": f"[sysctl]\nvm.swappiness={value}\n"}
    change = Change("oss1", "60", "10", assignments=(Assignment("sysctl:vm.swappiness", "10"),))
    (owned,) = with_owners([change], profile_of(snapshot(files)))
    assert isinstance(owned, Change)
    assert ("TuneD's profile" in owned.because) == is_undone
    assert ("(TuneD computes the value)" in owned.because) == value.startswith("$")

"""What MLPerf Storage would say of a plan, before it is run."""

from __future__ import annotations

import pytest

from ioassay.protocol.plan import Plan
from ioassay.store.document import CaseEntry
from ioassay.studies.cases import expand
from ioassay.studies.library import find_study
from ioassay.studies.mlperf_checkpoints import of_case, of_checkpoints
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target


def planned(study: str, scale: str | None = None, *settings: str) -> tuple[CaseEntry, Plan]:
    """The first case of a built-in study."""
    resolved = resolve(find_study(study), scale, list(settings))
    first, *_ = expand(resolved, "check", Target("directory", "/"), "local")
    return first.entry, first.plan


@pytest.mark.parametrize("study", ["llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t"])
def test_the_full_scale_of_each_model_keeps_the_rules_and_is_no_result_all_the_same(study: str) -> None:
    (judgement,) = of_case(*planned(study))
    assert (judgement.model, judgement.verdict, judgement.issues) == (study, "closed", [])
    assert judgement.text.endswith(" would be closed. No result of ioassay is one of MLPerf Storage.")


@pytest.mark.parametrize(
    ("setting", "verdict", "reason"),
    [
        ("accelerators=16", "open", "16 ranks, not the 8 of the closed division"),
        ("accelerators=4", "open", "clients have 4 ranks, not 5 or more"),
        ("tensor=2", "open", "tensor 2 × pipeline 1, ZeRO 3 is not tensor 1 × pipeline 1, ZeRO 3"),
        ("fsync=no", "invalid", "files are not forced to stable storage"),
        ("restores=9", "invalid", "9 checkpoints are read, not 10"),
        ("checkpoints=11", "invalid", "11 checkpoints are written, not 10"),
        ("accelerators=1", "invalid", "accelerators of 80 GB each cannot hold 105 GiB"),
    ],
)
def test_what_a_setting_makes_of_it_is_said_with_the_reason(setting: str, verdict: str, reason: str) -> None:
    (judgement,) = of_case(*planned("llama3-8b", None, setting))
    assert judgement.verdict == verdict
    assert reason in judgement.text


def test_a_restore_without_cold_caches_is_invalid() -> None:
    case, plan = planned("llama3-8b")
    del plan["steps"][1]
    (judgement,) = of_case(case, plan)
    assert [issue.verdict for issue in judgement.issues] == ["invalid"]
    assert "no step empties caches" in judgement.text


def test_another_model_is_not_judged() -> None:
    case, plan = planned("llama3-8b", "laptop")
    assert of_checkpoints([case], {case.id: plan}) == []

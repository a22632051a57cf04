"""What the engine says that plans amount to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ioassay.plans.sizes import amounts
from ioassay.testing.front_end_run import MIB, ior_plan


def plan(case: str, ranks: int) -> Any:
    return ior_plan(case, Path("/scratch/test"), ranks=ranks)


def test_plans_keep_their_order_and_repetitions_are_alike() -> None:
    plans = {"a": plan("a.r1", 2), "b": plan("b.r1", 3), "a again": plan("a.r2", 2) | {"seed": 3}}
    answers = amounts(plans)
    assert [(name, of["written_bytes"]) for name, of in answers.items() if of["event"] == "amounts"] == [
        ("a", 4 * MIB),
        ("b", 6 * MIB),
        ("a again", 4 * MIB),
    ]


def test_a_refused_plan_has_its_key_and_no_target_is_checked() -> None:
    wrong = plan("a", 2)
    wrong["files"]["test"]["segments"] = 0
    answers = amounts({"wrong": wrong, "right": plan("b", 2)})
    refused = answers["wrong"].get("refused") if answers["wrong"]["event"] == "error" else None
    assert refused is not None
    assert refused["key"] == "files.test.segments"
    assert answers["right"]["event"] == "amounts"
    assert amounts({}) == {}

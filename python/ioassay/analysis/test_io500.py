"""The score of the IO500."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.io500 import STANDARD, Score, scores
from ioassay.protocol.facts import IO500_STONEWALL_NS
from ioassay.store.loaded import LoadedRun
from ioassay.store.origin import FrontEndOrigin, StudyOrigin
from ioassay.studies.cases import expand
from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.testing.builder import RunBuilder

GIB = 1 << 30
CASE = "io500.c001.r1"

AGREED = json.loads((Path(__file__).parents[3] / "crates/frontends/tests/io500-scores.json").read_text())
"""Scores that `crates/frontends/src/io500/rules.rs` must give, too; the official program computed the first."""

PUBLISHED: dict[str, float] = AGREED[0]["phases"]
PHASES = [*PUBLISHED]


def rows(rates: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """A valid measurement of each phase with these scores."""
    measured = {}
    for index, rule in enumerate(STANDARD):
        rate = rates[rule.phase]
        amount = 47_008 * 40_000 if rule.group == "bandwidth" else 8_000
        measured[rule.phase] = {
            "case": CASE,
            "phase": rule.phase,
            "job": rule.phase,
            "operation": rule.operation,
            "layout": rule.layout or "N-N",
            "transfer_bytes": rule.moves,
            "ranks": 4,
            "started_unix_ns": 10**18 + index * 10**12,
            "complete": True,
            "valid": True,
            "bytes": amount,
            "operations": 2 * 8_000 + 4 + 1 if rule.phase == "find" else amount,
            "files": {"ior-easy-write": 4, "ior-hard-write": 1}.get(rule.phase, 0),
            "duration_ns": IO500_STONEWALL_NS + 10**9,
            "stonewall_ns": IO500_STONEWALL_NS + 10**6 if rule.walled else None,
            "stonewall_most_operations": 1000 if rule.walled else None,
            "rate_bytes_per_s": rate * GIB,
            "rate_operations_per_s": rate * 1000,
            "matched": 12 if rule.phase == "find" else None,
        }
    return measured


def of_the_extended_list(standard: dict[str, dict[str, Any]], rates: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Phases of the extended list with these scores; walks visit twice as many entries in a second as files."""
    measured = {}
    for name, before in {"find-easy": "ior-hard-write", "find-hard": "ior-easy-read"}.items():
        started_unix_ns = standard[before]["started_unix_ns"] - 10**6
        walk = {"phase": name, "job": name, "started_unix_ns": started_unix_ns, "operations": 16_000}
        measured[name] = standard["find"] | walk | {"rate_operations_per_s": 2 * rates[name] * 1000}
    replace_row = standard["mdtest-easy-write"] | {"stonewall_ns": None, "stonewall_most_operations": None}
    replace_row |= {"transfer_bytes": 3901, "phase": "mdworkbench-bench", "job": "mdworkbench-bench"}
    replace_row |= {"started_unix_ns": standard["ior-easy-read"]["started_unix_ns"] - 10**5}
    each = rates["mdworkbench-bench"] * 1000 / 4
    for operation in ("stat", "read", "remove", "create"):
        measured[f"replace {operation}"] = replace_row | {"operation": operation, "rate_operations_per_s": each}
    return measured


@cache
def unmeasured() -> LoadedRun:
    """The built-in study before its first phase."""
    resolved = resolve(find_study("io500"), None, [])
    cases = [case.entry for case in expand(resolved, "r", Target("directory", "/t"), "local")]
    empty = RunBuilder().build()
    return replace(empty, document=empty.document.model_copy(update={"study": resolved.entry, "cases": cases}))


def run(measured: dict[str, dict[str, Any]], *doubts: dict[str, Any], scale: str | None = None) -> LoadedRun:
    """The built-in study with these measurements; with a scale, as if a front end had run it."""
    empty = unmeasured()
    study = empty.document.study.model_copy(update={"scale": scale})
    origin = FrontEndOrigin(tool="io500") if scale else StudyOrigin()
    document = empty.document.model_copy(update={"study": study, "origin": origin})
    filled = [dict.fromkeys(empty.measurements.columns) | row for row in measured.values()]
    return replace(
        empty,
        document=document,
        measurements=pl.DataFrame(filled, schema=empty.measurements.schema),
        doubts=pl.DataFrame(list(doubts), schema=empty.doubts.schema),
    )


def score(measured: dict[str, dict[str, Any]], *doubts: dict[str, Any], scale: str | None = None) -> Score:
    (only,) = scores(run(measured, *doubts, scale=scale))
    return only


def reasons(case_score: Score) -> dict[str, tuple[str, ...]]:
    """Reasons of the phases that have any."""
    return {phase.rule.phase: phase.reasons for phase in case_score.phases if phase.reasons}


def doubt(phase: str, kind: str, *, invalidates: bool) -> dict[str, Any]:
    operation = next(rule.operation for rule in STANDARD if rule.phase == phase)
    row = {"case": CASE, "phase": phase, "job": phase, "operation": operation, "kind": kind}
    return row | {"invalidates": invalidates, "message": f"{kind} phase", "remedy": "", "evidence": "{}"}


@pytest.mark.parametrize("agreed", AGREED, ids=[agreed["about"] for agreed in AGREED])
def test_scores_are_those_that_the_front_end_computes(agreed: dict[str, Any]) -> None:
    phases = agreed["phases"]
    measured = rows(phases)
    if "find-easy" in phases:
        measured |= of_the_extended_list(measured, phases)
    for row in measured.values():
        row["valid"] = phases[row["phase"]] > 0
    (list_score,) = (
        case_score for case_score in scores(run(measured)) if (case_score.list == "extended") == agreed["extended"]
    )
    assert list_score.is_valid == (agreed["total"] > 0)
    assert [list_score.bandwidth, list_score.metadata, list_score.total] == pytest.approx(
        [agreed["bandwidth"], agreed["metadata"], agreed["total"]], abs=1e-6
    )


RATES = st.fixed_dictionaries(dict.fromkeys(PHASES, st.floats(1e-6, 1e6)))


@given(RATES, st.sampled_from(PHASES), st.floats(0, 1), st.sampled_from(["worse", "missing", "invalid", "no rate"]))
def test_a_phase_that_is_worse_or_failed_never_raises_the_score(
    rates: dict[str, float], phase: str, share: float, how: str
) -> None:
    well, ill = score(rows(rates)), rows(rates)
    match how:
        case "worse":
            ill[phase] |= {name: ill[phase][name] * share for name in ("rate_bytes_per_s", "rate_operations_per_s")}
        case "missing":
            del ill[phase]
        case "invalid":
            ill[phase] |= {"valid": False}
        case _:
            ill[phase] |= {"rate_bytes_per_s": None, "rate_operations_per_s": None}
    worse = score(ill)
    assert well.is_valid
    # The mean of the same numbers in another place may differ in its last digit.
    assert worse.bandwidth <= well.bandwidth * (1 + 1e-12)
    assert worse.metadata <= well.metadata * (1 + 1e-12)
    assert worse.total <= well.total * (1 + 1e-12)
    if how != "worse":
        assert (worse.total, worse.is_valid) == (0, False)


def changed(phase: str, **values: Any) -> dict[str, dict[str, Any]]:
    measured = rows(PUBLISHED)
    measured[phase] |= values
    return measured


@pytest.mark.parametrize(
    ("phase", "values", "reason"),
    [
        ("ior-easy-write", {"stonewall_ns": 10**9}, "its stonewall came at 1 s, but the rules require 300 s"),
        (
            "ior-hard-write",
            {"stonewall_ns": None, "duration_ns": 120 * 10**9},
            "it took 120 s, because its work was done, but the rules require at least 300 s",
        ),
        (
            "mdtest-easy-write",
            {"stonewall_most_operations": 2001},
            "after the stonewall, not every rank did as much as the fastest (wear-out)",
        ),
        ("ior-hard-write", {"layout": "N-N"}, "the layout is N-N, but the rules require N-1"),
        ("mdtest-hard-read", {"transfer_bytes": 4096}, "an operation moves 4 KiB, but the rules require 3901 B"),
        ("find", {"matched": 0}, "it found nothing"),
        ("find", {"operations": 16_004}, "it visited 16004 entries, but there were 16005 files"),
        (
            "mdtest-easy-stat",
            {"operations": 10},
            "it did 10 items of what mdtest-easy-write created, 8000 items",
        ),
        ("find", {"rate_operations_per_s": 0.0}, "it did no countable operation"),
    ],
)
def test_a_phase_that_breaks_a_rule_states_the_rule(phase: str, values: dict[str, Any], reason: str) -> None:
    broken = score(changed(phase, **values))
    assert reasons(broken) == {phase: (reason,)}
    assert not broken.is_valid


def test_find_counts_files_and_not_visited_directories() -> None:
    visited = score(changed("find", operations=2 * 16_005))
    (find,) = (phase for phase in visited.phases if phase.rule.phase == "find")
    assert find.score == pytest.approx(PUBLISHED["find"] / 2)
    assert find.reasons == ()


def test_a_write_that_ends_early_is_long_enough_with_its_fsync() -> None:
    assert score(changed("ior-easy-write", stonewall_ns=None, stonewall_most_operations=None)).is_valid


def test_failed_and_missing_phases_state_their_reasons() -> None:
    measured = changed("ior-easy-read", valid=False)
    del measured["mdtest-hard-delete"]
    failed = score(measured, doubt("ior-easy-read", "failed", invalidates=True))
    assert reasons(failed) == {"ior-easy-read": ("failed phase",), "mdtest-hard-delete": ("it was not measured",)}
    assert (failed.bandwidth, failed.metadata, failed.total) == (0, 0, 0)


def test_writes_without_fsync_are_invalid_and_other_doubts_are_not() -> None:
    written = doubt("ior-easy-write", "unsynced-write", invalidates=False)
    assert [*reasons(score(rows(PUBLISHED), written))] == ["ior-easy-write"]
    assert score(rows(PUBLISHED), doubt("ior-easy-write", "short-phase", invalidates=False)).is_valid


def test_divided_amounts_and_another_order_of_phases_make_the_whole_invalid() -> None:
    assert score(rows(PUBLISHED), scale="1/10").reasons == ("its amounts were divided, scale 1/10",)
    late = changed("find", started_unix_ns=10**19 - 10**18)
    assert score(late).reasons == ("its phases did not run in the order that the rules require",)


def extended(**replaced: Any) -> LoadedRun:
    """A run with the phases of both lists."""
    measured = rows(PUBLISHED)
    walks = {"find-easy": 2000, "find-hard": 2000, "mdworkbench-bench": 1000}
    measured |= of_the_extended_list(measured, walks)
    measured["replace stat"] |= replaced
    return run(measured)


def test_the_extended_score_counts_files_of_walks_and_four_operations_of_a_replacement() -> None:
    standard, extended_score = scores(extended())
    assert (standard.list, extended_score.list) == ("standard", "extended")
    assert standard.total == pytest.approx(22.076675, abs=1e-6)
    assert reasons(extended_score) == {}
    by_phase = {phase.rule.phase: phase.score for phase in extended_score.phases}
    assert by_phase["mdworkbench-bench"] == pytest.approx(1000)
    assert [by_phase["find-easy"], by_phase["find-hard"]] == pytest.approx([2000, 2000])
    metadata = [PUBLISHED[phase] for phase in PUBLISHED if not phase.startswith("ior")] + [1000, 2000, 2000]
    assert extended_score.metadata == pytest.approx(math.prod(metadata) ** (1 / len(metadata)))
    assert extended_score.bandwidth == standard.bandwidth


@pytest.mark.parametrize("replaced", [{"valid": False}, {"job": "elsewhere"}])
def test_a_replacement_with_a_failed_or_missing_part_has_no_score(replaced: dict[str, Any]) -> None:
    standard, extended_score = scores(extended(**replaced))
    assert standard.is_valid
    assert (extended_score.total, extended_score.is_valid) == (0, False)
    assert [*reasons(extended_score)] == ["mdworkbench-bench"]


def test_runs_that_ask_for_no_score_have_none() -> None:
    assert scores(RunBuilder().workload("w").build()) == []

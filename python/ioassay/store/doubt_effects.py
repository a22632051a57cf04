"""What each kind of doubt does to a number, said once for every kind: those of the engine, of importers, of ceilings.

Not: how much a doubt weighs in a run, which depends on what it concerns there (`ioassay.analysis.doubts`); words
(`ioassay.reports.doubt_words`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Effect = Literal["conclusion", "condition", "detail"]
"""`conclusion`: the number may not be what it seems, such as the rate of memory, of one slow rank, of a second too
short. `condition`: how the run was set up; many numbers share it, and none can be read without it. `detail`: it
affects the number a little, or only a time line.
"""

EFFECTS: Mapping[str, Effect] = {
    "cache-resident": "conclusion",
    "cache-unknown": "conclusion",
    "device-moved-less": "conclusion",
    "repeated-passes": "conclusion",
    "attributes-cached": "conclusion",
    "memory-backed": "condition",
    "unsynced-write": "conclusion",
    "unsynced-create": "conclusion",
    "short-phase": "conclusion",
    "start-spread": "detail",
    "finish-spread": "conclusion",
    "imbalance": "conclusion",
    "disturbed": "conclusion",
    "oversubscribed": "condition",
    "shared-node": "condition",
    "shared-machine": "condition",
    "coarse-clock": "detail",
    "clock-drift": "detail",
    "clock-uncertain": "detail",
    "late-samples": "detail",
    "missing-bytes": "conclusion",
    "nothing-done": "conclusion",
    "stalled": "conclusion",
    "suspended": "conclusion",
    "short-transfers": "detail",
    "retried": "conclusion",
    "unverified-server": "condition",
    "unwritten": "conclusion",
    "reducible-payload": "conclusion",
    "payload-bound": "conclusion",
    "rate-not-kept": "conclusion",
    "paced": "condition",
    "verification-timed": "conclusion",
    "positions-unverified": "condition",
    "failed": "conclusion",
    # What other tools printed.
    "best-of-several": "conclusion",
    "counted-by-sender": "conclusion",
    "counters-reset": "detail",
    "datagrams-lost": "conclusion",
    "declared-invalid": "conclusion",
    "does-not-add-up": "conclusion",
    "errors-ignored": "conclusion",
    "hidden-short-write": "conclusion",
    "interrupted": "detail",
    "job-failed": "conclusion",
    "latencies-beyond-bins": "detail",
    "latencies-of-zero": "detail",
    "live-statistics": "detail",
    "may-be-cached": "conclusion",
    "mean-of-intervals": "condition",
    "mean-only": "detail",
    "nominal-size": "condition",
    "not-imported": "detail",
    "parent-sees-less": "conclusion",
    "ramp-measured": "conclusion",
    "ranks-missing": "detail",
    "score-hash": "conclusion",
    "test-failed": "conclusion",
    "time-limit-overrun": "conclusion",
    "totals-only": "conclusion",
    "unlike-jobs": "conclusion",
    "utilisation-goal-missed": "conclusion",
    "visited-more-than-created": "conclusion",
    # Rates above what the network carries.
    "above-network-ceiling": "conclusion",
    "network-ceiling-too-low": "detail",
}


VOID_IN_COMPARISON = frozenset(
    {
        "cache-resident",
        "cache-unknown",
        "device-moved-less",
        "repeated-passes",
        "attributes-cached",
        "may-be-cached",
        "unsynced-write",
        "unsynced-create",
        "unwritten",
        "payload-bound",
        "missing-bytes",
        "nothing-done",
        "suspended",
        "failed",
    }
)
"""Kinds with which a measurement cannot be one side of a comparison of settings: memory or a processor answered instead
of the storage, or the work was not done. Repeating it helps nothing, because both sides are alike in this.

Not: what makes single measurements noisy (`short-phase`, `disturbed`, `imbalance`): repeated pairs and their interval
account for that.
"""


def voids_comparison(kind: str) -> bool:
    """Whether a measurement with this doubt says nothing about settings; a kind that is not known here does."""
    return kind in VOID_IN_COMPARISON or kind not in EFFECTS


def effect(kind: str) -> Effect:
    """The effect of a kind; one that is not known here, of a run that a newer version stored, is taken seriously."""
    return EFFECTS.get(kind, "conclusion")

"""The table of all kinds of doubt, of the engine, importers, training and ceilings: what each does to a number, and the
words that stand beside the number.

Not: how much a doubt weighs in a run, which depends on what it concerns there (`ioassay.analysis.doubts`), what its
evidence adds to the words (`ioassay.reports.run.caveats`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Effect = Literal["conclusion", "condition", "detail"]
"""`conclusion`: the number may not be what it seems, such as the rate of memory, of one slow rank, of a second too
short. `condition`: how the run was set up; many numbers share it, and none can be read without it. `detail`: it
affects the number a little, or only a time line.
"""


@dataclass(frozen=True)
class DoubtKind:
    """The properties of all doubts of a kind."""

    effect: Effect
    words: str
    voids_comparison: bool = False
    """True if a measurement with it cannot be one side of a comparison of settings: memory or a processor answered
    instead of the storage, or the work was not done. Repeating it does not help, because both sides are alike in this.
    What makes single measurements noisy (`short-phase`, `disturbed`, `imbalance`) does not: repeated pairs and their
    interval account for that.
    """


DOUBT_KINDS: Mapping[str, DoubtKind] = {
    "cache-resident": DoubtKind("conclusion", "partly read from the page cache", voids_comparison=True),
    "cache-unknown": DoubtKind("conclusion", "what caches held is unknown", voids_comparison=True),
    "device-moved-less": DoubtKind("conclusion", "partly from memory: the device moved less", voids_comparison=True),
    "repeated-passes": DoubtKind("conclusion", "later passes may have read the page cache", voids_comparison=True),
    "attributes-cached": DoubtKind("conclusion", "attributes may have been cached", voids_comparison=True),
    "memory-backed": DoubtKind("condition", "the target is memory"),
    "unsynced-write": DoubtKind("conclusion", "no fsync: data may still be in memory", voids_comparison=True),
    "unsynced-create": DoubtKind("conclusion", "no sync: files may still be in memory only", voids_comparison=True),
    "short-phase": DoubtKind("conclusion", "phase too short"),
    "start-spread": DoubtKind("detail", "ranks did not start together"),
    "finish-spread": DoubtKind("conclusion", "ranks finished far apart"),
    "imbalance": DoubtKind("conclusion", "ranks did unequal work"),
    "disturbed": DoubtKind("conclusion", "disturbed by other work"),
    "oversubscribed": DoubtKind("condition", "more ranks than processors"),
    "shared-node": DoubtKind("condition", "several clients on one node"),
    "shared-machine": DoubtKind("condition", "the nodes share a machine"),
    "coarse-clock": DoubtKind("detail", "the clock is too coarse for the latencies"),
    "clock-drift": DoubtKind("detail", "the nodes' clocks drifted apart"),
    "clock-uncertain": DoubtKind("detail", "the nodes' clocks cannot be compared accurately"),
    "late-samples": DoubtKind("detail", "some operations took longer than a sample interval"),
    "missing-bytes": DoubtKind("conclusion", "moved less than planned", voids_comparison=True),
    "nothing-done": DoubtKind("conclusion", "no operation completed", voids_comparison=True),
    "stalled": DoubtKind("conclusion", "the storage stalled"),
    "suspended": DoubtKind("conclusion", "the run was suspended during the phase", voids_comparison=True),
    "short-transfers": DoubtKind("detail", "calls moved fewer bytes than requested"),
    "retried": DoubtKind("conclusion", "requests had to be repeated"),
    "unverified-server": DoubtKind("condition", "the server's certificate was not verified"),
    "unwritten": DoubtKind("conclusion", "part of what was read was never written", voids_comparison=True),
    "reducible-payload": DoubtKind("conclusion", "the data may have been compressed"),
    "payload-bound": DoubtKind("conclusion", "limited by the processor that generates the data", voids_comparison=True),
    "rate-not-kept": DoubtKind("conclusion", "the requested rate was not reached"),
    "paced": DoubtKind("condition", "at the pace that the study sets, not that of the storage"),
    "verification-timed": DoubtKind("conclusion", "includes verification time"),
    "positions-unverified": DoubtKind("condition", "moved data would have passed the verification"),
    "failed": DoubtKind("conclusion", "the phase failed", voids_comparison=True),
    # What other tools printed.
    "best-of-several": DoubtKind("conclusion", "best of several runs, not the median"),
    "counted-by-sender": DoubtKind("conclusion", "counted by the sender"),
    "counters-reset": DoubtKind("detail", "counters were reset in between"),
    "datagrams-lost": DoubtKind("conclusion", "datagrams were lost"),
    "declared-invalid": DoubtKind("conclusion", "declared invalid by its tool"),
    "does-not-add-up": DoubtKind("conclusion", "the printed numbers contradict each other"),
    "errors-ignored": DoubtKind("conclusion", "errors were ignored"),
    "hidden-short-write": DoubtKind("conclusion", "wrote for less than the rules require"),
    "interrupted": DoubtKind("detail", "the tool was interrupted"),
    "job-failed": DoubtKind("conclusion", "the job failed"),
    "latencies-beyond-bins": DoubtKind("detail", "the longest latencies are lower bounds"),
    "latencies-of-zero": DoubtKind("detail", "the tool timed no operation"),
    "live-statistics": DoubtKind("detail", "the timeline ends before the phase"),
    "may-be-cached": DoubtKind("conclusion", "may have been read from the page cache", voids_comparison=True),
    "mean-of-intervals": DoubtKind("condition", "mean between readings of counters, pauses included"),
    "mean-only": DoubtKind("detail", "only the mean was printed"),
    "nominal-size": DoubtKind("condition", "bytes by configured size, not counted"),
    "not-imported": DoubtKind("detail", "part of the work was not imported"),
    "parent-sees-less": DoubtKind("conclusion", "processes did not run concurrently"),
    "ramp-measured": DoubtKind("conclusion", "measured within the ramp"),
    "ranks-missing": DoubtKind("detail", "not all ranks are in the table"),
    "score-hash": DoubtKind("conclusion", "the score's hash does not fit its numbers"),
    "test-failed": DoubtKind("conclusion", "the test failed"),
    "time-limit-overrun": DoubtKind("conclusion", "took far longer than its time limit"),
    "totals-only": DoubtKind("conclusion", "an amount since the counters began, not a rate"),
    "unlike-jobs": DoubtKind("conclusion", "sum of jobs that differ"),
    "utilisation-goal-missed": DoubtKind("conclusion", "accelerator utilisation below the goal"),
    "visited-more-than-created": DoubtKind("conclusion", "visited more than was created"),
    # Epochs of training.
    "loader-bound": DoubtKind(
        "conclusion", "limited by the clients' processors, not the storage", voids_comparison=True
    ),
    # Rates above what the network carries.
    "above-network-ceiling": DoubtKind("conclusion", "faster than the measured network"),
    "network-ceiling-too-low": DoubtKind("detail", "faster than the measured network, whose ceiling may be too low"),
}


def effect(kind: str) -> Effect:
    """The effect of a kind; one that is not known here, of a run that a newer version stored, is taken seriously."""
    return DOUBT_KINDS[kind].effect if kind in DOUBT_KINDS else "conclusion"


def kind_words(kind: str) -> str:
    """`phase too short` for `short-phase`. A kind unknown here, of a newer version's run, appears as its name."""
    return DOUBT_KINDS[kind].words if kind in DOUBT_KINDS else kind.replace("-", " ")


def voids_comparison(kind: str) -> bool:
    """Whether a measurement with this doubt says nothing about settings; a kind that is not known here does."""
    return kind not in DOUBT_KINDS or DOUBT_KINDS[kind].voids_comparison

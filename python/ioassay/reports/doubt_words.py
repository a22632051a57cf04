"""Each kind of doubt in a few words, as they stand beside a number. Not: what its evidence adds (`run.caveats`)."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: Mapping[str, str] = {
    "cache-resident": "partly read from the page cache",
    "cache-unknown": "page-cache residency unknown",
    "device-moved-less": "partly from memory: the device moved less",
    "repeated-passes": "later passes may have read the page cache",
    "attributes-cached": "attributes may have been cached",
    "memory-backed": "the target is memory",
    "unsynced-write": "no fsync: data may still be in memory",
    "unsynced-create": "no sync: files may still be in memory only",
    "short-phase": "phase too short",
    "start-spread": "ranks did not start together",
    "finish-spread": "ranks finished far apart",
    "imbalance": "ranks did unequal work",
    "disturbed": "disturbed by other work",
    "oversubscribed": "more ranks than processors",
    "shared-node": "several clients on one node",
    "shared-machine": "the nodes share a machine",
    "coarse-clock": "the clock is too coarse for the latencies",
    "clock-drift": "the nodes' clocks drifted apart",
    "clock-uncertain": "the nodes' clocks cannot be compared accurately",
    "late-samples": "some operations took longer than a sample interval",
    "missing-bytes": "moved less than planned",
    "nothing-done": "no operation completed",
    "stalled": "the storage stalled",
    "suspended": "the run was suspended during the phase",
    "short-transfers": "calls moved fewer bytes than requested",
    "unwritten": "part of what was read was never written",
    "reducible-payload": "the data may have been compressed",
    "payload-bound": "limited by the processor that generates the data",
    "rate-not-kept": "the requested rate was not reached",
    "paced": "limited by the requested rate, not by the storage",
    "verification-timed": "includes verification time",
    "positions-unverified": "moved data would have passed the verification",
    "failed": "the phase failed",
    "best-of-several": "best of several runs, not the median",
    "counted-by-sender": "counted by the sender",
    "datagrams-lost": "datagrams were lost",
    "declared-invalid": "declared invalid by its tool",
    "does-not-add-up": "the printed numbers contradict each other",
    "errors-ignored": "errors were ignored",
    "hidden-short-write": "wrote for less than the rules require",
    "interrupted": "the tool was interrupted",
    "job-failed": "the job failed",
    "latencies-beyond-bins": "the longest latencies are lower bounds",
    "live-statistics": "the timeline ends before the phase",
    "may-be-cached": "may have been read from the page cache",
    "mean-only": "only the mean was printed",
    "nominal-size": "bytes by configured size, not counted",
    "not-imported": "part of the work was not imported",
    "parent-sees-less": "processes did not run concurrently",
    "ramp-measured": "measured within the ramp",
    "ranks-missing": "not all ranks are in the table",
    "score-hash": "the score's hash does not fit its numbers",
    "test-failed": "the test failed",
    "time-limit-overrun": "took far longer than its time limit",
    "unlike-jobs": "sum of jobs that differ",
    "utilisation-goal-missed": "accelerator utilisation below the goal",
    "visited-more-than-created": "visited more than was created",
    "above-network-ceiling": "faster than the measured network",
    "network-ceiling-too-low": "faster than the measured network, whose ceiling may be too low",
}
"""Every kind of `ioassay.results.doubt_effects`."""


def kind_words(kind: str) -> str:
    """`phase too short` for `short-phase`. A kind unknown here, of a newer version's run, appears as its name."""
    return _WORDS.get(kind, kind.replace("-", " "))

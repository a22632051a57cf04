"""What a key-value cache on storage gains: tokens that were not computed again, and what reading them took.

Of each phase that answers requests, over all servers:

    hit share           tokens found in memory or on storage / tokens of all requests
    storage's share     time that reads from storage took / time to the first token, sums over all requests
    speed-up            tokens read from storage / time of these reads, by the tokens per second that prefill computes
                        while it does nothing else: above 1, reading is faster than computing

The speed-up is that of a request that finds nobody at the accelerator. Where requests wait for one another there, each
token that is read also saves its time in the queue: that is in the times to the first token, not in the speed-up.

The answer for a sweep over users takes of each number of users the median of its repetitions.

Not here: percentiles of the times to the first token, which are the latencies of the operation `request`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import polars as pl

from ioassay.analysis.feeding import limits
from ioassay.store.loaded import LoadedRun
from ioassay.store.point import PLACEMENT, SweepPoint

_NS_PER_S = 1e9

GOAL = 0.95
"""Share of the first tokens that must meet their deadline for users to count as served."""

_USERS = ".users"
"""The end of an axis that sweeps the users of each server."""


@dataclass(frozen=True)
class Serving:
    """A phase of a case that answered requests. Sums over all servers; times in nanoseconds."""

    case: str
    phase: str
    servers: int
    users: int
    """Of all servers together."""
    first_token_deadline_ns: int | None
    """`None` without a deadline."""
    is_valid: bool
    """The measurement of its requests is valid."""
    requests: int
    """Requests that had their first token."""
    prompt_tokens: int
    """Tokens of these requests."""
    memory_tokens: int
    storage_tokens: int
    recomputed_tokens: int
    """Tokens that were computed although they had been stored: evicted, or behind one that was."""
    new_tokens: int
    first_token_ns: int
    read_ns: int
    queue_ns: int
    prefill_ns: int
    first_tokens_in_time: int | None
    """`None` without a deadline."""
    answers: int
    answer_tokens: int
    answer_ns: int
    answers_in_time: int | None
    """`None` without a deadline."""
    stored: int
    evicted: int
    not_stored: int
    """Objects that were not stored, because all objects in the cache were in use."""
    slowest_rank: int
    """The server with the longest mean time to the first token."""
    slowest_node: str
    slowest_first_token_ns: float
    """That mean."""

    @property
    def hit_share(self) -> float:
        """Share of the tokens that were not computed."""
        return (self.memory_tokens + self.storage_tokens) / max(1, self.prompt_tokens)

    @property
    def storage_share(self) -> float:
        """Share of the tokens that were read from storage."""
        return self.storage_tokens / max(1, self.prompt_tokens)

    @property
    def mean_first_token_ns(self) -> float:
        """Mean time from a request to its first token."""
        return self.first_token_ns / max(1, self.requests)

    @property
    def read_time_share(self) -> float:
        """Share of the time to the first token that reads from storage took."""
        return self.read_ns / max(1, self.first_token_ns)

    @property
    def queue_time_share(self) -> float:
        """Share of the time to the first token in which requests waited for the accelerator."""
        return self.queue_ns / max(1, self.first_token_ns)

    @property
    def read_tokens_per_s(self) -> float | None:
        """Tokens per second of reads, of one request; `None` where nothing was read."""
        return self.storage_tokens * _NS_PER_S / self.read_ns if self.storage_tokens and self.read_ns else None

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """Tokens per second of prefill, of one request; `None` where nothing was computed."""
        computed = self.recomputed_tokens + self.new_tokens
        return computed * _NS_PER_S / self.prefill_ns if computed and self.prefill_ns else None

    @property
    def speed_up(self) -> float | None:
        """How many times as fast reading a token is as computing it; `None` where either was not done."""
        read, computed = self.read_tokens_per_s, self.prefill_tokens_per_s
        return read / computed if read and computed else None

    @property
    def first_tokens_in_time_share(self) -> float | None:
        """Share of the requests that met the deadline of the first token."""
        return None if self.first_tokens_in_time is None else self.first_tokens_in_time / max(1, self.requests)

    @property
    def answers_in_time_share(self) -> float | None:
        """Share of the answers that met the deadline of each token."""
        return None if self.answers_in_time is None else self.answers_in_time / max(1, self.answers)


@dataclass(frozen=True)
class UserCount:
    """Repetitions of a case with this number of users."""

    users: int
    in_time: float
    """Share of the first tokens that met their deadline: median of the repetitions."""
    repetitions: int

    @property
    def reaches_goal(self) -> bool:
        """True if so many first tokens are in time."""
        return self.in_time >= GOAL


@dataclass(frozen=True)
class Served:
    """How many users have their first tokens in time, over cases that differ in nothing but their number."""

    swept: SweepPoint
    """The workload, with the values of axes other than those of placement and users."""
    deadline_ns: int
    counts: list[UserCount]
    """By the number of users, ascending: two at least."""

    @property
    def most(self) -> UserCount | None:
        """The largest number up to which all reach `GOAL`; `None` where the smallest does not."""
        return limits(self.counts)[0]

    @property
    def first_late(self) -> UserCount | None:
        """The smallest number that misses `GOAL`; `None` where all reach it."""
        return limits(self.counts)[1]


def served(run: LoadedRun, servings: Iterable[Serving]) -> list[Served]:
    """The answer for each sweep of users or servers that has a deadline, from valid phases."""
    cases = {case.id: case for case in run.document.cases}
    sweeps: dict[tuple[SweepPoint, int], dict[int, list[float]]] = {}
    for serving in servings:
        deadline_ns, share = serving.first_token_deadline_ns, serving.first_tokens_in_time_share
        if not serving.is_valid or deadline_ns is None or share is None:
            continue
        case = cases[serving.case]
        others = tuple(
            (axis, value) for axis, value in case.point.items() if axis not in PLACEMENT and not axis.endswith(_USERS)
        )
        by_users = sweeps.setdefault((SweepPoint(case.workload, others), deadline_ns), {})
        by_users.setdefault(serving.users, []).append(share)
    return [
        Served(
            swept, deadline_ns, [UserCount(users, median(each), len(each)) for users, each in sorted(by_users.items())]
        )
        for (swept, deadline_ns), by_users in sweeps.items()
        if len(by_users) > 1
    ]


def servings(run: LoadedRun) -> list[Serving]:
    """The phases that answered requests, in the order of the run."""
    requests = run.measurements.filter((pl.col("operation") == "request") & pl.col("valid"))
    valid = set(requests.select("case", "phase", "job").rows())
    return [
        _serving(str(case), str(phase), servers, is_valid=(case, phase, job) in valid)
        for (case, phase, job), servers in run.kv_cache.group_by("case", "phase", "job", maintain_order=True)
    ]


_NO_SUMS = ("case", "phase", "job", "operation", "rank", "node", "first_token_deadline_ns")


def _serving(case: str, phase: str, servers: pl.DataFrame, *, is_valid: bool) -> Serving:
    sums = servers.select(pl.exclude(_NO_SUMS).sum()).row(0, named=True)
    deadlines = {
        name: None if servers[name].null_count() else sums[name] for name in ("first_tokens_in_time", "answers_in_time")
    }
    mean = servers["first_token_ns"] / servers["requests"].clip(lower_bound=1)
    slowest = servers.row(int(mean.arg_max() or 0), named=True)
    return Serving(
        case=case,
        phase=phase,
        servers=len(servers),
        first_token_deadline_ns=servers["first_token_deadline_ns"][0],
        is_valid=is_valid,
        slowest_rank=slowest["rank"],
        slowest_node=slowest["node"],
        slowest_first_token_ns=slowest["first_token_ns"] / max(1, slowest["requests"]),
        **(sums | deadlines),
    )

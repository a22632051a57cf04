"""Has programs solved by a process of its own (`solver_process`) until a deadline.

Whatever ends that process (the deadline, a limit on its memory, the kernel) ends the search, never what it has found.
Not: what a program is about (`problem`).
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ioassay import helper_process
from ioassay.errors import CannotRun
from ioassay.sizing.search.program import Program, Terms, packed

_GRACE_S = 0.5
"""Before the deadline, HiGHS is to stop by itself, with what it has."""

_OPTIMAL, _TIME_LIMIT, _INFEASIBLE = 0, 1, 2
"""`status` of `scipy.optimize.milp`."""


class Expired(Exception):
    """The deadline is over."""


@dataclass(frozen=True)
class Solution:
    """The value of each variable, and whether no other solution is better."""

    values: NDArray[np.float64]
    is_optimal: bool


class Solver:
    """The process that solves, for one search. It ends with the search, and at the deadline."""

    def __init__(self, deadline_s: float) -> None:
        """Starts it: it takes a second, in which the programs can be prepared."""
        self._kept_s = 0.0
        self._ends = time.monotonic() + deadline_s  # a clock that all processes share
        try:
            self._process = helper_process.start("ioassay.sizing.search.solver_process", repr(self._ends))
        except OSError as error:
            raise CannotRun(f"The solver cannot be started: {error.strerror}.", "End other processes.") from None

    @property
    def process_id(self) -> int:
        """That of the process that solves."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    @contextlib.contextmanager
    def keeping(self, share: float) -> Iterator[None]:
        """Keeps a share of the time that is left for what comes afterwards."""
        self._kept_s = share * max(self._ends - time.monotonic(), 0.0)
        try:
            yield
        finally:
            self._kept_s = 0.0

    def solve(self, program: Program, objective: Terms) -> Solution | None:
        """The solution that minimises `objective`, or the best until the deadline; `None`: there is no solution.

        Raises `Expired` where the deadline is over and there is none yet, `CannotRun` where the process died.
        """
        stops = self._ends - _GRACE_S - self._kept_s
        if stops <= time.monotonic():
            raise Expired
        answer = helper_process.ask(self._process, packed(program, objective, stops))
        if answer is None:
            raise self._death()
        found = json.loads(answer)
        if found["values"] is not None:
            return Solution(np.array(found["values"]), found["status"] == _OPTIMAL)
        if found["status"] == _INFEASIBLE:
            return None
        if found["status"] == _TIME_LIMIT:
            raise Expired
        raise CannotRun(f"The solver (HiGHS) gave up: {found['message']}", "Ask for fewer bricks with `bricks:`.")

    def _death(self) -> Exception:
        status = self._process.wait()
        if status == -signal.SIGALRM:
            return Expired()
        return CannotRun(
            f"The process that solves for the best configurations {helper_process.ending(status)}.",
            "Free memory or raise its limits (ulimit -v), or name the bricks to consider with `bricks:`.",
        )

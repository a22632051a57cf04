"""Has programs solved by a process of its own (`solver_process`) until its time is used up.

Whatever ends that process (the time, a limit on its memory, the kernel) ends the search, never what it has found.
Not: what a program is about (`problem`).
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ioassay.errors import CannotRun
from ioassay.processes import helper_process
from ioassay.sizing.search.program import Program, Terms, packed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_GRACE_S = 0.5
"""Before the process is ended at its limit, HiGHS is to stop by itself, with what it has."""

_OPTIMAL, _TIME_LIMIT, _INFEASIBLE = 0, 1, 2
"""`status` of `scipy.optimize.milp`."""


class Expired(Exception):
    """The processor time of a search is used up."""


@dataclass(frozen=True)
class Solution:
    """The value of each variable, and whether no other solution is better."""

    values: NDArray[np.float64]
    is_optimal: bool


class Solver:
    """The process that solves, for one search. It ends with the search, and when its processor time is used up.

    Time is that of processors, of this process and of the one that solves, so that an answer does not depend on what
    else a machine does.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        """Processor time that there was at the beginning, in seconds."""
        self._began_s = time.process_time()
        self._used_s = 0.0
        """By the process that solves, as far as it said."""
        self._kept_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the process unless it runs: it takes a second to load, in which the programs can be prepared."""
        if self._process is None:
            try:
                self._process = helper_process.start("ioassay.sizing.search.solver_process", repr(self.limit_s))
            except OSError as error:
                raise CannotRun(f"The solver cannot be started: {error.strerror}.", "End other processes.") from None
        return self._process

    @property
    def process_id(self) -> int:
        """The ID of the process that solves."""
        return self.start().pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    @property
    def left_s(self) -> float:
        """Processor time that is left, in seconds."""
        return self.limit_s - (time.process_time() - self._began_s) - self._used_s

    @contextlib.contextmanager
    def keeping(self, share: float) -> Iterator[None]:
        """Keeps a share of the time that is left for what comes afterwards."""
        self._kept_s = share * max(self.left_s, 0.0)
        try:
            yield
        finally:
            self._kept_s = 0.0

    def check(self) -> None:
        """Raises `Expired` where the time is used up."""
        if self.left_s <= _GRACE_S + self._kept_s:
            raise Expired

    def solve(self, program: Program, objective: Terms) -> Solution | None:
        """The solution that minimises `objective`, or the best until time ends; `None`: there is no solution.
        Raises `Expired` where the time is used up and there is none yet, `CannotRun` where the process died.
        """
        import numpy as np  # noqa: PLC0415  (0.1 s, which a search of one kind of bricks need not wait for)

        self.check()
        process = self.start()
        ends_s = self._used_s + self.left_s
        answer = helper_process.ask(process, packed(program, objective, ends_s - _GRACE_S - self._kept_s, ends_s))
        if answer is None:
            raise self._death(process)
        solution = json.loads(answer)
        self._used_s = solution["used_s"]
        if solution["values"] is not None:
            return Solution(np.array(solution["values"]), solution["status"] == _OPTIMAL)
        if solution["status"] == _INFEASIBLE:
            return None
        if solution["status"] == _TIME_LIMIT:
            raise Expired
        raise CannotRun(f"The solver (HiGHS) gave up: {solution['message']}", "Ask for fewer bricks with `bricks:`.")

    def _death(self, process: subprocess.Popen[bytes]) -> Exception:
        status = process.wait()
        if status == -signal.SIGPROF:
            self._used_s = self.limit_s
            return Expired()
        return CannotRun(
            f"The process that solves for the best configurations {helper_process.ending(status)}.",
            "Free memory or raise its limits (ulimit -v), or name the bricks to consider with `bricks:`.",
        )

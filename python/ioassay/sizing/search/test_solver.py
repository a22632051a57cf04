"""The process that solves, attacked: it is killed, it takes too long, its parent is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from ioassay.errors import CannotRun
from ioassay.sizing.search import solver as solving
from ioassay.sizing.search.program import Program
from ioassay.sizing.search.solver import Expired, Solver
from ioassay.sizing.search.solver_process import solve_until


def _hard() -> tuple[Program, dict[int, float]]:
    """A market split problem, on which branch and bound takes for ever (G. Cornuéjols, M. Dawande, 1999)."""
    dice = np.random.default_rng(1)
    program = Program()
    objective: dict[int, float] = {}
    variables = [program.integer(0, 1) for _ in range(60)]
    for _ in range(6):
        weights = dice.integers(0, 100, len(variables))
        over, under = program.continuous(0, np.inf), program.continuous(0, np.inf)
        terms = dict(zip(variables, weights.astype(float).tolist(), strict=True))
        half = float(weights.sum() // 2)
        program.row({**terms, over: -1.0, under: 1.0}, lower=half, upper=half)
        objective |= {over: 1.0, under: 1.0}
    return program, objective


def test_a_program_is_solved_and_one_without_a_solution_is_not() -> None:
    program = Program()
    count = program.integer(0, 10)
    program.row({count: 3.0}, lower=7)
    with Solver(60) as solver:
        solution = solver.solve(program, {count: 1.0})
        assert solution is not None
        assert (solution.values.tolist(), solution.is_optimal) == ([3.0], True)
        program.row({count: 1.0}, upper=2)
        assert solver.solve(program, {count: 1.0}) is None


def test_the_best_until_time_ends_is_given_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    # HiGHS stops by the clock, and how much other work there is may change meanwhile.
    monkeypatch.setattr(solving, "_GRACE_S", 6)
    with Solver(10) as solver:
        solution = solver.solve(*_hard())
    assert solution is not None
    assert not solution.is_optimal


def test_native_code_that_overruns_its_limit_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "_GRACE_S", -1000)
    with Solver(3) as solver, pytest.raises(Expired):
        solver.solve(*_hard())


def test_time_in_which_no_processor_works_for_it_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    count = program.integer(3, 10)
    with Solver(20) as solver:
        clock = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: clock() + 3600)
        solution = solver.solve(program, {count: 1.0})
        assert solution is not None
        assert solution.values.tolist() == [3.0]
        assert 0 < solver.left_s < 20


def test_a_solver_without_time_says_so_without_starting_a_process() -> None:
    with Solver(0) as solver, pytest.raises(Expired):
        solver.solve(Program(), {})


def test_the_error_of_a_killed_solver_says_so() -> None:
    with Solver(60) as solver:
        os.kill(solver.process_id, signal.SIGKILL)
        with pytest.raises(
            CannotRun, match=r"^The process that solves for the best configurations was killed by SIGKILL"
        ):
            solver.solve(Program(), {})


def test_the_solver_ends_with_its_parent_in_the_middle_of_native_code() -> None:
    program = (
        "import os, signal, threading\n"
        "from ioassay.sizing.search.solver import Solver\n"
        "from ioassay.sizing.search.test_solver import _hard\n"
        "solver = Solver(600)\n"
        "print(solver.process_id, flush=True)\n"
        "threading.Timer(4, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        "solver.solve(*_hard())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    process = Path(f"/proc/{int(done.stdout)}")
    ends = time.monotonic() + 30
    while process.exists() and "State:\tZ" not in (process / "status").read_text() and time.monotonic() < ends:
        time.sleep(0.05)
    assert time.monotonic() < ends


@dataclass
class _Machine:
    """A clock, and a processor of which this process gets a share while it solves."""

    clock_s: float = 0.0
    processor_s: float = 0.0
    limits_s: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)

    def solve(self, share: float, result: OptimizeResult, limit_s: float, at_most: float) -> OptimizeResult:
        """As HiGHS does until its limit by the clock."""
        self.limits_s.append(limit_s)
        self.bounds.append(at_most)
        self.clock_s += limit_s
        self.processor_s += limit_s * share
        return result


def _solved_on(machine: _Machine, *steps: tuple[float, OptimizeResult]) -> OptimizeResult:
    left = iter(steps)
    return solve_until(
        8.0,
        1.0,
        lambda limit_s, at_most: machine.solve(*next(left), limit_s, at_most),
        lambda: machine.clock_s,
        lambda: machine.processor_s,
    )


def _result(status: int, fun: float | None) -> OptimizeResult:
    result = OptimizeResult()
    result.update(status=status, message="", fun=fun, x=None if fun is None else np.array([fun]))
    return result


def _stopped(fun: float | None) -> OptimizeResult:
    return _result(1, fun)


def test_highs_that_stops_by_the_clock_begins_again_until_the_processor_time_is_used() -> None:
    machine = _Machine()
    result = _solved_on(machine, (0.25, _stopped(100.0)), (0.25, _stopped(90.0)))
    assert (result.fun, result.status) == (90.0, 1)
    assert machine.limits_s == [8.0, 24.0]  # 2 of 8 s were used in 8 s: the other 6 s take 24 s
    assert machine.processor_s == 8.0
    assert machine.bounds == [np.inf, pytest.approx(100.0, rel=1e-5)]


def test_a_solution_found_before_highs_restarts_is_kept() -> None:
    assert _solved_on(_Machine(), (0.25, _stopped(90.0)), (0.25, _stopped(None))).fun == 90.0
    infeasible = _result(2, None)
    assert _solved_on(_Machine(), (0.25, _stopped(90.0)), (0.25, infeasible)).fun == 90.0
    assert _solved_on(_Machine(), (0.25, _stopped(None)), (0.25, infeasible)).status == 2
    best = _result(0, 80.0)
    assert _solved_on(_Machine(), (0.25, _stopped(90.0)), (0.5, best)).status == 0


def test_highs_that_used_its_processor_time_does_not_begin_again() -> None:
    machine = _Machine()
    assert _solved_on(machine, (1.0, _stopped(90.0))).fun == 90.0
    assert machine.limits_s == [8.0]

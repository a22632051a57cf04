"""The process that solves, attacked: it is killed, it takes too long, its parent is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ioassay.errors import CannotRun
from ioassay.sizing.search import solver as solving
from ioassay.sizing.search.program import Program
from ioassay.sizing.search.solver import Expired, Solver


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
        found = solver.solve(program, {count: 1.0})
        assert found is not None
        assert (found.values.tolist(), found.is_optimal) == ([3.0], True)
        program.row({count: 1.0}, upper=2)
        assert solver.solve(program, {count: 1.0}) is None


def test_the_best_until_time_ends_is_given_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    # HiGHS stops by the clock, and how much other work there is may change meanwhile.
    monkeypatch.setattr(solving, "_GRACE_S", 6)
    with Solver(10) as solver:
        found = solver.solve(*_hard())
    assert found is not None
    assert not found.is_optimal


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
        found = solver.solve(program, {count: 1.0})
        assert found is not None
        assert found.values.tolist() == [3.0]
        assert 0 < solver.left_s < 20


def test_a_solver_without_time_says_so_without_starting_a_process() -> None:
    with Solver(0) as solver, pytest.raises(Expired):
        solver.solve(Program(), {})


def test_a_solver_that_is_killed_is_said_to_be() -> None:
    with Solver(60) as solver:
        os.kill(solver.process_id, signal.SIGKILL)
        with pytest.raises(
            CannotRun, match=r"^The process that solves for the best configurations was killed by SIGKILL"
        ):
            solver.solve(Program(), {})


def test_it_ends_with_its_parent_in_the_middle_of_native_code() -> None:
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

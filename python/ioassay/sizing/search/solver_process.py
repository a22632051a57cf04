"""The process that solves programs for `solver`: one after the other, until there are no more.

HiGHS is native code that no signal handler of Python interrupts, and that looks at its clock only between steps, so
that it runs apart from the process that has the results. Imports nothing that the first program would wait for.
"""

from __future__ import annotations

import ctypes
import io
import json
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ioassay.processes.helper_process import be_expendable
from ioassay.processes.messages import receive, send

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_PR_SET_PDEATHSIG = 1

_TIME_LIMIT, _INFEASIBLE = 1, 2
"""`status` of `scipy.optimize.milp`."""

_SHORTEST_S = 0.1
"""HiGHS does not begin again for less processor time than this."""

_TOLERANCE = 1e-6
"""Relative, so that the best solution so far stays possible where HiGHS begins again."""


def main() -> None:
    """Answers programs on standard input for as many seconds of processor time as its first argument says."""
    be_expendable()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process in the middle of native code as well
    signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    began_s = time.monotonic() - time.process_time()
    import scipy.optimize  # noqa: F401, PLC0415  (takes a second, which must be one of those that are limited)

    worked_s = time.monotonic() - began_s
    while (request := receive(sys.stdin.buffer)) is not None:
        began_s = time.monotonic()
        answer = _solved(request, slowness=max(worked_s / time.process_time(), 1.0))
        worked_s += time.monotonic() - began_s
        send(sys.stdout.buffer, json.dumps(answer | {"used_s": time.process_time()}).encode())


def _solved(request: bytes, slowness: float) -> dict[str, object]:
    """The answer to a program. `slowness` is how long a second of processor time takes beside what else runs.

    HiGHS measures its limit by the clock.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415
    from scipy.sparse import coo_array  # noqa: PLC0415

    with np.load(io.BytesIO(request), allow_pickle=False) as arrays:
        parts = dict(arrays)
    stops_s, ends_s = (float(parts[key][0]) - time.process_time() for key in ("stops_s", "ends_s"))
    signal.setitimer(signal.ITIMER_PROF, max(ends_s, 0.001))
    shape = (len(parts["row_lower"]), len(parts["objective"]))
    coordinates = (parts["row"].astype(np.int32), parts["column"].astype(np.int32))
    rows = coo_array((parts["coefficient"], coordinates), shape=shape).tocsc()
    constraints = [LinearConstraint(rows, parts["row_lower"], parts["row_upper"])]

    def solve(limit_s: float, at_most: float) -> OptimizeResult:
        cut = [LinearConstraint(parts["objective"], -np.inf, at_most)] if at_most < np.inf else []
        return milp(
            parts["objective"],
            integrality=parts["integer"],
            bounds=Bounds(parts["lower"], parts["upper"]),
            constraints=[*constraints, *cut],
            # The gap is HiGHS's 0.01 % otherwise: an answer that another one beats.
            options={"time_limit": limit_s, "mip_rel_gap": 0.0},
        )

    solution = solve_until(stops_s, slowness, solve)
    return {
        "status": int(solution.status),
        "message": str(solution.message),
        "values": None if solution.x is None else solution.x.tolist(),
    }


def solve_until(
    stops_s: float,
    slowness: float,
    solve: Callable[[float, float], OptimizeResult],
    clock: Callable[[], float] = time.monotonic,
    processor: Callable[[], float] = time.process_time,
) -> OptimizeResult:
    """The result of `solve` within `stops_s` of processor time, although its limit is one of the clock.

    `solve` takes that limit, and how high its objective may be. Where it stops before the processor time is used,
    because other processes took the processors, it begins again, and looks only for what is as good as the best so far.
    """
    best: OptimizeResult | None = None
    ends_s = processor() + stops_s
    while True:
        began_s, left_s = clock(), ends_s - processor()
        better = solve(max(left_s, 0.0) * slowness, np.inf if best is None else best.fun + _TOLERANCE * abs(best.fun))
        used_s = left_s - (ends_s - processor())
        if better.x is not None and (best is None or better.fun <= best.fun):
            best = better
        if better.status != _TIME_LIMIT or ends_s - processor() < _SHORTEST_S:
            return best if best is not None and better.x is None else better
        slowness = max((clock() - began_s) / max(used_s, 1e-3), 1.0)

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

import numpy as np

from ioassay.helper_process import be_expendable
from ioassay.process_messages import receive, send

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answers programs on standard input until the time that is its first argument, on the monotonic clock."""
    be_expendable()
    signal.setitimer(signal.ITIMER_REAL, max(float(sys.argv[1]) - time.monotonic(), 0.001))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    import scipy.optimize  # noqa: F401, PLC0415  (takes a second, which must be one of those that are limited)

    while (request := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, json.dumps(_solved(request)).encode())


def _solved(request: bytes) -> dict[str, object]:
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415
    from scipy.sparse import coo_array  # noqa: PLC0415

    with np.load(io.BytesIO(request), allow_pickle=False) as arrays:
        parts = dict(arrays)
    shape = (len(parts["row_lower"]), len(parts["objective"]))
    coordinates = (parts["row"].astype(np.int32), parts["column"].astype(np.int32))
    rows = coo_array((parts["coefficient"], coordinates), shape=shape).tocsc()
    found = milp(
        parts["objective"],
        integrality=parts["integer"],
        bounds=Bounds(parts["lower"], parts["upper"]),
        constraints=LinearConstraint(rows, parts["row_lower"], parts["row_upper"]),
        # The gap is HiGHS's 0.01 % otherwise: an answer that another one beats.
        options={"time_limit": max(float(parts["stops"][0]) - time.monotonic(), 0.0), "mip_rel_gap": 0.0},
    )
    return {
        "status": int(found.status),
        "message": str(found.message),
        "values": None if found.x is None else found.x.tolist(),
    }

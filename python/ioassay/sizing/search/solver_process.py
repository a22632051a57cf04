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
    found = milp(
        parts["objective"],
        integrality=parts["integer"],
        bounds=Bounds(parts["lower"], parts["upper"]),
        constraints=LinearConstraint(rows, parts["row_lower"], parts["row_upper"]),
        # The gap is HiGHS's 0.01 % otherwise: an answer that another one beats.
        options={"time_limit": max(stops_s, 0.0) * slowness, "mip_rel_gap": 0.0},
    )
    return {
        "status": int(found.status),
        "message": str(found.message),
        "values": None if found.x is None else found.x.tolist(),
    }

"""A helper process for native code that may hang or use all memory, so that the process with the results survives.

Not: the format of messages (`messages`), the work of such a process (`figures.drawing_process`,
`sizing.search.solver_process`).
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

from ioassay.processes.messages import receive, send


def start(module: str, argument: str) -> subprocess.Popen[bytes]:
    """Starts `main` of a module, with `argument` as `sys.argv[1]`. Raises `OSError`."""
    code = f"import sys; sys.path[:] = sys.argv[2:]; from {module} import main; main()"
    return subprocess.Popen(
        [sys.executable, "-I", "-c", code, argument, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # V8 prints its registers
        start_new_session=True,  # a Ctrl-C is for the parent, with which it ends
    )


def ask(process: subprocess.Popen[bytes], request: bytes) -> bytes | None:
    """The answer to a request; `None` if the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        send(process.stdin, request)
    return receive(process.stdout)


def ending(status: int) -> str:
    """How a process ended, from its exit status, as the end of a sentence: `was killed by SIGKILL`."""
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"


def be_expendable() -> None:
    """Called in the helper: SIGALRM ends it, and the kernel kills it first when memory runs out."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process in the middle of native code as well
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")  # the results must outlive this

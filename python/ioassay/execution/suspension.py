"""Ctrl-Z: the engine, which has a session of its own, is suspended with the control plane and goes on with it.

The engine's ranks finish the call that they are in, do no I/O until they go on, and the phase gets the doubt
`suspended`. Not here: signals that end a run (`interruption`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ioassay.execution.engine_process import EngineProcess


@contextmanager
def suspended_together(process: EngineProcess) -> Iterator[None]:
    """SIGTSTP, which a terminal sends for Ctrl-Z, suspends `process` as well. What the caller ignores stays ignored."""
    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_DFL:
        yield
        return

    def suspend(number: int, frame: FrameType | None) -> None:
        process.suspend()
        # Until a shell, or a batch system, continues this process.
        os.kill(os.getpid(), signal.SIGSTOP)
        process.resume()

    signal.signal(signal.SIGTSTP, suspend)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)

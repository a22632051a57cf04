"""Ctrl-Z: the engine, which has its own session, is suspended and resumed together with the control plane.

The engine's ranks finish their current call, do no I/O until they are resumed, and the phase gets the doubt
`suspended`. Not here: signals that end a run (`interruption`).
"""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Self

from ioassay.execution.engine_process import EngineProcess
from ioassay.execution.watcher import Watcher


class Suspension:
    """Notes SIGTSTP, which a terminal sends for Ctrl-Z, within its context. An ignored signal stays ignored.

    As with `interruption`, the loop that follows the engine polls it several times per second: a handler could run
    in the middle of a write to the engine or to the terminal.
    """

    def __init__(self, process: EngineProcess, watcher: Watcher) -> None:
        self._process = process
        self._watcher = watcher
        self._is_asked = False
        self._is_ours = False

    def __enter__(self) -> Self:
        self._is_ours = signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL
        if self._is_ours:
            signal.signal(signal.SIGTSTP, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_ours:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        self.heed()

    def heed(self) -> None:
        """Suspends the engine and this process if the signal has arrived; returns once they are resumed."""
        if not self._is_asked:
            return
        self._is_asked = False
        self._process.suspend()
        with self._watcher.suspended():
            # Until a shell, or a batch system, continues this process.
            os.kill(os.getpid(), signal.SIGSTOP)
        self._process.resume()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._is_asked = True

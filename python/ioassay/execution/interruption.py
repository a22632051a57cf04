"""SIGINT, SIGTERM and SIGHUP as something to ask for, not an exception in the middle of anything.

A run must end in order: engine stopped, results kept, leftovers named. So the signals are only counted here,
and the loop that follows the engine looks at the count several times a second.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

from ioassay.errors import CannotRun

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Counts the signals that arrive while it is entered."""

    def __init__(self) -> None:
        self.count = 0
        self.first: signal.Signals | None = None
        """The signal that came first: the one to pass on."""
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> Interruption:
        for number in SIGNALS:
            # What the caller ignores stays ignored: `nohup ioassay run …` must outlive its terminal.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def heed(self) -> None:
        """Raises `CannotRun` if a signal has come."""
        if self.first is not None:
            raise CannotRun(f"Stopped by {self.first.name}.")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.first = self.first or signal.Signals(number)

"""Counts signals that would end the process, so that they can be polled instead of raising an exception anywhere.

A run must end in order: engine stopped, results kept, leftovers named. Batch systems warn with USR1, USR2 or XCPU, a
terminal sends QUIT. So signals are only counted here, and the loop that follows the engine polls the count
several times per second.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import cache
from types import FrameType, TracebackType
from typing import Self

from ioassay.errors import CannotRun
from ioassay.protocol.facts import NOT_STOPPING

_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}
"""Signals of the processor: after a Python handler, the faulting instruction would be executed again, forever."""


class Interruption:
    """Counts the signals that arrive within its context."""

    def __init__(self) -> None:
        self.count = 0
        self.first: int | None = None
        """The number of the first signal: the one to pass on."""
        self._before: dict[int, signal._HANDLER] = {}

    @property
    def name(self) -> str:
        """The name of the first signal."""
        return signal_name(self.first) if self.first is not None else ""

    def __enter__(self) -> Self:
        for number in _stopping():
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def heed(self) -> None:
        """Raises `CannotRun` if a signal has arrived."""
        if self.first is not None:
            raise CannotRun(f"Interrupted by {self.name}.")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count_signal(number)

    def count_signal(self, number: int) -> None:
        """Counts a signal, here and in enclosing interruptions."""
        self.count += 1
        self.first = self.first or number
        if (outer := _owner(self._before.get(number))) is not None:
            outer.count_signal(number)


def signal_name(number: int) -> str:
    """The name that the engine uses: `SIGTERM`, `SIGRTMIN+3`."""
    if number >= signal.SIGRTMIN:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"
    return signal.Signals(number).name


def _owner(handler: object) -> Interruption | None:
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Interruption) else None


def _stopping() -> Iterator[int]:
    """The signals that end a run, as in the engine. Ignored signals stay ignored, because `nohup ioassay
    run …` must outlive its terminal. Signals with a handler are left to it, except SIGINT and those of an
    enclosing interruption, which is notified.
    """
    for number in signal.valid_signals() - _not_stopping() - _FAULTS:
        handler = signal.getsignal(number)
        if handler is signal.SIG_DFL or (number == signal.SIGINT and callable(handler)) or _owner(handler):
            yield number


@cache
def _not_stopping() -> frozenset[int]:
    """The signals that the engine's own table leaves out."""
    return frozenset(signal.Signals[name] for name in NOT_STOPPING)

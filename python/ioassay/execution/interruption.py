"""Signals that would end the process as something to ask for, not an exception or an end in the middle of anything.

A run must end in order: engine stopped, results kept, leftovers named. Batch systems warn with USR1, USR2 or XCPU, a
terminal sends QUIT. So the signals are only counted here, and the loop that follows the engine looks at the count
several times a second.
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
"""What the processor raises: after a handler of Python, the instruction at fault would be executed again, for ever."""


class Interruption:
    """Counts the signals that arrive while it is entered."""

    def __init__(self) -> None:
        self.count = 0
        self.first: int | None = None
        """The number of the signal that came first: the one to pass on."""
        self._before: dict[int, signal._HANDLER] = {}

    @property
    def name(self) -> str:
        """The name of the signal that came first."""
        return signal_name(self.first) if self.first is not None else ""

    def __enter__(self) -> Self:
        for number in _stopping():
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def heed(self) -> None:
        """Raises `CannotRun` if a signal has come."""
        if self.first is not None:
            raise CannotRun(f"Interrupted by {self.name}.")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count_signal(number)

    def count_signal(self, number: int) -> None:
        """Counts a signal, here and in the interruptions within which this one was entered."""
        self.count += 1
        self.first = self.first or number
        if (outer := _owner(self._before.get(number))) is not None:
            outer.count_signal(number)


def signal_name(number: int) -> str:
    """As the engine writes it: `SIGTERM`, `SIGRTMIN+3`."""
    if number >= signal.SIGRTMIN:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"
    return signal.Signals(number).name


def _owner(handler: object) -> Interruption | None:
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Interruption) else None


def _stopping() -> Iterator[int]:
    """The signals that end a run, as the engine has them. What the caller ignores stays ignored, because `nohup ioassay
    run …` must outlive its terminal, and what has a handler belongs to whoever installed it, but for SIGINT and for an
    interruption around this one, which is told.
    """
    for number in signal.valid_signals() - _not_stopping() - _FAULTS:
        handler = signal.getsignal(number)
        if handler is signal.SIG_DFL or (number == signal.SIGINT and callable(handler)) or _owner(handler):
            yield number


@cache
def _not_stopping() -> frozenset[int]:
    """Those that the engine's own table leaves out."""
    return frozenset(signal.Signals[name] for name in NOT_STOPPING)

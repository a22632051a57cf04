"""Ctrl-C during the whole process: one line and exit code 3, never a traceback.

`KeyboardInterrupt` is raised only within a command, whose caller catches it. While modules are imported,
also by a command, it would become their error or be swallowed by an extension: then the process ends at once.
It imports as little as possible, because imports before it are not covered.
Not here: stopping a run in order (`execution.interruption`).
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # typing itself takes some ms
if TYPE_CHECKING:
    from types import CodeType, FrameType

MESSAGE = "ioassay: interrupted"
_EXIT_CODE = 3
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"

noted: list[int] = []
"""Every SIGINT so far."""

_at_work: set[CodeType] = set()
_kept = ""


def take() -> None:
    """Handles SIGINT from now on, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
        sys.unraisablehook = _unraisable


def allow_below(function: CodeType) -> None:
    """Allows `KeyboardInterrupt` in and below a function whose caller catches it."""
    _at_work.add(function)


def note_kept(text: str) -> None:
    """Sets the text printed after a SIGINT: what is kept, and what to do next. Empty: nothing is."""
    global _kept  # noqa: PLW0603
    _kept = text


def message() -> str:
    """The text printed after a SIGINT."""
    return f"{MESSAGE}\n{_kept}" if _kept else MESSAGE


def finish() -> None:
    """Ignores SIGINT while the process ends."""
    if signal.getsignal(signal.SIGINT) is _interrupted:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if noted:
        # Python remembers an interruption that passed through `exec` (dataclasses use it), although it was
        # caught, and then ends `python -m ioassay` by SIGINT instead of with our exit code. This resets it.
        exec("")


def _interrupted(number: int, frame: FrameType | None) -> None:
    noted.append(number)
    codes = []
    while frame is not None:
        codes.append(frame.f_code)
        frame = frame.f_back
    if any(code.co_filename == _IMPORT_SYSTEM for code in codes) or not _at_work.intersection(codes):
        _leave()
    raise KeyboardInterrupt


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    # It cannot be raised in a finaliser: Python would print it and continue.
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _leave()
    sys.__unraisablehook__(unraisable)


def _leave() -> None:
    os.write(2, f"{message()}\n".encode())
    os._exit(_EXIT_CODE)

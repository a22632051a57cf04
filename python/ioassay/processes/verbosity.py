"""How much this process says, on standard error, beside its answer: `--quiet` and `--verbose`.

A setting of the process, because what starts a program is far from the command line. Imports as little as it can.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from typing import Any


class Verbosity(Enum):
    """What is said: errors only; progress too; every program that is started and the like too."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


_level = Verbosity.NORMAL


def level() -> Verbosity:
    """The one that was chosen."""
    return _level


def set_level(chosen: Verbosity) -> None:
    """Has this process say so much from now on."""
    global _level  # noqa: PLW0603
    _level = chosen
    if chosen is Verbosity.VERBOSE:
        sys.addaudithook(_note_programs)


def is_quiet() -> bool:
    """Whether only results and errors are wanted."""
    return _level is Verbosity.QUIET


def note(line: str) -> None:
    """Prints a line for those who asked for `--verbose`."""
    if _level is Verbosity.VERBOSE:
        print(line, file=sys.stderr, flush=True)


def _note_programs(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook, which sees every program that this process starts, whatever code does it."""
    if event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
        from shlex import join  # noqa: PLC0415

        words = arguments[1]
        note(f"+ {words if isinstance(words, str) else join(map(os.fsdecode, words))}")

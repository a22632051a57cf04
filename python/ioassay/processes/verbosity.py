"""How much this process prints on standard error besides its result: `--quiet` and `--verbose`.

It is a setting of the process, because programs are started far from the command line. Imports as little as possible.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from typing import Any


class Verbosity(Enum):
    """What is printed: only errors; also progress; also started programs and similar details."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


_level = Verbosity.NORMAL


def level() -> Verbosity:
    return _level


def set_level(chosen: Verbosity) -> None:
    global _level  # noqa: PLW0603
    _level = chosen
    if chosen is Verbosity.VERBOSE:
        sys.addaudithook(_note_programs)


def is_quiet() -> bool:
    """True if only results and errors are printed."""
    return _level is Verbosity.QUIET


def note(line: str) -> None:
    """Prints a line with `--verbose`."""
    if _level is Verbosity.VERBOSE:
        print(line, file=sys.stderr, flush=True)


def _note_programs(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook, which sees every program that this process starts, from any code."""
    if event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
        from shlex import join  # noqa: PLC0415

        words = arguments[1]
        note(f"+ {words if isinstance(words, str) else join(map(os.fsdecode, words))}")

"""Programs that read and change settings: started without input, in English, ended with their children when late."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence

from ioassay.errors import CannotRun

TIMEOUT_S = 30.0
_SHOWN_CHARACTERS = 300


class ProgramFailed(CannotRun):
    """A program that could not be started, exited with an error or took too long."""


class ProgramMissing(ProgramFailed):
    """A program that is not installed."""


def run(words: Sequence[str], timeout_s: float = TIMEOUT_S) -> str:
    """The output of the program. Raises `ProgramFailed`."""
    shown = shlex.join(words)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {"LC_ALL": "C"},
            start_new_session=True,  # Ctrl-C is for us: what we have begun is to end
        )
    except FileNotFoundError:
        raise ProgramMissing(
            f"{words[0]} is not installed.", f"Install it, or put the directory of {words[0]} on PATH."
        ) from None
    except OSError as error:
        raise ProgramFailed(f"`{shown}` cannot be started: {error.strerror}.") from None
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise ProgramFailed(f"`{shown}` took longer than {timeout_s:g} s and was ended.") from None
        raise
    if process.returncode:
        output_text = " ".join((errors.strip() or output.strip()).split())[:_SHOWN_CHARACTERS]
        raise ProgramFailed(
            f"`{shown}` failed with exit code {process.returncode}{': ' if output_text else ''}{output_text}"
        )
    return output

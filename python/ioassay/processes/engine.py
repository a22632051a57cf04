"""Finds the binaries of the engine and the agent, and builds their command lines.

Not: starting it for a run (`execution`), launching it on other nodes (`launchers`), its events
(`store.events`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from ioassay.errors import CannotRun

NAME = "ioassay-engine"
OVERRIDE = "IOASSAY_ENGINE"
AGENT = "ioassay-agent"
AGENT_OVERRIDE = "IOASSAY_AGENT"


def find_engine() -> Path:
    """Path of the engine: `$IOASSAY_ENGINE`, else beside this Python or command, else on `PATH`.

    Raises `CannotRun` if there is none.
    """
    return _find("engine", NAME, OVERRIDE)


def find_agent() -> Path:
    """Path of the agent, found like the engine, with `$IOASSAY_AGENT`. Raises `CannotRun` if there is none."""
    return _find("agent", AGENT, AGENT_OVERRIDE)


def _find(noun: str, name: str, variable: str) -> Path:
    """Finds a binary. The one that was installed with this package comes before `PATH`, so that an older one of the
    site is never used by accident.
    """
    if override := os.environ.get(variable):
        if executable := shutil.which(override):
            return Path(executable).absolute()
        raise CannotRun(
            f"{variable}={override} is not an executable file.",
            f"Correct or unset {variable}; `make build` leaves the {noun} in .venv/bin/{name}.",
        )
    directories = (Path(sys.executable).parent, Path(sys.argv[0]).absolute().parent)
    for directory in directories:
        if executable := shutil.which(name, path=str(directory)):
            return Path(executable)
    if executable := shutil.which(name):
        return Path(executable).absolute()
    raise CannotRun(
        f"The {noun} `{name}` is missing: it is neither in {directories[0]} nor on PATH.",
        f"Install ioassay with `pip install .` (or `make build` in a checkout), or name the binary in {variable}.",
    )


def version_of(printed: str | None) -> str | None:
    """The version in an engine's output, which may contain other lines of a launcher."""
    words = [line.split() for line in (printed or "").splitlines()]
    versions = [line[1] for line in words if len(line) == 2 and line[0] == "ioassay-engine"]
    return versions[-1] if versions else None


def pass_on(*arguments: str) -> int:
    """Runs an engine command with our input and output. Returns its exit code; raises `CannotRun`."""
    return subprocess.run([str(find_engine()), *arguments], check=False).returncode


_OWN_SIGNALS = frozenset(
    {
        *(signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP),
        *(signal.SIGABRT, signal.SIGSYS, signal.SIGPIPE, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
        *(signal.SIGCONT, signal.SIGURG, signal.SIGWINCH),
    }
)
"""Signals that are not passed on: faults, and those that the terminal sends to every process."""

_PASSED_ON = frozenset(signal.valid_signals()) - _OWN_SIGNALS


@contextlib.contextmanager
def blocked_signals() -> Iterator[set[signal.Signals]]:
    """Blocks the signals that `attend` waits for, also in threads started meanwhile. Yields the earlier mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        yield {number for number in before if isinstance(number, signal.Signals)}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def attend(arguments: Sequence[str], mask: set[signal.Signals]) -> int:
    """Runs an engine command and returns its exit code, within `blocked_signals`, which yields `mask`.

    Signals from processes are passed on to it; those of the terminal reach it anyway. Raises `CannotRun`.
    """
    engine = str(find_engine())
    # Signals that arrived so far are for this process.
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    ignored_by_python = (signal.SIGPIPE, signal.SIGXFSZ)
    pid = os.posix_spawn(engine, [engine, *arguments], os.environ, setsigmask=mask, setsigdef=ignored_by_python)
    while True:
        ended_pid, status = os.waitpid(pid, os.WNOHANG)
        if ended_pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        received = signal.sigwaitinfo(_PASSED_ON)
        if (
            received.si_signo != signal.SIGCHLD and received.si_code <= 0
        ):  # above 0: from the kernel, so from the terminal
            os.kill(pid, received.si_signo)


def become(*arguments: str) -> NoReturn:
    """Replaces this process by the engine. Raises `CannotRun`."""
    engine = str(find_engine())
    # Python ignores these signals, and a command started by the engine would inherit that.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(engine, [engine, *arguments])


def check_arguments(events: Path, plans: Sequence[Path]) -> list[str]:
    """Validates the plans in these files, one or more per file, against this machine and their target, without I/O on
    it.
    """
    return ["check", "--events", str(events), *map(str, plans)]


def amounts_arguments(events: Path, plans: Sequence[Path]) -> list[str]:
    """Adds up what the plans in these files do, one or more in each, without looking at their target."""
    return ["amounts", "--events", str(events), *map(str, plans)]


def run_arguments(events: Path, progress: Path, plan: Path) -> list[str]:
    """Runs one case. The engine ends by itself when its parent process dies."""
    return ["run", "--events", str(events), "--progress", str(progress), "--stop-with-parent", str(plan)]


def survey_arguments(events: Path, target: str | None, run: str, limit_s: int) -> list[str]:
    """Surveys all nodes. The files that it creates in `target` have the workspace's name of `run`, and are removed
    again.
    """
    target_arguments = ["--target", target] if target else []
    return [
        "survey",
        "--events",
        str(events),
        "--run",
        run,
        "--limit-s",
        str(limit_s),
        "--stop-with-parent",
        *target_arguments,
    ]


def capture_arguments(target: str | None) -> list[str]:
    """Describes this node, with the storage of `target`, as an archive on standard output."""
    return ["capture", *(["--target", target] if target else []), "--out", "-"]


def clean_arguments(events: Path, workspace: str) -> list[str]:
    """Removes the leftovers of an earlier case from its workspace, by the workspace's own list."""
    return ["clean", "--events", str(events), workspace]

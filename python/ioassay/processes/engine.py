"""The native engine and agent from the control plane's side: where the binaries are and what their command lines are.

Not: starting it for a run (`execution`), the tokens that launch it on other nodes (`launchers`), what it reports
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
    """The engine to start: `$IOASSAY_ENGINE`, else beside this Python or command, else on `PATH`.

    Raises `CannotRun` when there is none.
    """
    return _find("engine", NAME, OVERRIDE)


def find_agent() -> Path:
    """The agent to start, found like the engine, with `$IOASSAY_AGENT`. Raises `CannotRun` when there is none."""
    return _find("agent", AGENT, AGENT_OVERRIDE)


def _find(noun: str, name: str, variable: str) -> Path:
    """A binary. The one that was installed together with this package comes before `PATH`, so that an older one of the
    site is never taken by accident.
    """
    if override := os.environ.get(variable):
        if found := shutil.which(override):
            return Path(found).absolute()
        raise CannotRun(
            f"{variable}={override} is not an executable file.",
            f"Correct or unset {variable}; `make build` leaves the {noun} in .venv/bin/{name}.",
        )
    beside = (Path(sys.executable).parent, Path(sys.argv[0]).absolute().parent)
    for directory in beside:
        if found := shutil.which(name, path=str(directory)):
            return Path(found)
    if found := shutil.which(name):
        return Path(found).absolute()
    raise CannotRun(
        f"The {noun} `{name}` is missing: it is neither in {beside[0]} nor on PATH.",
        f"Install ioassay with `pip install .` (or `make build` in a checkout), or name the binary in {variable}.",
    )


def version_of(printed: str | None) -> str | None:
    """The version in what an engine prints of itself, among whatever a launcher prints besides."""
    words = [line.split() for line in (printed or "").splitlines()]
    versions = [line[1] for line in words if len(line) == 2 and line[0] == "ioassay-engine"]
    return versions[-1] if versions else None


def pass_on(*arguments: str) -> int:
    """Has the engine do a command of its own, with our input and output. Returns its exit code; raises `CannotRun`."""
    return subprocess.run([str(find_engine()), *arguments], check=False).returncode


_OWN_SIGNALS = frozenset(
    {
        *(signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP),
        *(signal.SIGABRT, signal.SIGSYS, signal.SIGPIPE, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
        *(signal.SIGCONT, signal.SIGURG, signal.SIGWINCH),
    }
)
"""What is not passed on: faults, and what the terminal tells every process."""

_PASSED_ON = frozenset(signal.valid_signals()) - _OWN_SIGNALS


@contextlib.contextmanager
def blocked_signals() -> Iterator[set[signal.Signals]]:
    """Blocks what `attend` waits for, also in threads that are started meanwhile. Returns the previous mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        yield {one for one in before if isinstance(one, signal.Signals)}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def attend(arguments: Sequence[str], mask: set[signal.Signals]) -> int:
    """Has the engine do a command of its own and returns its exit code, under `blocked_signals`, which gave `mask`.

    What processes send to us is passed on to it; what the terminal sends reaches it too. Raises `CannotRun`.
    """
    engine = str(find_engine())
    # What came so far is ours.
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    ignored_by_python = (signal.SIGPIPE, signal.SIGXFSZ)
    pid = os.posix_spawn(engine, [engine, *arguments], os.environ, setsigmask=mask, setsigdef=ignored_by_python)
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        found = signal.sigwaitinfo(_PASSED_ON)
        if found.si_signo != signal.SIGCHLD and found.si_code <= 0:  # above 0 it is of the kernel, so of the terminal
            os.kill(pid, found.si_signo)


def become(*arguments: str) -> NoReturn:
    """Goes on as the engine, which has our process, its signals and its exit code. Raises `CannotRun`."""
    engine = str(find_engine())
    # Python ignores these, and a command that the engine starts would inherit that.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(engine, [engine, *arguments])


def check_arguments(events: Path, plans: Sequence[Path]) -> list[str]:
    """Validates the plans in these files, one or more in each, against this machine and their target, without any I/O
    on it.
    """
    return ["check", "--events", str(events), *map(str, plans)]


def run_arguments(events: Path, progress: Path, plan: Path) -> list[str]:
    """Runs one case. The engine ends by itself when the process that started it dies."""
    return ["run", "--events", str(events), "--progress", str(progress), "--stop-with-parent", str(plan)]


def survey_arguments(events: Path, target: str | None, run: str, limit_s: int) -> list[str]:
    """Looks at all nodes. What it creates in `target` is called as the workspace of `run`, and is removed again."""
    where = ["--target", target] if target else []
    return ["survey", "--events", str(events), "--run", run, "--limit-s", str(limit_s), "--stop-with-parent", *where]


def capture_arguments(target: str | None) -> list[str]:
    """Describes this node, with the storage under `target`, as an archive on standard output."""
    return ["capture", *(["--target", target] if target else []), "--out", "-"]


def clean_arguments(events: Path, workspace: str) -> list[str]:
    """Removes what an earlier case left in its workspace, by the workspace's own list."""
    return ["clean", "--events", str(events), workspace]

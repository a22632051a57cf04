"""The native engine from the control plane's side: where the binary is and what its command lines are.

Not: starting it for a run (`execution`), the tokens that launch it on other nodes (`launchers`), what it reports
(`results.events`).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ioassay.errors import CannotRun

NAME = "ioassay-engine"
OVERRIDE = "IOASSAY_ENGINE"


def find_engine() -> Path:
    """The engine to start: `$IOASSAY_ENGINE`, else beside this Python or command, else on `PATH`.

    The one that was installed together with this package comes before `PATH`, so that an older engine
    of the site is never taken by accident. Raises `CannotRun` when there is none.
    """
    if override := os.environ.get(OVERRIDE):
        if found := shutil.which(override):
            return Path(found).absolute()
        raise CannotRun(
            f"{OVERRIDE}={override} is not an executable file.",
            f"Correct or unset {OVERRIDE}; `make build` leaves the engine in .venv/bin/{NAME}.",
        )
    beside = (Path(sys.executable).parent, Path(sys.argv[0]).absolute().parent)
    for directory in beside:
        if found := shutil.which(NAME, path=str(directory)):
            return Path(found)
    if found := shutil.which(NAME):
        return Path(found).absolute()
    raise CannotRun(
        f"The engine `{NAME}` is missing: it is neither in {beside[0]} nor on PATH.",
        f"Install ioassay with `pip install .` (or `make build` in a checkout), or name the binary in {OVERRIDE}.",
    )


def version_of(printed: str | None) -> str | None:
    """The version in what an engine prints of itself, among whatever a launcher prints besides."""
    words = [line.split() for line in (printed or "").splitlines()]
    versions = [line[1] for line in words if len(line) == 2 and line[0] == "ioassay-engine"]
    return versions[-1] if versions else None


def pass_on(*arguments: str) -> int:
    """Has the engine do a command of its own, with our input and output. Returns its exit code; raises `CannotRun`."""
    return subprocess.run([str(find_engine()), *arguments], check=False).returncode


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


def clean_arguments(events: Path, workspace: str) -> list[str]:
    """Removes what an earlier case left in its workspace, by the workspace's own list."""
    return ["clean", "--events", str(events), workspace]

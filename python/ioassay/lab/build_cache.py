"""Where what no package has is kept once it is built, and building it: whole, or not at all.

Everything that a build needs and leaves stays in here, and all but its result is removed.
Not here: what is built (that stands with who uses it), whether it may be (`lab.install`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.lab.requirements import search_path

_STDERR = 2


def directory() -> Path:
    """`$IOASSAY_LAB_CACHE`, else `$XDG_CACHE_HOME/ioassay/lab`, else `~/.cache/ioassay/lab`."""
    if override := os.environ.get("IOASSAY_LAB_CACHE"):
        return Path(override).absolute()
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "ioassay" / "lab"


@dataclass(frozen=True)
class Workbench:
    """The directories of a build."""

    result: Path
    """The directory that is kept."""
    scratch: Path
    """The directory for temporary files, removed afterwards."""
    lock: int

    def run(self, *command: str, **environment: str) -> None:
        """Runs a command to its end, with its output on standard error. Raises `CannotRun` if it failed."""
        # Files that tools write unasked, such as Go's telemetry, go to the scratch directory too.
        overrides = {"TMPDIR": str(self.scratch), "XDG_CONFIG_HOME": str(self.scratch), "PATH": search_path()}
        try:
            # The command inherits the lock: if it outlives this process, the next build waits for it.
            result = subprocess.run(
                command,
                env={**os.environ, **overrides, **environment},
                cwd=self.scratch,
                stdin=subprocess.DEVNULL,
                stdout=_STDERR,
                pass_fds=[self.lock],
                check=False,
            )
        except OSError as error:
            raise CannotRun(f"`{command[0]}` cannot be started: {error.strerror}.") from None
        if result.returncode != 0:
            raise CannotRun(f"`{' '.join(command)}` failed ({result.returncode}); its output is above.")


def build(name: str, make: Callable[[Workbench], None]) -> None:
    """Builds `directory() / name` with `make` unless it exists. Concurrent callers wait for the first one.

    Raises `CannotRun`.
    """
    place = directory()
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = os.open(place / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise CannotRun(
            f"{place} cannot be written: {error.strerror}.", "Set IOASSAY_LAB_CACHE to a writable directory."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / name).exists():
            _build(place / name, place / f"{name}.building", lock, make)
    finally:
        os.close(lock)


def _build(ready: Path, building: Path, lock: int, make: Callable[[Workbench], None]) -> None:
    shutil.rmtree(building, ignore_errors=True)  # left by a build that was killed
    bench = Workbench(building / "result", building / "scratch", lock)
    try:
        for part in (bench.result, bench.scratch):
            part.mkdir(parents=True)
        make(bench)
        shutil.rmtree(bench.scratch)
        bench.result.rename(ready)
    finally:
        shutil.rmtree(building, ignore_errors=True)

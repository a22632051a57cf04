"""The MPI of the site: its `mpirun`, its family, and the engine's connector for it.

Not here: placement of processes (one file per launcher).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal

from ioassay.errors import CannotRun
from ioassay.processes import engine

Family = Literal["open-mpi", "mpich"]
"""MPICH includes everything derived from it: the launchers and Slurm plug-ins are the same."""

_LOAD = "Load the site's MPI (module load …), or install one (Debian: openmpi-bin libopenmpi-dev, or mpich)."


def mpirun() -> Path:
    """The `mpirun` in `PATH`. Raises `CannotRun`."""
    if program := shutil.which("mpirun") or shutil.which("mpiexec"):
        return Path(program)
    raise CannotRun("There is no `mpirun` in PATH.", _LOAD)


def mpicc() -> Path:
    """The compiler of the same MPI: the one beside `mpirun`, else the one in `PATH`. Raises `CannotRun`."""
    launcher = shutil.which("mpirun") or shutil.which("mpiexec")
    sibling = Path(launcher).parent / "mpicc" if launcher else None
    if sibling and os.access(sibling, os.X_OK):
        return sibling
    if compiler := shutil.which("mpicc"):
        return Path(compiler)
    raise CannotRun("There is no `mpicc` in PATH; it builds the MPI connector.", _LOAD)


@cache
def family_of_mpirun(command: Path) -> Family:
    """The family of the launcher `command`, from its version. Raises `CannotRun` for an unknown one."""
    return _family(f"{command} --version", _said(str(command), "--version"))


@cache
def family_of_mpicc(compiler: Path) -> Family:
    """The family of the compiler, from the command line that it wraps. Raises `CannotRun` for an unknown one."""
    # Open MPI's wrapper knows --showme and MPICH's -show; each refuses the other's.
    printed = _said(str(compiler), "-showme:version") + _said(str(compiler), "-show")
    return _family(str(compiler), printed)


def library() -> Path:
    """The engine's MPI connector, built if missing. Raises `CannotRun`."""
    command = [str(engine.find_engine()), "mpi", "build", "--compiler", str(mpicc())]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise CannotRun("The MPI connector cannot be built.", result.stderr.strip())
    return Path(result.stdout.strip())


def _family(program: str, printed: str) -> Family:
    words = printed.lower()
    if any(word in words for word in ("open mpi", "openmpi", "openrte", "prte", "open-mpi")):
        return "open-mpi"
    if any(word in words for word in ("hydra", "mpich", "intel", "mvapich", "lmpi")):
        return "mpich"
    raise CannotRun(f"`{program}` belongs to an unsupported MPI.", "Use Open MPI, MPICH or Intel MPI.")


def _said(*command: str) -> str:
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"`{' '.join(command)}` does not work: {error}.", _LOAD) from error
    return result.stdout + result.stderr

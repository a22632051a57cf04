"""The MPI of the site: which `mpirun` there is, whose it is, and what joins the engine with it.

Not here: how processes are placed (one file per launcher).
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
"""MPICH stands for all that are made of it: their launchers and Slurm plug-ins are the same."""

_LOAD = "Load the site's MPI (module load …), or install one (Debian: openmpi-bin libopenmpi-dev, or mpich)."


def mpirun() -> Path:
    """The `mpirun` in `PATH`. Raises `CannotRun`."""
    if found := shutil.which("mpirun") or shutil.which("mpiexec"):
        return Path(found)
    raise CannotRun("There is no `mpirun` in PATH.", _LOAD)


def mpicc() -> Path:
    """The compiler of the same MPI: the one beside `mpirun`, else the one in `PATH`. Raises `CannotRun`."""
    launcher = shutil.which("mpirun") or shutil.which("mpiexec")
    beside = Path(launcher).parent / "mpicc" if launcher else None
    if beside and os.access(beside, os.X_OK):
        return beside
    if found := shutil.which("mpicc"):
        return Path(found)
    raise CannotRun("There is no `mpicc` in PATH; it builds the MPI connector.", _LOAD)


@cache
def family_of_mpirun(command: Path) -> Family:
    """Whose launcher `command` is, by what it says of itself. Raises `CannotRun` for an unknown one."""
    return _family(f"{command} --version", _said(str(command), "--version"))


@cache
def family_of_mpicc(compiler: Path) -> Family:
    """Whose compiler it is, by the command line that it stands for. Raises `CannotRun` for an unknown one."""
    # Open MPI's wrapper knows --showme and MPICH's -show; each refuses the other's.
    said = _said(str(compiler), "-showme:version") + _said(str(compiler), "-show")
    return _family(str(compiler), said)


def library() -> Path:
    """The MPI connector of the engine, built if it is not yet. Raises `CannotRun`."""
    command = [str(engine.find_engine()), "mpi", "build", "--compiler", str(mpicc())]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRun("The MPI connector cannot be built.", done.stderr.strip())
    return Path(done.stdout.strip())


def _family(what: str, said: str) -> Family:
    words = said.lower()
    if any(word in words for word in ("open mpi", "openmpi", "openrte", "prte", "open-mpi")):
        return "open-mpi"
    if any(word in words for word in ("hydra", "mpich", "intel", "mvapich", "lmpi")):
        return "mpich"
    raise CannotRun(f"`{what}` belongs to an unsupported MPI.", "Use Open MPI, MPICH or Intel MPI.")


def _said(*command: str) -> str:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"`{' '.join(command)}` does not work: {error}.", _LOAD) from error
    return done.stdout + done.stderr

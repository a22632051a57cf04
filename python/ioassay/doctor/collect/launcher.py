"""The launcher and its MPI, as this side sees them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from ioassay.doctor.collect.command_output import said
from ioassay.doctor.facts import Launcher, Problem
from ioassay.errors import CannotRun
from ioassay.execution.start import Start
from ioassay.launchers import mpi
from ioassay.launchers.hosts import allocated
from ioassay.launchers.placement import Placement
from ioassay.launchers.srun import PLUGIN


def launcher(name: str, start: Start, engine: Path) -> Launcher:
    """What `name` is made of here."""
    if not start.launcher.needs_mpi:
        return Launcher(name)
    facts: dict[str, Any] = {}
    try:
        facts |= _slurm(start, engine) if name == "srun" else _mpirun()
        # What a launcher refuses it says when it is asked how it would start something.
        start.alone([])
    except CannotRun as error:
        facts["problem"] = Problem.of(error)
    facts |= _library(engine)
    if name == "srun" and (family := facts.get("compiler_family")):
        facts["plugin"] = PLUGIN[family]
    return Launcher(name, **facts)


def _mpirun() -> dict[str, Any]:
    command = mpi.mpirun()
    printed = said([str(command), "--version"]) or ""
    # Hydra says it in a table, the others in their first line.
    version = re.search(r"Version:\s*(\S+)", printed)
    line = f"Hydra {version[1]}" if version else next(iter(printed.splitlines()), "")
    return {"command": str(command), "version": line, "family": mpi.family_of_mpirun(command)}


def _slurm(start: Start, engine: Path) -> dict[str, Any]:
    command = shutil.which("srun")
    if command is None:
        raise CannotRun("There is no `srun` in PATH.", "Do it where Slurm's commands are, or take another launcher.")
    # Where a lab's Slurm is, and its settings.
    there = Placement(1, 1, start.nodes).launch(engine)
    listed = said([*there, "srun", "--mpi=list"], start.environment()) or ""
    return {
        "command": command,
        "version": (said([*there, "srun", "--version"], start.environment()) or "").strip(),
        "plugins": [word for word in re.findall(r"[a-z0-9_]+", listed) if re.match(r"pm|none|cray|openmpi", word)],
        "allocated": [node.name for node in allocated()],
        "has_sbatch": shutil.which("sbatch") is not None,
    }


def _library(engine: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    try:
        compiler = mpi.mpicc()
        facts["compiler"] = str(compiler)
        facts["compiler_family"] = mpi.family_of_mpicc(compiler)
        facts["library"] = str(mpi.library())
    except CannotRun as error:
        facts["library_problem"] = Problem.of(error)
        return facts
    listed = json.loads(said([str(engine), "mpi", "list", "--json", "--only", facts["library"]]) or "[]")
    if not listed or listed[0]["library"] is None:
        why = listed[0]["problem"] if listed else "it is not listed"
        facts["library_problem"] = Problem(
            f"{facts['library']} cannot be loaded: {why}", "Build it anew: ioassay mpi build --force"
        )
    else:
        # Only its first words: some MPIs go on for lines.
        facts["library_name"] = " ".join(listed[0]["library"].splitlines()[0].split(",")[0].split())
    return facts

"""The launcher, and the MPI over which its processes communicate."""

from __future__ import annotations

import re

from ioassay.doctor.checks.node_names import listed
from ioassay.doctor.facts import Launcher
from ioassay.doctor.verdict import Verdict, failed, ok, warning

_FAMILY_NAMES = {"open-mpi": "Open MPI", "mpich": "MPICH's family"}
_NUMBER = re.compile(r"\d+\.\d+(?:\.\d+)*")


def starts(facts: Launcher) -> Verdict:
    """The launcher exists."""
    if facts.problem is not None:
        return failed(facts.problem.message, facts.problem.remedy)
    if facts.command is None:
        return ok(f"{facts.name}: the engine starts the ranks itself, on this machine.")
    return ok(f"{facts.command}: {facts.version}")


def library(facts: Launcher) -> Verdict | None:
    """The engine's connector for the site's MPI exists."""
    if facts.command is None:
        return None
    if facts.library_problem is not None:
        return failed(facts.library_problem.message, facts.library_problem.remedy)
    return ok(f"{facts.library_name}, by {facts.compiler}")


def one_mpi(facts: Launcher) -> Verdict | None:
    """The launcher and the library belong to the same MPI."""
    if facts.family is None or facts.compiler_family is None:
        return None
    launcher_mpi, library_mpi = _FAMILY_NAMES[facts.family], _FAMILY_NAMES[facts.compiler_family]
    if facts.family != facts.compiler_family:
        return failed(
            f"{facts.command} belongs to {launcher_mpi}, but {facts.compiler} to {library_mpi}: ranks would not find "
            "each other.",
            "Load one MPI (module load …), so that mpirun and mpicc in PATH belong together.",
        )
    numbers = [_NUMBER.search(text) for text in (facts.version, facts.library_name or "")]
    first, second = (number[0] if number else None for number in numbers)
    if first and second and first != second:
        return warning(
            f"{facts.command} is {first}, but {facts.compiler} builds for {second} of {launcher_mpi}.",
            "Load one version; different versions of an MPI may not work together.",
        )
    return ok(f"{facts.command} and {facts.compiler} both belong to {launcher_mpi}{f', {first}' if first else ''}.")


def slurm(facts: Launcher) -> Verdict | None:
    """srun supports the MPI, and there are nodes for it."""
    if facts.plugin is None or facts.command is None:
        return None
    if facts.plugins and not any(plugin.startswith(facts.plugin) for plugin in facts.plugins):
        return failed(
            f"srun lacks {facts.plugin}, which {_FAMILY_NAMES[facts.compiler_family or 'mpich']} needs; "
            f"it has {listed(list(facts.plugins))}.",
            f"Install Slurm's plug-in for {facts.plugin} (srun --mpi=list), or use --launcher mpirun in the job.",
        )
    job_text = f"nodes of the job: {listed(list(facts.allocated))}" if facts.allocated else "not inside a job"
    batch = "sbatch is available" if facts.has_sbatch else "sbatch is not available"
    return ok(f"srun has {facts.plugin}; {job_text}; {batch}.")

"""Launchers start the engine on the nodes. One small file each.

A launcher returns the command line up to the engine's own arguments. It knows nothing of studies,
cases or results. How to add one: docs/development/adding-a-launcher.md.

    placement          the interface of launchers, and their input
    hosts              the nodes for clients: as typed, or those of the allocation
    site_mpi           the site's `mpirun` and MPI, and the engine's connector for it
    failure_messages   error messages of launchers, explained
"""

from __future__ import annotations

from ioassay.errors import UsageError
from ioassay.launchers.local import Local
from ioassay.launchers.mpirun import Mpirun
from ioassay.launchers.placement import Launcher, Node, Placement
from ioassay.launchers.srun import Srun

__all__ = ["DEFAULT", "LAUNCHERS", "Launcher", "Node", "Placement", "find_launcher"]

DEFAULT = "local"
"""The default launcher."""

LAUNCHERS: dict[str, Launcher] = {
    "local": Local(),
    "mpirun": Mpirun(),
    "srun": Srun(),
}


def find_launcher(name: str) -> Launcher:
    """The launcher called `name`. Raises `UsageError` with the known ones."""
    try:
        return LAUNCHERS[name]
    except KeyError:
        known = ", ".join(sorted(LAUNCHERS))
        raise UsageError(
            f"There is no launcher `{name}`.", f"Use one of {known}; `ioassay run` also takes sbatch."
        ) from None

"""Launchers: how the engine gets onto the nodes. One small file each.

A launcher returns the command line up to the engine's own arguments. It knows nothing of studies,
cases or results. How to add one: docs/development/adding-a-launcher.md.

    placement          what launchers get, and what they are
    hosts              the nodes that clients can be on: as typed, or those of the allocation
    site_mpi           which `mpirun` and which MPI a site has, and what joins the engine with it
    failure_messages   what launchers print when they fail, and what that means
"""

from __future__ import annotations

from ioassay.errors import UsageError
from ioassay.launchers.local import Local
from ioassay.launchers.mpirun import Mpirun
from ioassay.launchers.placement import Launcher, Node, Placement
from ioassay.launchers.srun import Srun

__all__ = ["DEFAULT", "LAUNCHERS", "Launcher", "Node", "Placement", "find_launcher"]

DEFAULT = "local"
"""The launcher where none is named."""

LAUNCHERS: dict[str, Launcher] = {
    "local": Local(),
    "mpirun": Mpirun(),
    "srun": Srun(),
}


def find_launcher(name: str) -> Launcher:
    """The launcher called `name`. Raises `UsageError` that lists those there are."""
    try:
        return LAUNCHERS[name]
    except KeyError:
        known = ", ".join(sorted(LAUNCHERS))
        raise UsageError(
            f"There is no launcher `{name}`.", f"Use one of {known}; `ioassay run` also takes sbatch."
        ) from None

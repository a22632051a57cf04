"""Launchers: how the engine gets onto the nodes. One small file each.

A launcher returns the command line up to the engine's own arguments. It knows nothing of studies,
cases or results. To add one, write its file and add a line to `LAUNCHERS`.
"""

from __future__ import annotations

from ioassay.errors import UsageError
from ioassay.launchers.local import Local
from ioassay.launchers.mpirun import Mpirun
from ioassay.launchers.placement import Launcher, Node, Placement
from ioassay.launchers.srun import Srun

__all__ = ["LAUNCHERS", "Launcher", "Node", "Placement", "find_launcher"]

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
            f"There is no launcher `{name}`.", f"Launchers are: {known}; a whole run can be a job by sbatch."
        ) from None

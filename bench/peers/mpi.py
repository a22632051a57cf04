"""How MPI programs are started here: on this machine, one process a rank."""

from __future__ import annotations

# Processes are not bound to processors, since ioassay's are not; they talk through memory.
_LAUNCHER = ("mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader")


def mpirun(ranks: int) -> list[str]:
    """The tokens before the program."""
    return [*_LAUNCHER, "-np", str(ranks)]

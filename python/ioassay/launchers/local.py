"""Everything on this machine: the engine forks the ranks itself.

Without nodes, all clients of a case share this one; with nodes that are namespaces of this machine, such as the hosts
of a lab, they are spread over those. The engine reports both as doubts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import fspath
from pathlib import Path

from ioassay.launchers.mpirun import program
from ioassay.launchers.placement import Placement


class Local:
    """Starts the engine as a plain child process."""

    needs_mpi = False
    mpi_plugins: Mapping[str, str] = {}
    beside: Sequence[str] = ()
    program = staticmethod(program)

    def tokens(self, engine: Path, placement: Placement) -> list[str]:
        """The engine, and the hosts that it enters."""
        processes = [node.process for node in placement.used if node.process is not None]
        return [*placement.engine(engine), *(token for process in processes for token in ("--host", fspath(process)))]

"""How the engines of a run are started: launcher, nodes, secrets in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay.execution.places import LabAccess, lab_access
from ioassay.launchers import Launcher, Node, Placement, find_launcher, site_mpi
from ioassay.launchers.hosts import allocated
from ioassay.processes import engine
from ioassay.store.document import RunDocument


@dataclass(frozen=True)
class Start:
    """Starts engines for a run."""

    launcher: Launcher
    nodes: Sequence[Node]
    secrets: Mapping[str, str]
    options: Sequence[str] = ()
    """Additional arguments of the launcher."""
    library: Path | None = None
    """The connector between the engines and the launcher's MPI, if they use one."""
    mpi_in_ranks: bool = False
    """The storage API uses MPI too."""
    in_lab: bool = False

    @classmethod
    def of(cls, run: RunDocument, lab: LabAccess | None = None) -> Start:
        """For `run`, in `lab` or, without it, in the run's lab as it is now.

        Raises `UsageError`, `CannotRun` for a lab that is not up.
        """
        launcher = find_launcher(run.launcher)
        lab = lab or lab_access(run.storage, run.clients)
        nodes = lab.nodes if lab else [Node(name) for name in run.hosts]
        if not nodes and launcher.needs_mpi:
            nodes = allocated()
        library = site_mpi.library() if launcher.needs_mpi else None
        return cls(
            launcher,
            nodes,
            lab.secrets if lab else {},
            run.launcher_options,
            library,
            run.mpi_in_ranks,
            run.clients is not None,
        )

    @classmethod
    def here(cls, run: RunDocument, lab: LabAccess | None = None) -> Start:
        """For `run` as this node sees its target, whatever its launcher. `lab` and errors are those of `of`."""
        lab = lab or lab_access(run.storage, run.clients)
        return cls(find_launcher("local"), lab.nodes[:1] if lab else (), lab.secrets if lab else {})

    @property
    def stands_between(self) -> bool:
        """True if signals do not reach the engines because a launcher is in between."""
        return self.launcher.needs_mpi

    def alone(self, arguments: Sequence[str]) -> list[str]:
        """The command line of one engine on the first node, with these engine arguments."""
        return self._command(Placement(1, 1, self.nodes, options=self.options, forwarded=[*self.secrets]), arguments)

    def together(
        self, arguments: Sequence[str], clients: int, ranks_per_client: int, record: Path | None = None
    ) -> list[str]:
        """The command line of the engines of a case, recorded into `record`."""
        placement = Placement(
            clients,
            ranks_per_client,
            self.nodes,
            library=self.library,
            mpi_in_ranks=self.mpi_in_ranks,
            options=self.options,
            record=record,
            forwarded=[*self.secrets],
        )
        return self._command(placement, arguments)

    def environment(self) -> dict[str, str]:
        # Slurm variables of the surrounding cluster do not apply to a lab.
        inherited = {key: value for key, value in os.environ.items() if not (self.in_lab and key.startswith("SLURM_"))}
        return inherited | dict(self.secrets)

    def _command(self, placement: Placement, arguments: Sequence[str]) -> list[str]:
        return [*self.launcher.tokens(engine.find_engine(), placement), *arguments]

"""How the engines of a run are started: by which launcher, on which nodes, with what they are told in secret."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ioassay import engine
from ioassay.execution.places import nodes_of, secrets_of
from ioassay.launchers import Launcher, Node, Placement, find_launcher
from ioassay.results.document import RunDocument


@dataclass(frozen=True)
class Start:
    """Starts engines for a run."""

    launcher: Launcher
    nodes: Sequence[Node]
    secrets: Mapping[str, str]

    @classmethod
    def of(cls, run: RunDocument) -> Start:
        """For `run`, on the hosts as they are now. Raises `UsageError`, `CannotRun` for a lab that is not up."""
        return cls(find_launcher(run.launcher), nodes_of(run.clients), secrets_of(run.storage))

    def command(self, arguments: Sequence[str], clients: int = 1, ranks_per_client: int = 1) -> list[str]:
        """The command line that starts the engine with these arguments of its own."""
        placement = Placement(clients, ranks_per_client, self.nodes)
        return [*self.launcher.tokens(engine.find_engine(), placement), *arguments]

    def environment(self) -> dict[str, str]:
        """The environment to start it in."""
        return os.environ | dict(self.secrets)

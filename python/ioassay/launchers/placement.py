"""The interface of launchers, and their input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Node:
    """A node for clients."""

    name: str
    process: PathLike[str] | None = None
    """The directory in /proc of a process whose namespaces are the node; `None`: a machine."""


@dataclass(frozen=True)
class Placement:
    """The ranks of a case: `clients` nodes with `ranks_per_client` ranks on each."""

    clients: int
    ranks_per_client: int
    nodes: Sequence[Node] = ()
    """The nodes to use; empty: this node for all clients."""
    library: Path | None = None
    """The engine's connector for the launcher's MPI; `None`: without MPI, for a single engine."""
    mpi_in_ranks: bool = False
    """The storage API uses MPI too."""
    options: Sequence[str] = ()
    """Additional arguments of the launcher, as typed."""
    record: Path | None = None
    """The record of each engine; `None`: not recorded."""
    forwarded: Sequence[str] = ()
    """Names of environment variables that the engines need on their nodes."""

    @property
    def used(self) -> Sequence[Node]:
        """The nodes for clients: the first ones. With more clients than nodes, clients share them."""
        return self.nodes[: self.clients]

    @property
    def ranks(self) -> int:
        """The total number."""
        return self.clients * self.ranks_per_client

    @property
    def ranks_on_each(self) -> list[int]:
        """Ranks on each of the used nodes: clients are assigned in blocks, and the first nodes get one more."""
        nodes = max(1, len(self.used))
        clients_per_node, remainder = divmod(self.clients, nodes)
        return [(clients_per_node + (node < remainder)) * self.ranks_per_client for node in range(nodes)]

    def engine(self, engine: Path) -> list[str]:
        """The engine as started by each process of a launcher, up to its own command."""
        recorder = ["record", "--stop-with-parent", "--out", str(self.record), "--", str(engine)] if self.record else []
        meeting = ["--mpi", str(self.library)] if self.library else []
        return [str(engine), *recorder, *meeting, *(["--mpi-in-ranks"] if self.mpi_in_ranks else [])]

    def launch(self, engine: Path) -> list[str]:
        """The prefix of a launcher's command: the engine makes it end with its caller, and enters a lab's host."""
        first = self.used[0].process if self.used else None
        return [str(engine), *(["--host", fspath(first)] if first else []), "launch", "--"]


class Launcher(Protocol):
    """Starts the engine on nodes."""

    needs_mpi: bool
    """Its engines communicate over MPI; without, they are all on this machine."""

    mpi_plugins: Mapping[str, str]
    """Its plug-ins by family of MPI; empty if the launcher belongs to an MPI."""

    beside: Sequence[str]
    """The prefix of a command on one of its nodes, concurrent with the engines, before the node's name; empty: ssh."""

    def program(self, nodes: int, ranks_per_node: int, hosts: Sequence[str]) -> list[str]:
        """The prefix that starts any MPI program in every rank. Without `hosts`, on the site's default."""
        ...

    def tokens(self, engine: Path, placement: Placement) -> list[str]:
        """The command line that starts `engine` on `placement`, up to the engine's own command. Raises `CannotRun`."""
        ...

"""What launchers get, and what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Node:
    """A node that clients can be on."""

    name: str
    process: PathLike[str] | None = None
    """The directory in /proc of a process in whose namespaces it is; `None`: a machine of its own."""


@dataclass(frozen=True)
class Placement:
    """Which ranks a case needs: `clients` nodes with `ranks_per_client` ranks on each."""

    clients: int
    ranks_per_client: int
    nodes: Sequence[Node] = ()
    """The nodes to take; none: this one, whatever the clients."""
    library: Path | None = None
    """The connector of the engine for the launcher's MPI; `None`: there is none, one engine is alone."""
    mpi_in_ranks: bool = False
    """The storage API uses MPI too."""
    options: Sequence[str] = ()
    """More for the launcher, as typed."""
    record: Path | None = None
    """Where each engine's record is to be; `None`: it is not recorded."""
    forwarded: Sequence[str] = ()
    """Names of environment variables that the engines need on their nodes."""

    @property
    def used(self) -> Sequence[Node]:
        """The nodes that clients are on: the first ones. More clients than nodes share them."""
        return self.nodes[: self.clients]

    @property
    def ranks(self) -> int:
        """In all."""
        return self.clients * self.ranks_per_client

    @property
    def ranks_on_each(self) -> list[int]:
        """Ranks on each of the used nodes: clients are distributed in blocks, the first nodes getting one more."""
        nodes = max(1, len(self.used))
        each, more = divmod(self.clients, nodes)
        return [(each + (node < more)) * self.ranks_per_client for node in range(nodes)]

    def engine(self, engine: Path) -> list[str]:
        """The engine as each process of a launcher starts it, up to its own command."""
        recorder = ["record", "--stop-with-parent", "--out", str(self.record), "--", str(engine)] if self.record else []
        meeting = ["--mpi", str(self.library)] if self.library else []
        return [str(engine), *recorder, *meeting, *(["--mpi-in-ranks"] if self.mpi_in_ranks else [])]

    def launch(self, engine: Path) -> list[str]:
        """What starts a launcher: the engine ends it together with its caller, and enters a lab's host."""
        first = self.used[0].process if self.used else None
        return [str(engine), *(["--host", fspath(first)] if first else []), "launch", "--"]


class Launcher(Protocol):
    """Starts the engine somewhere."""

    needs_mpi: bool
    """Its engines meet over MPI. The others are all on this machine."""

    mpi_plugins: Mapping[str, str]
    """What it calls a family of MPI, where it has plug-ins for them; empty: it is the family's own."""

    beside: Sequence[str]
    """What a command on one of its nodes, beside the engines, begins with: the node's name follows. Empty: ssh does."""

    def program(self, nodes: int, ranks_per_node: int, hosts: Sequence[str]) -> list[str]:
        """What starts a program of MPI in every rank, other than the engine. No `hosts`: as the site has it."""
        ...

    def tokens(self, engine: Path, placement: Placement) -> list[str]:
        """The command line that puts `engine` onto `placement`, up to the engine's own command. Raises `CannotRun`."""
        ...

"""Launchers: how the engine gets onto the nodes. One small file each.

A launcher returns the command line up to the engine's own arguments. It knows nothing of studies,
cases or results. To add one, write its file and add a line to `LAUNCHERS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ioassay.errors import UsageError
from ioassay.launchers.local import Local


@dataclass(frozen=True)
class Node:
    """A node that clients can be on."""

    name: str
    pid: int
    """A process of this machine in whose namespaces it is."""


@dataclass(frozen=True)
class Placement:
    """Which ranks a case needs: `clients` nodes with `ranks_per_client` ranks on each."""

    clients: int
    ranks_per_client: int
    nodes: Sequence[Node] = ()
    """The nodes to take; none: this one, whatever the clients."""

    @property
    def used(self) -> Sequence[Node]:
        """The nodes that clients are on: the first ones. More clients than nodes share them."""
        return self.nodes[: self.clients]


class Launcher(Protocol):
    """Starts the engine somewhere."""

    def tokens(self, engine: Path, placement: Placement) -> list[str]:
        """The command line that puts `engine` onto `placement`, up to the engine's own command."""
        ...


LAUNCHERS: dict[str, Launcher] = {
    "local": Local(),
}


def find_launcher(name: str) -> Launcher:
    """The launcher called `name`. Raises `UsageError` that lists those there are."""
    try:
        return LAUNCHERS[name]
    except KeyError:
        known = ", ".join(sorted(LAUNCHERS))
        raise UsageError(f"There is no launcher `{name}`.", f"Launchers are: {known}.") from None

"""Launchers: how the engine gets onto the nodes. One small file each.

A launcher returns the command-line tokens that go before the engine's own. It knows nothing of studies,
cases or results. To add one, write its file and add a line to `LAUNCHERS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ioassay.errors import UsageError
from ioassay.launchers.local import Local


@dataclass(frozen=True)
class Placement:
    """Which ranks a case needs: `clients` nodes with `ranks_per_client` ranks on each."""

    clients: int
    ranks_per_client: int


class Launcher(Protocol):
    """Starts the engine somewhere."""

    def tokens(self, placement: Placement) -> list[str]:
        """The tokens that go before the engine's command line to put it onto `placement`."""
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

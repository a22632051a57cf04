"""Everything on this machine: the engine forks the ranks itself, so there is nothing to put before it.

All clients of a case share one node then; the engine stores that as a doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioassay.launchers import Placement


class Local:
    """Starts the engine as a plain child process."""

    def tokens(self, placement: Placement) -> list[str]:
        """No tokens: the engine forks `placement`'s ranks by itself."""
        return []

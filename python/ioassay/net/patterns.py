"""Which client sends to which server: one to one, one to all, all to one, all to all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ioassay.store.net_document import Direction, path_name

Pattern = Literal["1-1", "1-m", "n-1", "n-m"]
"""Clients and servers that take part: the first one, or all."""

PATTERNS: tuple[Pattern, ...] = get_args(Pattern)

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


@dataclass(frozen=True)
class Meeting:
    """Clients and servers that are measured together: how many, the first ones, and where the data goes."""

    clients: int
    servers: int
    direction: Direction

    @property
    def name(self) -> str:
        """The path that it measures."""
        return path_name(self.clients, self.servers, self.direction)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(client, server) of each flow, counted from 0: one for each of what there is more of, the others in turn."""
        return [(at % self.clients, at % self.servers) for at in range(max(self.clients, self.servers))]


def meetings(patterns: Sequence[Pattern], directions: Sequence[Direction], clients: int, servers: int) -> list[Meeting]:
    """What is to be measured, each once: with one client n-1 is the same as 1-1. Small ones first."""
    sizes = [
        (1 if pattern[0] == "1" else clients, 1 if pattern[2] == "1" else servers)
        for pattern in PATTERNS
        if pattern in patterns
    ]
    return [Meeting(*size, direction) for size in dict.fromkeys(sizes) for direction in directions]

"""Pairs of clients and servers: one to one, one to all, all to one, all to all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ioassay.store.net_document import Direction, path_name

Pattern = Literal["1-1", "1-m", "n-1", "n-m"]
"""Participating clients and servers: the first one, or all."""

PATTERNS: tuple[Pattern, ...] = get_args(Pattern)

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


@dataclass(frozen=True)
class MeasuredPath:
    """The first clients and servers, which are measured together, and the direction of the data."""

    clients: int
    servers: int
    direction: Direction

    @property
    def name(self) -> str:
        """The name of the measured path."""
        return path_name(self.clients, self.servers, self.direction)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(client, server) of each flow, from 0: one for each host of the larger side, with the others in turn."""
        return [(number % self.clients, number % self.servers) for number in range(max(self.clients, self.servers))]


def measured_paths(
    patterns: Sequence[Pattern], directions: Sequence[Direction], clients: int, servers: int
) -> list[MeasuredPath]:
    """The measurements, each once (with one client, n-1 equals 1-1), from small to large."""
    sizes = [
        (1 if pattern[0] == "1" else clients, 1 if pattern[2] == "1" else servers)
        for pattern in PATTERNS
        if pattern in patterns
    ]
    return [MeasuredPath(*size, direction) for size in dict.fromkeys(sizes) for direction in directions]

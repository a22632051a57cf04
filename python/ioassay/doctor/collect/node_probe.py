"""Each node alone: the launcher starts the engine there, which only says its version."""

from __future__ import annotations

from pathlib import Path

from ioassay.doctor.facts import Reached
from ioassay.execution.alone import Patience, ask_each
from ioassay.execution.interruption import Interruption
from ioassay.execution.start import Start

LIMIT_S = 20
"""Longer than ssh or Slurm take where a node is up."""


def reached(start: Start, scratch: Path, interruption: Interruption) -> list[Reached]:
    """Every node of `start`, in that order; where it names none the launcher's choice is one."""
    return [
        Reached(answer.node, answer.version, answer.printed, answer.waited_s)
        for answer in ask_each(start, scratch, interruption, Patience(LIMIT_S))
    ]

"""The IOR command line that does the same as a phase, for the report's appendix.

It is printed as the studies of the field print theirs, so that a reader can repeat a case with the tool that
everybody has. Where IOR cannot do quite the same, a comment at its end says so.

Not here: running IOR, reading its command lines.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from ioassay.studies import sweep
from ioassay.studies.model import Step, Workload
from ioassay.units import format_duration

_LETTERS = {"g": 1 << 30, "m": 1 << 20, "k": 1 << 10}


def ior_command(workload: Workload, clients: int, phase: Step, data_file: Path, launcher: str) -> str:
    """IOR's equivalent of `phase` in the case of `workload` with `clients`."""
    tokens = [*_start(workload, clients, launcher), "ior", "-a", "POSIX", "-v", "-i", "1"]
    notes = []
    pause_ns = max((step.pause for step in workload.steps if step.pause is not None), default=0)
    if pause_ns:
        seconds = -(-pause_ns // 10**9)
        tokens += ["-d", str(seconds)]
        if pause_ns % 10**9:
            notes.append(f"the pause was {format_duration(pause_ns)}; -d takes whole seconds")
    # IOR takes -e for a whole job and heeds it in writes only; the field's scripts give it to both halves.
    if any(step.write and sweep.fsync_of(step) == "at-end" for step in workload.steps):
        tokens.append("-e")
    if workload.layout == "N-N":
        tokens.append("-F")
    tokens += ["-k", "-o", str(data_file), "-w" if phase.write else "-r"]
    order = sweep.order_of(workload, phase)
    if order != "sequential":
        tokens.append("-z")
    if order == "random-with-replacement":
        notes.append("-z visits each offset once; here each was drawn afresh")
    tokens += ["-s", str(workload.segments), "-t", _ior_size(workload.transfer)]
    tokens += ["-b", _ior_size(sweep.block_bytes(workload, clients))]
    return shlex.join(tokens) + (f"  # {'; '.join(notes)}" if notes else "")


def _start(workload: Workload, clients: int, launcher: str) -> list[str]:
    ranks, per_client = str(sweep.ranks(workload, clients)), str(workload.ranks_per_client)
    if launcher == "local":  # all ranks on this one machine: a host file would be another experiment
        return ["mpirun", "-np", ranks]
    return ["mpirun", "-np", ranks, "-npernode", per_client, "-hostfile", "hosts"]


def _ior_size(size_bytes: int) -> str:
    letter = next((letter for letter, factor in _LETTERS.items() if size_bytes % factor == 0), None)
    return f"{size_bytes // _LETTERS[letter]}{letter}" if letter else str(size_bytes)

"""Each node alone: the launcher starts the engine there, which only says its version."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ioassay.doctor.collect.control_plane import version_of
from ioassay.doctor.facts import Reached
from ioassay.execution.interruption import Interruption
from ioassay.execution.process import EngineProcess
from ioassay.execution.start import Start
from ioassay.launchers import Node

LIMIT_S = 20
"""Longer than ssh or Slurm take where a node is up."""

_AT_ONCE = 16
_LOOK_EVERY_S = 0.1


def reached(start: Start, scratch: Path, interruption: Interruption) -> list[Reached]:
    """Every node of `start`, in that order; where it names none the launcher's choice is one."""
    # Always from where a launcher would be started, which in a lab is the first host.
    nodes = [Node(node.name, start.nodes[0].process) for node in start.nodes]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        jobs = [
            pool.submit(
                _reach, replace(start, nodes=nodes[number : number + 1]), scratch / f"node-{number}", interruption
            )
            for number in range(max(1, len(nodes)))
        ]
        return [job.result() for job in jobs]


def _reach(start: Start, output: Path, interruption: Interruption) -> Reached:
    command = start.alone(["--version"])
    begin = time.monotonic()
    with EngineProcess(command, output, environment=start.environment(), through=True) as process:
        while not (ended := process.wait(_LOOK_EVERY_S)):
            if interruption.first or time.monotonic() > begin + LIMIT_S:
                break
        if not ended:
            # It listens to nobody: what it would listen with has not begun.
            process.kill()
    printed = output.read_text(errors="replace")
    version = version_of(printed)
    silent = None if ended or version else time.monotonic() - begin
    name = start.nodes[0].name if start.nodes else "this node"
    return Reached(name, version, printed, silent)

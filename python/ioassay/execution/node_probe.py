"""One engine on each node alone, by the launcher of a run: which nodes it reaches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ioassay.execution.engine_process import EngineProcess
from ioassay.execution.engine_start import Start
from ioassay.execution.interruption import Interruption
from ioassay.launchers import Node
from ioassay.processes.engine import version_of

_AT_ONCE = 16
_LOOK_EVERY_S = 0.1

_AS_LONG_AS_OTHERS = 3.0
"""How many times as long as the slowest answer a node may take that is up."""

_MOST_ASKED = 64
"""More nodes take longer to ask than whoever waits for a message has."""


@dataclass(frozen=True)
class Answer:
    """What came of starting the engine on a node."""

    node: str
    version: str | None
    """Of the engine there; `None` where it did not start."""
    printed: str
    """By the engine and its launcher."""
    waited_s: float | None
    """For how long there was no answer; `None` where there was one."""


class Patience:
    """For how long answers are waited for: `limit_s`; less once most of `nodes` have answered and others take long."""

    def __init__(self, limit_s: float, nodes: int | None = None) -> None:
        self._begin = time.monotonic()
        self._limit_s = limit_s
        self._nodes = nodes
        self._answers_s: list[float] = []

    def answered(self) -> None:
        """A node has."""
        self._answers_s.append(time.monotonic() - self._begin)

    def is_over(self) -> bool:
        """Nobody else is waited for."""
        limit_s = self._limit_s
        if self._nodes is not None and 2 * len(self._answers_s) > self._nodes:
            limit_s = min(limit_s, _AS_LONG_AS_OTHERS * max(self._answers_s))
        return time.monotonic() - self._begin > limit_s


def ask_each(start: Start, scratch: Path, interruption: Interruption, patience: Patience) -> list[Answer]:
    """Has the engine say its version on every node of `start`, in that order; where it names none, on the launcher's
    choice."""
    # Always from where a launcher would be started, which in a lab is the first host.
    nodes = [Node(node.name, start.nodes[0].process) for node in start.nodes]

    def ask(number: int) -> Answer:
        own = replace(start, nodes=nodes[number : number + 1])
        return _ask(own, scratch / f"node-{number}", interruption, patience)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, range(max(1, len(nodes)))))


def silent_nodes(start: Start, clients: int, interruption: Interruption, limit_s: float) -> list[str]:
    """Those of the first `clients` nodes on which no engine answers, where others do, or within `limit_s`.

    None where they are too many to be asked.
    """
    nodes: Sequence[Node] = start.nodes[:clients]
    if not start.stands_between or not 1 < len(nodes) <= _MOST_ASKED:
        return []
    with TemporaryDirectory() as scratch:
        answers = ask_each(replace(start, nodes=nodes), Path(scratch), interruption, Patience(limit_s, len(nodes)))
    return [answer.node for answer in answers if answer.version is None]


def _ask(start: Start, output: Path, interruption: Interruption, patience: Patience) -> Answer:
    begin = time.monotonic()
    with EngineProcess(start.alone(["--version"]), output, environment=start.environment(), through=True) as process:
        while not (ended := process.wait(_LOOK_EVERY_S)):
            if interruption.first or patience.is_over():
                break
        if not ended:
            # It listens to nobody: what it would listen with has not begun.
            process.kill()
    printed = output.read_text(errors="replace")
    version = version_of(printed)
    if version:
        patience.answered()
    silent = None if ended or version else time.monotonic() - begin
    return Answer(start.nodes[0].name if start.nodes else "this node", version, printed, silent)

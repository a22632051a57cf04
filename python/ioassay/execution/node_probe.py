"""Starts one engine on each node through the launcher of a run: which nodes it reaches."""

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
"""A node that is up answers within this multiple of the slowest answer so far."""

_MOST_ASKED = 64
"""Nodes that can be probed within the time that a user waits for a message."""


@dataclass(frozen=True)
class Answer:
    """The result of starting the engine on a node."""

    node: str
    version: str | None
    """Version of the engine there; `None` if it did not start."""
    printed: str
    """Output of the engine and its launcher."""
    waited_s: float | None
    """Seconds without an answer; `None` if there was one."""


class Patience:
    """How long to wait for answers: `limit_s`; less once most of `nodes` have answered and the others take long."""

    def __init__(self, limit_s: float, nodes: int | None = None) -> None:
        self._begin = time.monotonic()
        self._limit_s = limit_s
        self._nodes = nodes
        self._answers_s: list[float] = []

    def answered(self) -> None:
        """Records an answer."""
        self._answers_s.append(time.monotonic() - self._begin)

    def is_over(self) -> bool:
        """True if no further answer is waited for."""
        limit_s = self._limit_s
        if self._nodes is not None and 2 * len(self._answers_s) > self._nodes:
            limit_s = min(limit_s, _AS_LONG_AS_OTHERS * max(self._answers_s))
        return time.monotonic() - self._begin > limit_s


def ask_each(start: Start, scratch: Path, interruption: Interruption, patience: Patience) -> list[Answer]:
    """Asks for the engine's version on every node of `start`, in order; without nodes, on the node that the launcher
    chooses."""
    # Always from the node where a launcher would be started; in a lab, the first host.
    nodes = [Node(node.name, start.nodes[0].process) for node in start.nodes]

    def ask(number: int) -> Answer:
        start_of_node = replace(start, nodes=nodes[number : number + 1])
        return _ask(start_of_node, scratch / f"node-{number}", interruption, patience)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, range(max(1, len(nodes)))))


def silent_nodes(start: Start, clients: int, interruption: Interruption, limit_s: float) -> list[str]:
    """The nodes among the first `clients` on which no engine answers, although others do, or within `limit_s`.

    Empty if there are too many to ask.
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
        while not (has_ended := process.wait(_LOOK_EVERY_S)):
            if interruption.first or patience.is_over():
                break
        if not has_ended:
            # Its signal handling has not started yet, so it can only be killed.
            process.kill()
    printed = output.read_text(errors="replace")
    version = version_of(printed)
    if version:
        patience.answered()
    silent_s = None if has_ended or version else time.monotonic() - begin
    return Answer(start.nodes[0].name if start.nodes else "this node", version, printed, silent_s)

"""Each node alone: whether the launcher reaches it, and the version of the engine there."""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.doctor.checks.node_names import listed
from ioassay.doctor.facts import NodeProbe, Problem
from ioassay.doctor.verdict import Verdict, failed, ok
from ioassay.launchers.failure_messages import meaning, telling
from ioassay.text.units import format_count
from ioassay.version import __version__

_BY_HAND = "Start another program there with the same launcher, for example `hostname`, and check its output."


def engine_there(nodes: Sequence[NodeProbe]) -> Verdict | None:
    """The same engine starts on every node."""
    if not nodes:
        return None
    failing = [node for node in nodes if node.version != __version__]
    if not failing:
        return ok(f"{__version__} starts on {format_count(len(nodes), 'node')}.")
    # Nodes with the same problem share a sentence.
    by_trouble: dict[Problem, list[str]] = {}
    for node in failing:
        by_trouble.setdefault(_trouble(node), []).append(node.node)
    troubles = "; ".join(f"{listed(names)}: {trouble.message.rstrip('.')}" for trouble, names in by_trouble.items())
    remedies = dict.fromkeys(trouble.remedy for trouble in by_trouble)
    return failed(f"{troubles}.", " ".join(remedies))


def _trouble(node: NodeProbe) -> Problem:
    if node.version is not None:
        return Problem(f"the engine there is {node.version}", "Install the same version of ioassay on all nodes.")
    if explanation := meaning(node.printed):
        return Problem(*explanation)
    if node.waited_s is not None:
        return Problem(
            f"no answer within {node.waited_s:.0f} s",
            "Check that the node is up and reachable from here (ssh -o BatchMode=yes NODE true; with Slurm: sinfo -N).",
        )
    return Problem(f"the engine does not start ({'; '.join(telling(node.printed)) or 'no output'})", _BY_HAND)

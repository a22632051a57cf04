"""All nodes together: whether their ranks connect, and report."""

from __future__ import annotations

from ioassay.doctor.checks.node_names import listed
from ioassay.doctor.facts import Rendezvous
from ioassay.doctor.verdict import Verdict, failed, not_checked, ok, warning
from ioassay.launchers.failure_messages import losses, meaning, telling
from ioassay.text.units import format_count

_BY_HAND = "Run any MPI program on the same nodes with the same launcher, and check its output."


def met(facts: Rendezvous) -> Verdict:
    """The ranks have connected, and run where they were requested."""
    if facts.survey is None:
        # The engine's error is closer to the cause than the launcher's message about it.
        if facts.failure is not None:
            return failed(_sentence(facts.failure.message), _sentence(facts.failure.remedy))
        printed = "; ".join(telling(facts.printed)) or "nothing"
        if explanation := meaning(facts.printed):
            # The launcher's line names the node.
            return failed(
                f"{explanation.message} {printed}" if losses(facts.printed) else explanation.message, explanation.remedy
            )
        return failed(f"The engine did not report. The launcher printed: {printed}", _BY_HAND)
    ranks = [node["ranks"] for node in facts.survey["nodes"]]
    summary = f"{format_count(sum(ranks), 'rank')} on {format_count(len(ranks), 'node')}"
    requested = max(1, len(facts.nodes))
    if len(ranks) != requested or set(ranks) != {facts.ranks_per_node}:
        placement = listed([f"{node['ranks']} on {node['environment']['host']}" for node in facts.survey["nodes"]])
        return warning(
            f"{format_count(facts.ranks_per_node, 'rank')} on each of {format_count(requested, 'node')} requested, but "
            f"there are {placement}.",
            "Check whether two of the names are the same node, and the hosts and options of the launcher.",
        )
    return ok(f"{summary}.")


def events(facts: Rendezvous) -> Verdict:
    """Files that the first rank writes into the run directory are visible here."""
    if facts.survey is not None:
        return ok("Files that the first node writes beside run directories are visible here.")
    messages = facts.printed + (facts.failure.message if facts.failure else "")
    if facts.events in messages:
        return failed(
            "The directory for runs is not visible on the first node.",
            "Use a directory that is mounted on that node too: change to it, or set --out.",
        )
    return not_checked("The rendezvous of the nodes failed.", "Fix that first.")


def _sentence(text: str) -> str:
    """The engine's text as a sentence."""
    return text[:1].upper() + text[1:].rstrip(".") + "."

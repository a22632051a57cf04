"""All nodes together: whether their ranks meet, and report."""

from __future__ import annotations

from ioassay.doctor.checks.node_names import listed
from ioassay.doctor.facts import Meeting
from ioassay.doctor.verdict import Verdict, failed, not_checked, ok, warning
from ioassay.launchers.failure_messages import losses, meaning, telling
from ioassay.text.units import format_count

_BY_HAND = "Run any MPI program on the same nodes with the same launcher, and check its output."


def met(facts: Meeting) -> Verdict:
    """The ranks have met, and are where they were asked to be."""
    if facts.survey is None:
        # What the engine says is nearer to the cause than what a launcher makes of it.
        if facts.failure is not None:
            return failed(_sentence(facts.failure.message), _sentence(facts.failure.remedy))
        printed = "; ".join(telling(facts.printed)) or "nothing"
        if known := meaning(facts.printed):
            # Which node that is about, the launcher's own line says.
            return failed(f"{known.message} {printed}" if losses(facts.printed) else known.message, known.remedy)
        return failed(f"The engine did not report. The launcher printed: {printed}", _BY_HAND)
    ranks = [node["ranks"] for node in facts.survey["nodes"]]
    met = f"{format_count(sum(ranks), 'rank')} on {format_count(len(ranks), 'node')}"
    asked = max(1, len(facts.nodes))
    if len(ranks) != asked or set(ranks) != {facts.ranks_per_node}:
        where = listed([f"{node['ranks']} on {node['environment']['host']}" for node in facts.survey["nodes"]])
        return warning(
            f"{format_count(facts.ranks_per_node, 'rank')} on each of {format_count(asked, 'node')} requested, but "
            f"there are {where}.",
            "Check whether two of the names are the same node, and the hosts and options of the launcher.",
        )
    return ok(f"{met}.")


def events(facts: Meeting) -> Verdict:
    """What the first rank writes into the run directory is seen here."""
    if facts.survey is not None:
        return ok("Files that the first node writes beside run directories are visible here.")
    said = facts.printed + (facts.failure.message if facts.failure else "")
    if facts.events in said:
        return failed(
            "The directory for runs is not visible on the first node.",
            "Use a directory that is mounted on that node too: change to it, or set --out.",
        )
    return not_checked("The rendezvous of the nodes failed.", "Fix that first.")


def _sentence(text: str) -> str:
    """The engine writes without a full stop."""
    return text[:1].upper() + text[1:].rstrip(".") + "."

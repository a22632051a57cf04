"""The target as seen by each node: usable, the same file system everywhere, free space, no leftovers of the check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.doctor.checks.node_names import host, listed, on, who_differs
from ioassay.doctor.facts import Rendezvous
from ioassay.doctor.verdict import Verdict, failed, not_checked, ok, warning
from ioassay.text.units import format_about_bytes, format_count

if TYPE_CHECKING:
    from ioassay.protocol.event import SurveyedNode, TargetLook

_LITTLE_BYTES = 1 << 30
_FEW_INODES = 10_000


def usable(facts: Rendezvous, nodes: Sequence[SurveyedNode]) -> Verdict:
    """It is a writable directory that responds on every node."""
    # Nodes that do not see the first node's files have a line of their own (`same`).
    problems = [(node, problem) for node in nodes if (problem := _look(node)["problem"])]
    unusable = [(node, problem) for node, problem in problems if _look(node)["shared"] is not False]
    unusable += [(node, problem) for node, problem in problems if node is nodes[0] and _look(node)["shared"] is False]
    if unusable:
        messages = dict.fromkeys(f"{host(node)}: {problem['message']}" for node, problem in unusable)
        remedies = dict.fromkeys(problem["remedy"] for _, problem in unusable)
        return failed(f"{'; '.join(messages)}.", f"{_capital('; '.join(remedies))}.")
    mount = nodes[0]["environment"]["mount"]
    file_system = (
        f"{mount['file_system']} of {mount['source'] or 'an unknown source'}" if mount else "an unnamed file system"
    )
    return ok(f"{facts.target} is on {file_system} and is writable.")


def same(facts: Rendezvous, nodes: Sequence[SurveyedNode]) -> Verdict | None:
    """All nodes read the file that the first one has written there."""
    if len(nodes) == 1:
        return None
    first, *other_nodes = nodes
    if not_seeing := [node for node in other_nodes if _look(node)["shared"] is False]:
        mounts = [f"{host(node)} has {_mount(node)} there" for node in not_seeing]
        return failed(
            f"Files that {host(first)} writes to {facts.target} are not visible {on(not_seeing, nodes)}: "
            f"{listed(mounts)}, "
            f"{host(first)} has {_mount(first)}.",
            f"Mount the same file system on all nodes, and compare: findmnt --target {facts.target}",
        )
    if not _look(first)["shared"]:
        return not_checked(f"{host(first)} could not write the test file that the others read.", "Fix that first.")
    if not_reading := [node for node in other_nodes if _look(node)["shared"] is None]:
        return not_checked(f"The target cannot be read {on(not_reading, nodes)}.", "Fix that first.")
    return ok(f"The test file that {host(first)} wrote was read by {listed([host(node) for node in other_nodes])}.")


def mounted_alike(facts: Rendezvous, nodes: Sequence[SurveyedNode]) -> Verdict | None:
    """It is mounted from the same source with the same options."""
    mounted = [node for node in nodes if node["environment"]["mount"]]
    if not mounted:
        return None
    differences = [
        f"{label}: {difference}"
        for label, value_of in (("source", _source), ("options", _options))
        if (difference := who_differs(mounted, value_of))
    ]
    if differences:
        return warning(
            f"{'; '.join(differences)}.",
            "Use the same mount options on all nodes; otherwise a case mixes two kinds of clients.",
        )
    mount = mounted[0]["environment"]["mount"]
    return ok(f"{mount['mount_point']}: {_options(mounted[0])}") if mount else None


def free_space(facts: Rendezvous, nodes: Sequence[SurveyedNode]) -> Verdict | None:
    """There is free space, according to every node."""
    reported = [
        (_is_short(free_bytes, inodes), free_bytes, inodes, host(node))
        for node in nodes
        if (free_bytes := _look(node)["free_bytes"]) is not None
        for inodes in (_look(node)["free_inodes"],)
    ]
    notes = [f"{_capital(note)}." for note in _notes(nodes)]
    if not reported:
        return not_checked(" ".join(notes), "Nothing to do.") if notes else None
    is_short, free_bytes, inodes, name = min(reported, key=lambda entry: (not entry[0], entry[1]))
    free_text = format_about_bytes(free_bytes) + (f" and {format_count(inodes, 'inode')}" if inodes is not None else "")
    if is_short:
        return warning(
            f"Only {free_text} are free, according to {name}.",
            "Free some space, check quotas, or use a smaller total (--set total=…); a run prints its needs first.",
        )
    return ok(" ".join([f"{free_text} are free.", *notes]))


def left_behind(facts: Rendezvous, nodes: Sequence[SurveyedNode]) -> Verdict:
    """The test files are removed."""
    if not _look(nodes[0])["answered"]:
        return failed(
            f"{facts.workspace} may appear when the target responds again.",
            f"Check then, and remove it by hand: rm -r {facts.workspace}",
        )
    if facts.left:
        return failed(
            f"{listed(list(facts.left))} could not be removed.", f"Remove it by hand: rm -r {' '.join(facts.left)}"
        )
    return ok("Nothing: the test files were removed.")


def _notes(nodes: Sequence[SurveyedNode]) -> list[str]:
    """Implausible values that the file systems report about their room, each once."""
    mounts = [mount for node in nodes if (mount := node["environment"].get("mount"))]
    return list(dict.fromkeys(note for mount in mounts for note in mount.get("notes", [])))


def _look(node: SurveyedNode) -> TargetLook:
    """A node's results for the target; they exist when these checks run."""
    look = node.get("target")
    assert look is not None
    return look


def _is_short(free_bytes: int, inodes: int | None) -> bool:
    return free_bytes < _LITTLE_BYTES or (inodes is not None and inodes < _FEW_INODES)


def _mount(node: SurveyedNode) -> str:
    mount = node["environment"]["mount"]
    return (
        f"{mount['file_system']} of {mount['source'] or 'an unknown source'} ({mount['mount_point']})"
        if mount
        else "nothing"
    )


def _source(node: SurveyedNode) -> str:
    mount = node["environment"]["mount"]
    return f"{mount['source']} ({mount['file_system']})" if mount else ""


def _options(node: SurveyedNode) -> str:
    mount = node["environment"]["mount"]
    return ",".join(mount["options"]) if mount else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

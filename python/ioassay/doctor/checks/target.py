"""What each node says of the target: usable, one file system everywhere, room, and nothing left of the look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.doctor.checks.node_names import host, listed, on, who_differs
from ioassay.doctor.facts import Meeting
from ioassay.doctor.verdict import Verdict, failed, not_checked, ok, warning
from ioassay.text.units import format_about_bytes, format_count

if TYPE_CHECKING:
    from ioassay.protocol.event import SurveyedNode, TargetLook

_LITTLE_BYTES = 1 << 30
_FEW_INODES = 10_000


def usable(facts: Meeting, nodes: Sequence[SurveyedNode]) -> Verdict:
    """It is a directory that may be written to, and answers, on every node."""
    # Who does not see what the first node has created has a line of its own.
    met = [(node, problem) for node in nodes if (problem := _look(node)["problem"])]
    bad = [(node, problem) for node, problem in met if _look(node)["shared"] is not False]
    bad += [(node, problem) for node, problem in met if node is nodes[0] and _look(node)["shared"] is False]
    if bad:
        said = dict.fromkeys(f"{host(node)}: {problem['message']}" for node, problem in bad)
        remedies = dict.fromkeys(problem["remedy"] for _, problem in bad)
        return failed(f"{'; '.join(said)}.", f"{_capital('; '.join(remedies))}.")
    mount = nodes[0]["environment"]["mount"]
    what = f"{mount['file_system']} of {mount['source'] or 'an unknown source'}" if mount else "an unnamed file system"
    return ok(f"{facts.target} is on {what} and is writable.")


def same(facts: Meeting, nodes: Sequence[SurveyedNode]) -> Verdict | None:
    """All nodes read what the first one has written there."""
    if len(nodes) == 1:
        return None
    first, *others = nodes
    if blind := [node for node in others if _look(node)["shared"] is False]:
        mounts = [f"{host(node)} has {_mount(node)} there" for node in blind]
        return failed(
            f"Files that {host(first)} writes to {facts.target} are not visible {on(blind, nodes)}: {listed(mounts)}, "
            f"{host(first)} has {_mount(first)}.",
            f"Mount the same file system on all nodes, and compare: findmnt --target {facts.target}",
        )
    if not _look(first)["shared"]:
        return not_checked(f"{host(first)} could not write the test file that the others read.", "Fix that first.")
    if unknown := [node for node in others if _look(node)["shared"] is None]:
        return not_checked(f"The target cannot be read {on(unknown, nodes)}.", "Fix that first.")
    return ok(f"The test file that {host(first)} wrote was read by {listed([host(node) for node in others])}.")


def mounted_alike(facts: Meeting, nodes: Sequence[SurveyedNode]) -> Verdict | None:
    """It is mounted from the same source with the same options."""
    mounted = [node for node in nodes if node["environment"]["mount"]]
    if not mounted:
        return None
    differences = [
        f"{what}: {differs}"
        for what, of in (("source", _source), ("options", _options))
        if (differs := who_differs(mounted, of))
    ]
    if differences:
        return warning(
            f"{'; '.join(differences)}.",
            "Use the same mount options on all nodes; otherwise a case mixes two kinds of clients.",
        )
    mount = mounted[0]["environment"]["mount"]
    return ok(f"{mount['mount_point']}: {_options(mounted[0])}") if mount else None


def free_space(facts: Meeting, nodes: Sequence[SurveyedNode]) -> Verdict | None:
    """There is room for something, on every node's word."""
    told = [
        (_is_short(free_bytes, inodes), free_bytes, inodes, host(node))
        for node in nodes
        if (free_bytes := _look(node)["free_bytes"]) is not None
        for inodes in (_look(node)["free_inodes"],)
    ]
    notes = [f"{_capital(note)}." for note in _notes(nodes)]
    if not told:
        return not_checked(" ".join(notes), "Nothing to do.") if notes else None
    is_short, free_bytes, inodes, name = min(told, key=lambda one: (not one[0], one[1]))
    seen = format_about_bytes(free_bytes) + (f" and {format_count(inodes, 'inode')}" if inodes is not None else "")
    if is_short:
        return warning(
            f"Only {seen} are free, according to {name}.",
            "Free some space, check quotas, or use a smaller total (--set total=…); a run prints its needs first.",
        )
    return ok(" ".join([f"{seen} are free.", *notes]))


def left_behind(facts: Meeting, nodes: Sequence[SurveyedNode]) -> Verdict:
    """What was created there is gone."""
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
    """What the file systems say of their room that cannot be right, each once."""
    mounts = [mount for node in nodes if (mount := node["environment"].get("mount"))]
    return list(dict.fromkeys(note for mount in mounts for note in mount.get("notes", [])))


def _look(node: SurveyedNode) -> TargetLook:
    """What it saw of the target; there is one where these are asked."""
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

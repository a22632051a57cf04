"""What each node says of the target: usable, one file system everywhere, room, and nothing left of the look."""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.doctor.checks.naming import host, listed, on, who_differs
from ioassay.doctor.facts import Meeting
from ioassay.doctor.verdict import Verdict, failed, not_checked, ok, warning
from ioassay.results.events import Event
from ioassay.units import format_about_bytes, format_count

_LITTLE_BYTES = 1 << 30
_FEW_INODES = 10_000


def usable(facts: Meeting, nodes: Sequence[Event]) -> Verdict:
    """It is a directory that may be written to, and answers, on every node."""
    # Who does not see what the first node has created has a line of its own.
    bad = [node for node in nodes if node["target"]["problem"] and node["target"]["shared"] is not False]
    bad += [node for node in nodes[:1] if node["target"]["shared"] is False]
    if bad:
        said = dict.fromkeys(f"{host(node)}: {node['target']['problem']['message']}" for node in bad)
        remedies = dict.fromkeys(node["target"]["problem"]["remedy"] for node in bad)
        return failed(f"{'; '.join(said)}.", f"{_capital('; '.join(remedies))}.")
    mount = nodes[0]["environment"]["mount"]
    what = f"{mount['file_system']} of {mount['source'] or 'nowhere'}" if mount else "a file system without a name"
    return ok(f"{facts.target} is on {what}, and may be written to.")


def same(facts: Meeting, nodes: Sequence[Event]) -> Verdict | None:
    """All nodes read what the first one has written there."""
    if len(nodes) == 1:
        return None
    first, *others = nodes
    if blind := [node for node in others if node["target"]["shared"] is False]:
        mounts = [f"{host(node)} has {_mount(node)} there" for node in blind]
        return failed(
            f"What {host(first)} writes to {facts.target} is not seen {on(blind, nodes)}: {listed(mounts)}, "
            f"{host(first)} has {_mount(first)}.",
            f"Mount the same file system on all nodes, and compare: findmnt --target {facts.target}",
        )
    if not first["target"]["shared"]:
        return not_checked(f"{host(first)} could not write there what the others should read.", "Mend that first.")
    if unknown := [node for node in others if node["target"]["shared"] is None]:
        return not_checked(f"Nothing there can be read {on(unknown, nodes)}.", "Mend that first.")
    return ok(f"What {host(first)} wrote was read by {listed([host(node) for node in others])}.")


def mounted_alike(facts: Meeting, nodes: Sequence[Event]) -> Verdict | None:
    """It is mounted from the same source with the same options."""
    mounted = [node for node in nodes if node["environment"]["mount"]]
    if not mounted:
        return None
    differences = [
        f"{what}: {differs}"
        for what, of in (
            ("source", _source),
            ("options", lambda node: ",".join(node["environment"]["mount"]["options"])),
        )
        if (differs := who_differs(mounted, of))
    ]
    if differences:
        return warning(
            f"{'; '.join(differences)}.",
            "Mount it with the same options everywhere, or a case measures two kinds of clients.",
        )
    mount = mounted[0]["environment"]["mount"]
    return ok(f"{mount['mount_point']}: {','.join(mount['options'])}")


def free_space(facts: Meeting, nodes: Sequence[Event]) -> Verdict | None:
    """There is room for something, on every node's word."""
    told = [node for node in nodes if node["target"]["free_bytes"] is not None]
    if not told:
        return None
    least = min(told, key=lambda node: (not _is_short(node), node["target"]["free_bytes"]))
    free_bytes, inodes = least["target"]["free_bytes"], least["target"]["free_inodes"]
    seen = format_about_bytes(free_bytes) + (f" and {format_count(inodes, 'inode')}" if inodes is not None else "")
    if _is_short(least):
        return warning(
            f"Only {seen} are free, as {host(least)} sees it.",
            "Free some, look at quotas, or measure with a small total (--set total=…); a run says first what it needs.",
        )
    return ok(f"{seen} are free.")


def left_behind(facts: Meeting, nodes: Sequence[Event]) -> Verdict:
    """What was created there is gone."""
    if not nodes[0]["target"]["answered"]:
        return failed(
            f"{facts.workspace} may come to be there when the target answers again.",
            f"Look then, and remove it by hand: rm -r {facts.workspace}",
        )
    if facts.left:
        return failed(
            f"{listed(list(facts.left))} could not be removed.", f"Remove it by hand: rm -r {' '.join(facts.left)}"
        )
    return ok("Nothing: what was created to be seen is removed.")


def _is_short(node: Event) -> bool:
    free_bytes, inodes = node["target"]["free_bytes"], node["target"]["free_inodes"]
    return free_bytes < _LITTLE_BYTES or (inodes is not None and inodes < _FEW_INODES)


def _mount(node: Event) -> str:
    mount = node["environment"]["mount"]
    return f"{mount['file_system']} of {mount['source'] or 'nowhere'} ({mount['mount_point']})" if mount else "nothing"


def _source(node: Event) -> str:
    mount = node["environment"]["mount"]
    return f"{mount['source']} ({mount['file_system']})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

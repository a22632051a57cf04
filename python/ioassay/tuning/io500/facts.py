"""Step 1: the system and its theoretical ceiling, each value with its source.

The snapshot is of this node; the others are assumed to be like it, and the fact states that. What the snapshot lacks is
reported as unknown and never guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ioassay.analysis import ceilings
from ioassay.store.net_document import NetDocument
from ioassay.store.tune_io500_document import CeilingEntry, SystemFact
from ioassay.text.units import format_about_bytes, format_link_rate, format_rate
from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system import System

_TARGETS_OF = re.compile(r"\[OST:\d+\]")
_NETWORKED = ("lustre", "nfs", "nfs4", "beegfs", "ceph", "fuse.ceph", "gpfs", "glusterfs", "fuse.glusterfs", "orangefs")
"""File systems whose data crosses the network of each node."""


@dataclass(frozen=True)
class SourcedNumber:
    """A number and where it comes from."""

    value: int
    source: str


def is_lustre(snapshot: Snapshot | None) -> bool:
    """Whether the target lies on Lustre, as far as the snapshot says."""
    return file_system(snapshot) == "lustre"


def file_system(snapshot: Snapshot | None) -> str:
    """The type of the target's file system; empty where it is unknown."""
    if snapshot is None:
        return ""
    try:
        mount = System(snapshot).target_mount
    except Unreadable:
        return ""
    return mount.file_system if mount else ""


def processors(snapshot: Snapshot | None) -> SourcedNumber:
    """Processors of a node."""
    if snapshot is not None:
        return SourcedNumber(snapshot.environment["processors"], "this node")
    return SourcedNumber(len(os.sched_getaffinity(0)), "processors that this process may use")


def storage_targets(snapshot: Snapshot | None, typed: int | None) -> SourcedNumber:
    """The storage targets (OSTs) that the file system has."""
    if typed is not None:
        return SourcedNumber(typed, "--storage-targets")
    why = "the file system does not report how many it has"
    if snapshot is not None and is_lustre(snapshot):
        try:
            if (count := len(set(_TARGETS_OF.findall(snapshot.printed("lfs", "df") or "")))) > 0:
                return SourcedNumber(count, "lfs df")
        except Unreadable as error:
            why = str(error)
        if (count := _of_lov(snapshot)) > 0:
            return SourcedNumber(count, "lctl get_param lov.*.numobd")
    if is_lustre(snapshot) or _is_networked(snapshot):
        return SourcedNumber(1, f"assumed: {why}; set --storage-targets")
    return SourcedNumber(1, "assumed: one local file system")


def _of_lov(snapshot: Snapshot) -> int:
    counts = [text for name, text in System(snapshot).lustre.items() if re.fullmatch(r"lov\..*\.numobd", name)]
    return max((int(text) for text in counts if text.isdecimal()), default=0)


def _is_networked(snapshot: Snapshot | None) -> bool:
    return file_system(snapshot) in _NETWORKED


def rpc_bytes(snapshot: Snapshot | None) -> int | None:
    """The largest RPC of Lustre's clients to a storage target; `None` where it is unknown."""
    if snapshot is None:
        return None
    pages = [
        int(text)
        for name, text in System(snapshot).lustre.items()
        if re.fullmatch(r"osc\..*\.max_pages_per_rpc", name) and text.isdecimal()
    ]
    return max(pages) * 4096 if pages else None


def ceiling(
    theory_bytes_per_s: int | None, net: NetDocument | None, snapshot: Snapshot | None, nodes: int
) -> tuple[CeilingEntry | None, str]:
    """The ceiling of `nodes` nodes together, or `None` and why there is none."""
    if theory_bytes_per_s is not None:
        return _same_both_ways(theory_bytes_per_s, "--theory"), ""
    if net is not None:
        write, read = (ceilings.lowest(net, nodes, direction) for direction in ("to-servers", "to-clients"))
        if write is not None and read is not None:
            source = f"network measured by `ioassay net`: {write.name}, {read.name}"
            return (
                CeilingEntry(
                    write_bytes_per_s=write.rate_bytes_per_s, read_bytes_per_s=read.rate_bytes_per_s, source=source
                ),
                "",
            )
    if snapshot is None:
        return None, "this node could not be captured, and no --theory was given"
    if not _is_networked(snapshot):
        system = file_system(snapshot) or "the file system"
        return None, f"the limit of the devices below {system} is not known; --theory sets one"
    if not (links := list(_links(snapshot))):
        return None, "no network interface of this node states its speed; --theory sets a ceiling"
    speed, name = max(links)
    rate = speed / 8 * nodes
    each = f"{name} of this node, {format_link_rate(speed)}"
    return _same_both_ways(rate, each if nodes == 1 else f"{each}, on {nodes} nodes alike"), ""


def _same_both_ways(rate: float, source: str) -> CeilingEntry:
    return CeilingEntry(write_bytes_per_s=rate, read_bytes_per_s=rate, source=source)


def _links(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    for link in snapshot.environment.get("network", []):
        speed, state = link.get("speed_bits_per_s"), link.get("state")
        if speed and (state is None or "ACTIVE" in state.upper()):
            yield speed, link["name"]


def facts(
    snapshot: Snapshot | None, why_no_snapshot: str, nodes: Sequence[str], processors_known: SourcedNumber
) -> list[SystemFact]:
    """The facts of the system, besides its ceiling and its storage targets."""
    general = [
        SystemFact(
            name="Nodes available",
            value=f"{len(nodes)} ({', '.join(nodes[:4])}{', …' if len(nodes) > 4 else ''})" if nodes else "1",
            source="hosts of the launcher or lab" if nodes else "this node",
        ),
        SystemFact(
            name="Processors per node",
            value=str(processors_known.value),
            source=f"{processors_known.source}{'; the others are assumed to have as many' if len(nodes) > 1 else ''}",
        ),
    ]
    if snapshot is None:
        return [*general, SystemFact(name="Snapshot", value="none", source=why_no_snapshot)]
    return [*general, *_of_node(snapshot)]


def _of_node(snapshot: Snapshot) -> Iterator[SystemFact]:
    node = snapshot.environment
    memory = format_about_bytes(node["memory_bytes"])
    yield SystemFact(name="Memory per node", value=memory, source=f"node {snapshot.host}")
    try:
        mount = System(snapshot).target_mount
        device = System(snapshot).target_device
    except Unreadable as error:
        yield SystemFact(name="File system", value="unknown", source=str(error))
        return
    if mount is not None:
        value = f"{mount.file_system} of {mount.source} on {mount.point}"
        yield SystemFact(name="File system", value=value, source=f"mounts of {snapshot.host}")
    if device is not None:
        yield SystemFact(name="Block device", value=device.name, source=f"mounts of {snapshot.host}")
    for speed, name in sorted(_links(snapshot), reverse=True)[:2]:
        yield SystemFact(name=f"Network {name}", value=format_link_rate(speed), source=f"node {snapshot.host}")


def ceiling_text(known: CeilingEntry) -> str:
    """A ceiling in words: `36 GB/s`, or write and read where they differ."""
    write, read = (format_rate(rate, "GB/s") for rate in (known.write_bytes_per_s, known.read_bytes_per_s))
    return write if write == read else f"write {write}, read {read}"

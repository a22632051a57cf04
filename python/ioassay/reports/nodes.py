"""The environment of the nodes, as rows of a table. Nodes that are alike are told once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ioassay.reports import format

UNKNOWN = "unknown"


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that differ in nothing but their name. `rows` holds (what, value)."""

    hosts: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]


def alike(environment: Sequence[Mapping[str, Any]]) -> list[NodeGroup]:
    """Groups the nodes of `RunDocument.environment`, in the order in which each group's first node stands."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for node in environment:
        # How much was free when a node looked is no difference between nodes.
        mount = {key: value for key, value in (node.get("mount") or {}).items() if key != "free_bytes"}
        rest = {key: value for key, value in node.items() if key != "host"} | {"mount": mount}
        groups.setdefault(json.dumps(rest, sort_keys=True), []).append(node)
    return [
        NodeGroup(tuple(str(node.get("host", UNKNOWN)) for node in nodes), tuple(_rows(nodes[0])))
        for nodes in groups.values()
    ]


def _rows(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    clock = node.get("clock") or {}
    rows = [
        ("Processor", str(node.get("cpu_model") or UNKNOWN)),
        ("Processors usable", str(node.get("processors", UNKNOWN))),
        ("Memory", format.size(node.get("memory_bytes"))),
        ("Kernel", str(node.get("kernel") or UNKNOWN)),
        ("Operating system", str(node.get("operating_system") or UNKNOWN)),
        ("Clock", f"{clock.get('source', UNKNOWN)}, resolution {format.duration(clock.get('resolution_ns'))}"),
    ]
    return rows + _mount(node.get("mount")) + _block_device(node.get("block_device"))


def _mount(mount: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if mount is None:
        return [("File system", UNKNOWN)]
    return [
        ("File system", f"{mount['file_system']}, preferred I/O size {format.size(mount['block_bytes'])}"),
        ("Mounted", f"{mount.get('source') or UNKNOWN} on {mount['mount_point']}"),
        ("Mount options", ", ".join(mount["options"])),
        ("Size, free", f"{format.size(mount['total_bytes'])}, {format.size(mount['free_bytes'])}"),
    ]


def _block_device(device: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if device is None:
        return [("Block device", "none known under the file system")]
    model = f", {device['model']}" if device.get("model") else ""
    queue = ", ".join(f"{name} {value}" for name, value in sorted(device["queue"].items()))
    return [
        ("Block device", f"{device['name']}{model}, {format.size(device['size_bytes'])}"),
        ("Queue settings", queue or UNKNOWN),
    ]

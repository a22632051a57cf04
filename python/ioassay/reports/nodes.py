"""The environment of the nodes, as rows of a table. Nodes that are alike are reported once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ioassay.text import format
from ioassay.text.units import format_link_rate

UNKNOWN = "unknown"


class NodeGroup(Struct, frozen=True):
    """Nodes that differ in nothing but their name. `rows` holds (what, value)."""

    hosts: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]


def alike(environment: Sequence[Mapping[str, Any]]) -> list[NodeGroup]:
    """Groups the nodes of `RunDocument.environment`, in the order in which each group's first node stands."""
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for node in environment:
        # How much was free when a node looked is no difference between nodes, nor what is too little to be shown.
        mount = node.get("mount")
        rows = _rows({**node, "mount": {**mount, "free_bytes": None}} if mount else node)
        groups.setdefault(tuple(rows), []).append(node)
    return [
        NodeGroup(tuple(str(node.get("host", UNKNOWN)) for node in nodes), tuple(_rows(nodes[0])))
        for nodes in groups.values()
    ]


def _rows(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    clock = node.get("clock") or {}
    rows = [
        ("Processor", str(node.get("cpu_model") or UNKNOWN)),
        ("Processors usable", str(node.get("processors", UNKNOWN))),
        *_processors(node),
        ("Memory", _memory(node)),
        ("Kernel", str(node.get("kernel") or UNKNOWN)),
        *_listed("Kernel settings", node.get("kernel_settings")),
        ("Operating system", str(node.get("operating_system") or UNKNOWN)),
        ("Clock", f"{clock.get('source', UNKNOWN)}, resolution {format.duration(clock.get('resolution_ns'))}"),
        *[("Network", _link(link)) for link in node.get("network", [])],
    ]
    rows += _mount(node.get("mount"))
    rows += [("Caches beside the page cache", cache["name"]) for cache in node.get("caches", [])]
    rows += _listed("Client parameters", node.get("client_parameters"))
    return rows + _block_device(node.get("block_device"))


def _processors(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts that earlier versions do not store, or that do not apply, have no row."""
    bindings = node.get("bindings") or []
    each = ", ".join(f"rank {rank}: {binding}" for rank, binding in enumerate(bindings))
    numa = [f"{part['processors']} with {format.size(part['memory_bytes'])}" for part in node.get("numa_nodes", [])]
    rows = [
        ("Core binding", f"{each} (ranks of the node)" if len(bindings) > 1 else "".join(bindings)),
        ("NUMA nodes", "; ".join(numa) if len(numa) > 1 else ""),
        ("Frequency governor", ", ".join(node.get("governors", []))),
    ]
    return [row for row in rows if row[1]]


def _memory(node: Mapping[str, Any]) -> str:
    limit = node.get("memory_limit_bytes")
    limited = f", of which the job may use {format.size(limit)}, page cache included" if limit is not None else ""
    return format.size(node.get("memory_bytes")) + limited


def _link(link: Mapping[str, Any]) -> str:
    speed = link.get("speed_bits_per_s")
    mtu = link.get("mtu_bytes")
    parts = [link.get("driver"), link.get("state")]
    parts += [format_link_rate(speed) if speed else "speed unknown", f"MTU {mtu}" if mtu else None]
    return f"{link['name']}: {', '.join(part for part in parts if part)}"


def _listed(what: str, values: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """A row of settings by name, if there are any."""
    return [(what, ", ".join(f"{name} {value}" for name, value in sorted(values.items())))] if values else []


def _mount(mount: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if mount is None:
        return [("File system", UNKNOWN)]
    return [
        ("File system", f"{mount['file_system']}, preferred I/O size {format.size(mount['block_bytes'])}"),
        ("Mounted", f"{mount.get('source') or UNKNOWN} on {mount['mount_point']}"),
        ("Mount options", ", ".join(mount["options"])),
        ("Size, free", f"{_size(mount['total_bytes'])}, {_size(mount['free_bytes'])}"),
        *[("Not believed", note) for note in mount.get("notes", [])],
    ]


def _size(size_bytes: int | None) -> str:
    return UNKNOWN if size_bytes is None else format.size(size_bytes)


def _block_device(device: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if device is None:
        return [("Block device", "unknown")]
    model = f", {device['model']}" if device.get("model") else ""
    return [
        ("Block device", f"{device['name']}{model}, {format.size(device['size_bytes'])}"),
        *(_listed("Queue settings", device["queue"]) or [("Queue settings", UNKNOWN)]),
    ]

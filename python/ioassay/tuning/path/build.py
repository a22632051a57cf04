"""Paths of a system, or of a client and its servers: which layers there are, and what goes through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ioassay.text.units import format_bytes
from ioassay.tuning.path import client, device, server
from ioassay.tuning.path.conclusions import problems
from ioassay.tuning.path.device import Chain
from ioassay.tuning.path.model import IoPath, Step, Transfer
from ioassay.tuning.path.server import Placed, ServerSide
from ioassay.tuning.path.trace import group_size, raid_work, stripe_writes, trace
from ioassay.tuning.system import System
from ioassay.tuning.system.block import SECTOR_BYTES


def io_paths(systems: Sequence[System], transfer: Transfer | None = None) -> list[IoPath]:
    """The paths from the application to the disks, one for all devices that are alike.

    Of several systems those whose target lies on servers are clients, the others are their servers; without clients
    each has paths of its own. Hosts whose paths are alike have one together. Raises `Unreadable` where mounts or the
    identity of devices cannot be read.
    """
    transfer = transfer or Transfer()
    clients = [system for system in systems if client.is_client(system)]
    if not clients:
        return _merged_hosts(path for system in systems for path in _paths(system, transfer))
    servers = [system for system in systems if not client.is_client(system)]
    return _merged_hosts(path for client in clients for path in _of_client(client, servers, transfer))


def _merged_hosts(paths: Iterable[IoPath]) -> list[IoPath]:
    """One path for all hosts whose paths differ in nothing but the host."""
    alike: dict[object, list[IoPath]] = {}
    for path in paths:
        key = (
            path.hosts[1:],
            path.devices,
            path.disks,
            path.targets,
            path.transfer_bytes,
            tuple(device.without_names(layer.step, path.representative) for layer in path.layers),
            path.array,
            path.file_system_stripe_bytes,
            tuple(text.replace(path.representative, "") for text in path.unknown),
        )
        alike.setdefault(key, []).append(path)
    return [replace(same[0], alike_hosts=_distinct(path.representative for path in same)) for same in alike.values()]


def _of_client(client_system: System, servers: Sequence[System], transfer: Transfer) -> list[IoPath]:
    """The paths of a client through each of the servers, to the network where none was captured."""
    side = client.side(client_system, transfer)
    paths = []
    for system in servers:
        served = _server_side(system, client_system)
        head = _Head(side.steps, side.rpc_bytes, (client_system.host, system.host))
        alike = _groups_of_server(system, served, transfer, has_cache=False)
        paths += [_path_of_group(transfer, head, group, (*side.unknown, *served.unknown)) for group in alike]
    if not paths:
        missing = f"The path ends at the network: no server of {_mounted(client_system)} was captured."
        nothing = _Group((), (), (), (), (), None, None)
        head = _Head(side.steps, side.rpc_bytes, (client_system.host,))
        paths = [_path_of_group(transfer, head, nothing, (*side.unknown, missing))]
    return paths


def both_ways(systems: Sequence[System], transfer: Transfer | None = None) -> list[IoPath]:
    """The paths of writes, each followed by that of reads to the same devices where these suffer from other limits.

    Raises as `io_paths`.
    """
    transfer = transfer or Transfer()
    reads: dict[object, list[IoPath]] = {}
    for path in io_paths(systems, replace(transfer, operation="read")):
        reads.setdefault(_end_points(path), []).append(path)
    paths: list[IoPath] = []
    for write in io_paths(systems, transfer):
        ours = reads.pop(_end_points(write), [])
        others = [read for read in ours if problems(read) != problems(write)]
        alike = [read for read in ours if read not in others]
        unknown = dict.fromkeys((*write.unknown, *(text for read in alike for text in read.unknown)))
        paths += [replace(write, reads_alike=bool(alike), unknown=tuple(unknown)), *others]
    return [*paths, *(path for left in reads.values() for path in left)]


def _end_points(path: IoPath) -> object:
    return path.hosts, path.devices, path.disks


def _mounted(system: System) -> str:
    return system.target_mount.point if system.target_mount is not None else system.host


def _server_side(system: System, of: System) -> ServerSide:
    if of.target_mount is not None and of.target_mount.is_nfs:
        return server.nfs(system, of.target_mount)
    return server.lustre(system) if server.is_lustre_server(system) else server.local(system)


def _paths(system: System, transfer: Transfer) -> Iterator[IoPath]:
    is_server = server.is_lustre_server(system)
    side = server.lustre(system) if is_server else server.local(system)
    head = _Head((), None, (system.host,))
    if is_server:
        rpc = side.rpc_bytes or client.USUAL_TRANSFER_BYTES
        cache = () if transfer.is_direct else (client.page_cache(system, "of the clients", rpc),)
        head = _Head((*cache, client.assumed_rpc(rpc)), rpc, (system.host,))
    unknown = [*side.unknown]
    if transfer.operation == "read" and not is_server and not transfer.is_direct:
        names = [
            placed.device.name for placed in side.placed if placed.steps and server.read_ahead(placed.device) is None
        ]
        for name in names:
            path = f"/sys/block/{name}/queue/read_ahead_kb"
            unknown.append(f"How far {name} reads ahead is unknown: the snapshot lacks {path}.")
    for group in _groups_of_server(system, side, transfer, has_cache=not is_server):
        yield _path_of_group(transfer, head, group, unknown)


@dataclass(frozen=True)
class _Head:
    """The layers above a server's own."""

    steps: tuple[Step, ...]
    rpc_bytes: int | None
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class _Group:
    """Devices with the same steps."""

    devices: tuple[str, ...]
    disks: tuple[str, ...]
    targets: tuple[str, ...]
    volumes: tuple[tuple[str, ...], ...]
    steps: tuple[Step, ...]
    chain: Chain | None
    stripe_bytes: int | None


def _groups_of_server(system: System, side: ServerSide, transfer: Transfer, *, has_cache: bool) -> list[_Group]:
    """The ways down from a server's file systems, grouped by what they do to requests."""
    groups: dict[object, list[tuple[Placed, Chain]]] = {}
    for placed in side.placed:
        for chain in device.chains(system, placed.device, placed.start_bytes, transfer.operation):
            steps = (*placed.steps, *chain.steps)
            ahead = server.read_ahead(placed.device) if transfer.operation == "read" and has_cache else None
            key = (
                tuple(map(device.without_names, steps)),
                chain.array,
                placed.stripe_bytes,
                ahead and ahead.size_bytes,
            )
            groups.setdefault(key, []).append((placed, chain))
    return [_group(system, members, transfer, has_cache=has_cache) for members in groups.values()]


def _group(system: System, members: list[tuple[Placed, Chain]], transfer: Transfer, *, has_cache: bool) -> _Group:
    placed, chain = members[0]
    cache: tuple[Step, ...] = ()
    if has_cache and placed.steps and not transfer.is_direct:
        subject, whole = placed.steps[0].subject, server.gathers_bytes(placed.device)
        if transfer.operation == "read":
            size = transfer.size_bytes or client.assumed_bytes(None)
            cache = (client.reading_cache(system, subject, server.read_ahead(placed.device), size, whole),)
        else:
            if chain.array is not None and chain.has_stripe_cache:
                whole = max(whole, chain.array.stripe_bytes)  # which MD joins from the page cache's requests
            cache = (client.page_cache(system, subject, whole),)
    return _Group(
        devices=_distinct(placed_device.name for placed_device, _ in members),
        disks=_distinct(member_chain.disk for _, member_chain in members),
        targets=_distinct(placed_device.steps[0].subject for placed_device, _ in members if placed_device.steps),
        volumes=tuple(
            _distinct(member_chain.volumes[index] for _, member_chain in members) for index in range(len(chain.volumes))
        ),
        steps=(*cache, *placed.steps, *chain.steps),
        chain=chain,
        stripe_bytes=placed.stripe_bytes,
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _path_of_group(transfer: Transfer, head: _Head, group: _Group, unknown: Sequence[str]) -> IoPath:
    size = transfer.size_bytes or client.assumed_bytes(head.rpc_bytes)
    assumption = ""
    if transfer.size_bytes is None:
        what = "the size of an RPC" if size == head.rpc_bytes else "the usual size"
        assumption = f"The application's transfer size was not given; {format_bytes(size)}, {what}, is assumed."
    steps = (client.application(transfer, size, is_assumed=bool(assumption)), *head.steps, *group.steps)
    layers = trace(steps, size, transfer.offset_bytes)
    array = group.chain.array if group.chain else None
    if transfer.is_direct and size % SECTOR_BYTES:
        odd = f"O_DIRECT needs whole sectors; most file systems refuse transfers of {format_bytes(size)}."
        unknown = (*unknown, odd)
    groups = group_size(steps, size)
    if groups > 1:
        unknown = (*unknown, f"Transfers of {format_bytes(size)} are drawn in groups of {groups}.")
    is_write = transfer.operation == "write"
    return IoPath(
        transfer=transfer,
        transfer_bytes=size,
        assumption=assumption,
        hosts=head.hosts,
        devices=group.devices,
        disks=group.disks,
        targets=group.targets,
        volume_names=group.volumes,
        layers=tuple(layers),
        stripe_writes=tuple(stripe_writes(layers, array)) if array is not None and is_write else (),
        work=raid_work(steps, array, size, transfer.offset_bytes) if array is not None and is_write else None,
        array=array,
        file_system_stripe_bytes=group.stripe_bytes,
        unknown=tuple(dict.fromkeys((*unknown, *(group.chain.unknown if group.chain else ())))),
    )

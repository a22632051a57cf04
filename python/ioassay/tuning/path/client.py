"""The layers of a client: application, page cache, striping over servers, RPCs.

Sources: the Lustre manual, "Tuning the Client RPC Stream" and "Managing File Layout (Striping)"; nfs(5); the IBM
Storage Scale command reference, mmlsfs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ioassay.tuning.path.model import Limit, Step, Transfer
from ioassay.tuning.path.requests import PAGE_BYTES
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import Array, System
from ioassay.tuning.system.gpfs import gpfs_file_systems
from ioassay.tuning.system.lustre import matching
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.numbers import is_whole
from ioassay.units import format_bytes

USUAL_TRANSFER_BYTES = 1 << 20
"""Where neither the application nor an RPC says how large a transfer is."""

_MOST_PAGES = 1 << 20
_LEAST_BYTES = 512
"""What is less is no size of a request."""

_GPFS = ("gpfs", "mmfs")


@dataclass(frozen=True)
class ClientSide:
    """A client's steps below the application."""

    steps: tuple[Step, ...]
    rpc_bytes: int | None
    unknown: tuple[str, ...] = ()


def is_client(system: System) -> bool:
    """Whether the target lies on servers."""
    mount = system.target_mount
    return mount is not None and (mount.is_nfs or mount.file_system in _GPFS or _is_lustre_client(mount))


def _is_lustre_client(mount: Mount) -> bool:
    return mount.file_system == "lustre" and not mount.source.startswith("/dev/")


def side(system: System, transfer: Transfer) -> ClientSide:
    """The steps of the file system that the target lies on."""
    mount = system.target_mount
    if mount is None:
        return ClientSide((), None)
    if mount.is_nfs:
        return _nfs(system, mount, transfer)
    if mount.file_system in _GPFS:
        return _gpfs(system, mount)
    return _lustre(system, mount, transfer)


def application(transfer: Transfer, size_bytes: int, *, is_assumed: bool) -> Step:
    """The first step of every path."""
    how = [*(["assumed"] if is_assumed else []), *(["direct"] if transfer.is_direct else [])]
    subject = " ".join([*how, format_bytes(size_bytes), f"{transfer.operation}s"])
    return Step("application", "application", subject)


def page_cache(system: System, subject: str, gathers_bytes: int, notes: Sequence[str] = ()) -> Step:
    """A page cache that joins requests, of which the layers below take `gathers_bytes` at once."""
    joins = "Joins transfers that follow one another in the file; transfers in random order stay apart."
    return Step("cache", "page cache", subject, system.host, gathers_bytes=gathers_bytes, notes=(joins, *notes))


def assumed_rpc(size_bytes: int) -> Step:
    """The RPCs that reach a Lustre server whose clients were not captured."""
    reason = f"clients send at most {format_bytes(size_bytes)} in one RPC"
    limit = Limit(size_bytes, "RPC size", format_bytes(size_bytes), reason, "brw_size of the server", True)
    return Step("rpc", "Lustre RPC", "of the clients", limits=(limit,))


def _lustre(system: System, mount: Mount, transfer: Transfer) -> ClientSide:
    file_system = mount.source.rpartition(":/")[2].partition("/")[0]
    unknown: list[str] = []
    found = matching(system.lustre, f"osc.{file_system}-OST*.max_pages_per_rpc")
    pages = {name: int(text) for name, text in found.items() if is_whole(text) and 0 < int(text) < _MOST_PAGES}
    smallest = min(pages, key=lambda name: pages[name], default=None)
    if smallest is not None:
        rpc = pages[smallest] * PAGE_BYTES
        reason = f"max_pages_per_rpc on {system.host} is {pages[smallest]}"
        source = f"lctl get_param {smallest}"
        limit = Limit(rpc, "max_pages_per_rpc", str(pages[smallest]), reason, source, is_boundary=True)
        if len(set(pages.values())) > 1:
            unknown.append(f"OSTs of {file_system} differ in max_pages_per_rpc; the smallest value was taken.")
    else:
        rpc = USUAL_TRANSFER_BYTES
        limit = Limit(
            rpc, "RPC size", format_bytes(rpc), "Lustre's RPCs are 1 MiB unless set", "Lustre's default", True
        )
        unknown.append(f"max_pages_per_rpc of {file_system} could not be read on {system.host}; 1 MiB was taken.")
    steps = []
    if not transfer.is_direct:
        steps.append(page_cache(system, mount.point, rpc, _lustre_read_ahead(system, file_system, rpc, transfer)))
    why = "; capture `lfs getstripe -d` of the target"
    try:
        layout = _lustre_layout(system, mount, len(pages), rpc)
    except Unreadable as error:
        layout, why = None, f": {error}"
    if layout is not None:
        steps.append(layout)
    else:
        unknown.append(f"The stripe size of {mount.point} is unknown{why}.")
    subject = smallest.split(".")[1].partition("-osc")[0] if smallest else file_system
    if len(pages) > 1:
        subject = f"{file_system}-OST*"
    steps.append(Step("rpc", "Lustre RPC", subject, system.host, limits=(limit,)))
    return ClientSide(tuple(steps), rpc, tuple(unknown))


def _lustre_read_ahead(system: System, file_system: str, rpc_bytes: int, transfer: Transfer) -> list[str]:
    if transfer.operation == "write":
        return []
    values = matching(system.lustre, f"llite.{file_system}-*.max_read_ahead_per_file_mb").values()
    least = min((float(text) for text in values if re.fullmatch(r"\d+(\.\d+)?", text)), default=None)
    if least is None or least * (1 << 20) >= rpc_bytes:
        return []
    return [f"Read-ahead is limited to {least:g} MiB for each file (max_read_ahead_per_file_mb), less than an RPC."]


def _lustre_layout(system: System, mount: Mount, targets: int, rpc_bytes: int) -> Step | None:
    """The default striping of the target: that of its first component. Raises `Unreadable`."""
    text = system.snapshot.printed("lfs", "getstripe") or ""
    size = re.search(r"stripe_size:\s*(\d{1,18})\b", text)
    if not size or int(size[1]) < _LEAST_BYTES:
        return None
    counted = re.search(r"stripe_count:\s*(-?\d{1,18})\b", text)
    count = int(counted[1]) if counted else 1
    stripes = targets if count < 0 else count
    notes = ["The layout has several components; the first is shown."] if text.count("stripe_size:") > 1 else []
    if stripes > 1 and int(size[1]) < rpc_bytes:
        notes.append("RPCs can join stripes of one OST that follow one another there; that is not shown.")
    return Step(
        "layout",
        "Lustre striping",
        f"{stripes} × {format_bytes(int(size[1]))}" if stripes > 1 else f"{format_bytes(int(size[1]))} on 1 OST",
        system.host,
        striping=Array(stripes, int(size[1])) if stripes > 1 else None,
        alignment_source="lfs getstripe -d",
        notes=tuple(notes),
    )


def _nfs(system: System, mount: Mount, transfer: Transfer) -> ClientSide:
    option = "wsize" if transfer.operation == "write" else "rsize"
    value = mount.options.get(option, "")
    if not is_whole(value) or int(value) < _LEAST_BYTES:
        steps = (page_cache(system, mount.point, USUAL_TRANSFER_BYTES),) if not transfer.is_direct else ()
        return ClientSide(steps, None, (f"{mount.point} does not say its {option}.",))
    reason = f"{option} of {mount.point} is {format_bytes(int(value))}"
    limit = Limit(int(value), option, value, reason, f"/proc/self/mountinfo, {mount.point}")
    steps = () if transfer.is_direct else (page_cache(system, mount.point, int(value)),)
    return ClientSide((*steps, Step("rpc", "NFS RPC", mount.source, system.host, limits=(limit,))), int(value))


def _gpfs(system: System, mount: Mount) -> ClientSide:
    name, why = mount.source.removeprefix("/dev/"), "; capture `mmlsfs all -Y`"
    try:
        size = next((one.block_bytes for one in gpfs_file_systems(system.snapshot) if one.name == name), None)
    except Unreadable as error:
        size, why = None, f": {error}"
    if size is None or size < _LEAST_BYTES:
        cache = page_cache(system, mount.point, USUAL_TRANSFER_BYTES)
        return ClientSide((cache,), None, (f"The block size of {mount.point} is unknown{why}.",))
    reason = f"the block size of {mount.point} is {format_bytes(size)}"
    limit = Limit(size, "block size", format_bytes(size), reason, "mmlsfs", is_boundary=True)
    cache = replace(page_cache(system, mount.point, size), name="page pool")
    return ClientSide((cache, Step("rpc", "GPFS block", mount.source, system.host, limits=(limit,))), size)

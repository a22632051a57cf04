"""The layers of a client: application, page cache, striping over servers, RPCs.

Sources: the Lustre manual, "Tuning the Client RPC Stream" and "Managing File Layout (Striping)"; nfs(5); the IBM
Storage Scale command reference, mmlsfs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ioassay.text.units import format_bytes
from ioassay.tuning.path.model import Limit, Step, Transfer
from ioassay.tuning.path.requests import PAGE_BYTES
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import Array, System
from ioassay.tuning.system.gpfs import gpfs_file_systems
from ioassay.tuning.system.lustre import matching
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.nfs import kernel_version
from ioassay.tuning.system.numbers import is_whole

USUAL_TRANSFER_BYTES = 1 << 20
"""Where neither the application nor an RPC says how large a transfer is."""

_MOST_PAGES = 1 << 20
_LEAST_BYTES = 512
"""The smallest plausible size of a request."""

_GPFS = ("gpfs", "mmfs")
_READS_WHOLE_SINCE = (4, 10)


def assumed_bytes(rpc_bytes: int | None) -> int:
    """The transfer size to assume: what fills an RPC, and no less than usual, so that small RPCs are seen to split."""
    return max(rpc_bytes or 0, USUAL_TRANSFER_BYTES)


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


def page_cache(system: System, subject: str, gathers_bytes: int) -> Step:
    """A page cache that joins requests, of which the layers below take `gathers_bytes` at once."""
    joins = "Joins transfers that follow one another in the file; transfers in random order stay apart."
    return Step("cache", "page cache", subject, system.host, gathers_bytes=gathers_bytes, notes=(joins,))


def reading_cache(
    system: System, subject: str, read_ahead: Limit | None, transfer_bytes: int, whole_bytes: int
) -> Step:
    """A page cache that reads ahead. `whole_bytes`: what the layer below takes at once.

    Linux reads a transfer larger than the read-ahead as it comes, up to what the device takes at once, since 4.10
    (mm/readahead.c, ondemand_readahead); without read-ahead it reads page by page (page_cache_sync_ra).
    """
    if read_ahead is None:
        return page_cache(system, subject, whole_bytes)
    ahead = read_ahead.size_bytes
    if ahead < PAGE_BYTES:
        pages = replace(read_ahead, size_bytes=PAGE_BYTES)
        return replace(page_cache(system, subject, PAGE_BYTES), limits=(pages,))
    if kernel_version(system.snapshot) < _READS_WHOLE_SINCE:
        limits, joined = (read_ahead,) if ahead < whole_bytes else (), min(ahead, whole_bytes)
    else:
        limits, joined = (), min(max(ahead, transfer_bytes), whole_bytes)
    less = read_ahead if joined < whole_bytes and transfer_bytes < whole_bytes and not limits else None
    return replace(page_cache(system, subject, joined), limits=limits, joins_less=less)


def assumed_rpc(size_bytes: int) -> Step:
    """The RPCs that reach a Lustre server whose clients were not captured."""
    reason = f"clients send at most {format_bytes(size_bytes)} in one RPC"
    limit = Limit(size_bytes, "RPC size", format_bytes(size_bytes), reason, "brw_size of the server", True)
    return Step("rpc", "Lustre RPC", "of the clients", limits=(limit,))


def _lustre(system: System, mount: Mount, transfer: Transfer) -> ClientSide:
    file_system = mount.source.rpartition(":/")[2].partition("/")[0]
    unknown: list[str] = []
    limits = matching(system.lustre, f"osc.{file_system}-OST*.max_pages_per_rpc")
    pages = {name: int(text) for name, text in limits.items() if is_whole(text) and 0 < int(text) < _MOST_PAGES}
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
        ahead = _lustre_read_ahead(system, file_system) if transfer.operation == "read" else None
        # A transfer is read as it is, however little is read ahead of it.
        joined = rpc if ahead is None else min(max(ahead.size_bytes, transfer.size_bytes or assumed_bytes(rpc)), rpc)
        cache = page_cache(system, mount.point, joined)
        steps.append(replace(cache, joins_less=ahead) if joined < rpc else cache)
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


def _lustre_read_ahead(system: System, file_system: str) -> Limit | None:
    """How far the client reads ahead in one file: the smaller of its two limits; `None` where none can be read."""
    limits = []
    for parameter in ("max_read_ahead_mb", "max_read_ahead_per_file_mb"):
        for name, text in matching(system.lustre, f"llite.{file_system}-*.{parameter}").items():
            if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
                reason = f"{parameter} on {system.host} is {text}"
                limits.append(Limit(int(float(text) * (1 << 20)), parameter, text, reason, f"lctl get_param {name}"))
    return min(limits, key=lambda limit: limit.size_bytes, default=None)


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
    whole = int(value)
    limit = Limit(whole, option, value, reason, f"/proc/self/mountinfo, {mount.point}")
    rpc = Step("rpc", "NFS RPC", mount.source, system.host, limits=(limit,))
    if transfer.is_direct:
        return ClientSide((rpc,), whole)
    if transfer.operation == "write":
        return ClientSide((page_cache(system, mount.point, whole), rpc), whole)
    ahead, unknown = _nfs_read_ahead(system, mount)
    return ClientSide(
        (reading_cache(system, mount.point, ahead, transfer.size_bytes or assumed_bytes(whole), whole), rpc),
        whole,
        unknown,
    )


def _nfs_read_ahead(system: System, mount: Mount) -> tuple[Limit | None, tuple[str, ...]]:
    """How far the client reads ahead on a mount, and what is not known of it."""
    path = f"sys/class/bdi/{mount.device}/read_ahead_kb"
    try:
        known = system.snapshot.number(path)
    except Unreadable as error:
        return None, (f"{error.what} could not be read: {error.reason}.",)
    if known is None or not 0 <= known < _MOST_PAGES:
        return None, (f"How far {mount.point} reads ahead is unknown: the snapshot lacks /{path}.",)
    reason = f"read_ahead_kb of {mount.point} is {known}"
    return Limit(known << 10, "read_ahead_kb", str(known), reason, f"/{path}"), ()


def _gpfs(system: System, mount: Mount) -> ClientSide:
    name, why = mount.source.removeprefix("/dev/"), "; capture `mmlsfs all -Y`"
    try:
        size = next(
            (
                gpfs_file_system.block_bytes
                for gpfs_file_system in gpfs_file_systems(system.snapshot)
                if gpfs_file_system.name == name
            ),
            None,
        )
    except Unreadable as error:
        size, why = None, f": {error}"
    if size is None or size < _LEAST_BYTES:
        cache = page_cache(system, mount.point, USUAL_TRANSFER_BYTES)
        return ClientSide((cache,), None, (f"The block size of {mount.point} is unknown{why}.",))
    reason = f"the block size of {mount.point} is {format_bytes(size)}"
    limit = Limit(size, "block size", format_bytes(size), reason, "mmlsfs", is_boundary=True)
    cache = replace(page_cache(system, mount.point, size), name="page pool")
    return ClientSide((cache, Step("rpc", "GPFS block", mount.source, system.host, limits=(limit,))), size)

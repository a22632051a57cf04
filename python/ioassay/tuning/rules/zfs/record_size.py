"""Whether the application's requests are whole records of the file system."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotJudged, NotReadable, Rule, each
from ioassay.tuning.rules.sources import lustre_source
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_PROPERTIES, ZFS_WORKLOADS
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Dataset, concerned, dataset_below, datasets, is_used

_LEAST = 16 << 10
"""Below it metadata and rounding to sectors cost more than is saved, the reason of the default of volumes since 2.2."""
_MOST = 1 << 20
"""Above it a record ties up a disk for long, says the manual."""


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
    else:
        size = system.transfer_bytes
        stores = _object_stores(system)
        found = {one.name: one for one in (*stores, *concerned(system, "recordsize"))}
        yield from each(
            found.values(), lambda one: _dataset(one, size or (_MOST if one in stores else None)), otherwise=NO_ZFS
        )


def _object_stores(system: System) -> list[Dataset]:
    """The data sets of Lustre's OSTs on this node, whose requests are RPCs of at least 1 MiB."""
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    stores = [mount for mount in mounts if re.search(r"-OST[0-9a-f]{4}$", mount.options.get("svname", ""))]
    names = sorted(filter(None, map(dataset_below, stores)))
    known = datasets(system.snapshot) if names else {}
    return [known[name] for name in names if name in known]


def _dataset(one: Dataset, size: int | None) -> Iterator[Judgement]:
    record = one.number("recordsize")
    if record is None:
        yield NotReadable(f"recordsize of {one.name}", "zfs get does not list it")
        return
    if size is None:
        why = "depends on the size of the application's requests: give it with --transfer 1MiB"
        yield NotJudged(one.name, format_bytes(record), why)
        return
    wanted = _wanted(size)
    now, text, request = format_bytes(record), format_bytes(wanted), format_bytes(size)
    command = f"zfs set recordsize={wanted} {one.name}, then write the files anew: it holds for new files"
    for operation in ("writes", "reads"):
        subject = f"{one.name} {operation}"
        if record == wanted or (record < size and size % record == 0 and record >= _MOST):
            yield Fine(subject, f"{now} for requests of {request}")
        elif record > wanted:
            because = (
                f"at random each write of {request} reads a record from disk, unless it is cached, and writes {now} "
                "again; in sequence they are joined in memory"
                if operation == "writes"
                else f"at random each read of {request} fetches {now}; in sequence the rest is read from memory"
            )
            yield Change(subject, now, text, because, command=command)
        else:
            because = f"a request of {request} is cut into {-(-size // record)} records, each with its own I/O"
            yield Change(subject, now, text, because, command=command)


def _wanted(size: int) -> int:
    """The largest power of two in a request, within what is useful."""
    return min(max(1 << max(size.bit_length() - 1, 0), _LEAST), _MOST)


RULE = Rule(
    name="zfs-record-size",
    title="Choose the record size of ZFS by the size of the requests",
    area="ZFS",
    reason="A record is the unit of copy-on-write, checksums and compression: a smaller write reads the rest of it "
    "first, a larger request is cut into records. The default is 128 KiB.",
    risk="It holds for new files only. The manual discourages other values than the default for file systems of mixed "
    "use, and warns of records above 1 MiB; small records enlarge metadata and compress less. Send with -L, or "
    "records above 128 KiB are cut. Direct I/O of OpenZFS 2.3 needs whole records, too: other writes pass through the "
    "ARC.",
    sources=(
        ZFS_PROPERTIES,
        ZFS_WORKLOADS,
        lustre_source("lustre/utils/libmount_utils_zfs.c", "recordsize=1M for a new OST"),
    ),
    judge=_judge,
    parameters=("recordsize",),
)

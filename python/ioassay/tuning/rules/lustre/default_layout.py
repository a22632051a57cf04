"""How files are laid out on OSTs where nobody says otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotJudged, NotReadable, Rule, Source, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LUSTRE_TUNING
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount

_RPC_BYTES = 1 << 20


def _judge(system: System) -> Iterator[Judgement]:
    clients = [mount for mount in system.mounts if mount.file_system == "lustre" and ":/" in mount.source]
    return each(clients, lambda mount: _mount(mount, system), otherwise=parameters.NO_CLIENT)


def _mount(mount: Mount, system: System) -> Iterator[Judgement]:
    where = (mount == system.target_mount and system.snapshot.target) or mount.point
    text = system.snapshot.printed("lfs", "getstripe", "-d", where)
    if text is None:
        why = "the snapshot has no output of `lfs getstripe -d`, which it has of a target on Lustre"
        yield NotReadable(f"the default layout of {where}", why)
        return
    count, size = _number(text, "stripe_count"), _number(text, "stripe_size")
    count = 1 if count == 0 else count  # which stands for the file system's default, 1 unless somebody set another
    if "lcm_" in text:
        yield _progressive(where, text, system)
    elif count is None or size is None:
        yield NotApplicable(f"{where} has no default layout of its own")
    elif size % _RPC_BYTES and size:
        yield Change(
            where,
            f"stripes of {units.format_bytes(size)}",
            f"stripes of {units.format_bytes(max(_RPC_BYTES, size - size % _RPC_BYTES))}",
            "an RPC ends where a stripe ends, so the last one of each is smaller than 1 MiB",
            command=f"lfs setstripe -S {max(1, size >> 20)}M -c {count} {where}",
        )
    elif count == -1 or count > 16:
        if system.workload == "shared-file":
            yield Fine(where, f"{_spread(count)}, as files that many nodes share need it")
            return
        yield Change(
            where,
            _spread(count),
            "a progressive layout: small files on one OST, large ones on many",
            command=f"lfs setstripe -E 256M -c 1 -E 4G -c 4 -E -1 -c -1 {where}",
        )
    else:
        yield _few(
            where,
            f"{units.format_count(count, 'stripe')} of {units.format_bytes(size)}",
            count,
            _targets(system, mount),
            system,
        )


def _few(where: str, now: str, count: int, targets: int, system: System) -> Judgement:
    """Files on one or few OSTs: right for files of one process, the bottleneck of a file that many nodes share."""
    is_few = count == 1 or 0 < count < targets
    if system.workload is None and count == 1:
        return NotJudged(where, now, _DEPENDS)
    if system.workload != "shared-file" or not is_few:
        return Fine(where, now)
    of = f" of {targets}" if targets else ""
    return Change(
        where,
        now,
        "every file on all OSTs",
        f"all nodes that share a file use {units.format_count(max(1, count), 'OST')}{of}",
        command=f"lfs setstripe -c -1 {where}",
    )


def _progressive(where: str, text: str, system: System) -> Judgement:
    """A layout of several components, of which the last one holds most of a large file."""
    counts = re.findall(r"\blmm_stripe_count:\s+(-?\d{1,12})\b|\bstripe_count:\s+(-?\d{1,12})\b", text)
    last = next(filter(None, counts[-1])) if counts else ""
    if last != "1":
        return Fine(where, "a progressive layout")
    now = "a progressive layout that ends on one OST"
    if system.workload is None:
        return NotJudged(where, now, _DEPENDS)
    if system.workload != "shared-file":
        return Fine(where, now)
    command = f"lfs setstripe -E 256M -c 1 -E 4G -c 4 -E -1 -c -1 {where}"
    return Change(where, now, "one that ends on all OSTs", "all nodes that share a file use one OST", command=command)


_DEPENDS = (
    "depends on whether many nodes write or read one file: say --workload shared-file, file-per-process or small-files"
)


def _spread(count: int) -> str:
    return "every file on all OSTs" if count == -1 else f"every file on {count} OSTs"


def _file_system(mount: Mount) -> str:
    return mount.source.rpartition(":/")[2].partition("/")[0]


def _targets(system: System, mount: Mount) -> int:
    """How many OSTs the client knows; 0 where the snapshot has none."""
    return len(parameters.names(system, f"osc.{_file_system(mount)}-OST*.max_pages_per_rpc"))


def _number(text: str, key: str) -> int | None:
    found = re.search(rf"\b{key}:\s+(-?\d{{1,12}})\b", text)
    return int(found[1]) if found else None


RULE = Rule(
    name="lustre-default-layout",
    title="Lay files out in stripes of whole RPCs, small files on one OST",
    area="Lustre",
    reason="A file on every OST costs each open and stat a question to all of them, however small it is; a progressive "
    "layout spreads only what grows. Stripes that are no multiple of the RPC end in small RPCs.",
    risk="Only new files get the layout. One shared file that many ranks write needs many stripes: set those on its "
    "directory. Progressive layouts need Lustre 2.10 on servers and clients.",
    sources=(
        LUSTRE_TUNING,
        Source(
            'Lustre Operations Manual: "Managing File Layout (Striping) and Free Space"',
            "https://doc.lustre.org/lustre_manual.xhtml#managingstripingfreespace",
        ),
    ),
    judge=_judge,
    parameters=("stripe_count", "stripe_size"),
)

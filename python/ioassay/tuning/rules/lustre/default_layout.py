"""How files are laid out on OSTs where nobody says otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay import units
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
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
    if "lcm_" in text:
        yield Fine(where, "a progressive layout")
    elif count is None or size is None:
        yield NotApplicable(f"{where} has no default layout of its own")
    elif size % _RPC_BYTES:
        yield Change(
            where,
            f"stripes of {units.format_bytes(size)}",
            f"stripes of {units.format_bytes(max(_RPC_BYTES, size - size % _RPC_BYTES))}",
            "an RPC ends where a stripe ends, so the last one of each is smaller than 1 MiB",
            command=f"lfs setstripe -S {max(1, size >> 20)}M -c {count} {where}",
        )
    elif count == -1 or count > 16:
        yield Change(
            where,
            "every file on all OSTs" if count == -1 else f"every file on {count} OSTs",
            "a progressive layout: small files on one OST, large ones on many",
            command=f"lfs setstripe -E 256M -c 1 -E 4G -c 4 -E -1 -c -1 {where}",
        )
    else:
        yield Fine(where, f"{units.format_count(count, 'stripe')} of {units.format_bytes(size)}")


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

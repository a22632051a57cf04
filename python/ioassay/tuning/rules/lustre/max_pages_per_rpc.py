"""How large a client's RPCs are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Bounds, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LARGE_IO_TEXT, LUSTRE_PARAMETERS, LUSTRE_TUNING, lustre_source
from ioassay.tuning.system import System

_LEAST_BYTES = 1 << 20
_BOUNDS = Bounds(
    LUSTRE_PARAMETERS,
    least=16,
    below="each RPC costs both sides more than the data that it carries",
    unit="pages",
)


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "osc", "max_pages_per_rpc"), _group, otherwise=parameters.NO_CLIENT)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    now, page = group.numbers(), group.system.page_bytes
    offered = _offered_bytes(group)
    wanted = max(_LEAST_BYTES, offered) // page
    if min(now) >= wanted:
        yield Fine(group.file_system, _shown(min(now), page))
    else:
        breach = _BOUNDS.breach(min(now))
        because = breach or (f"its servers take RPCs of {units.format_bytes(offered)}" if offered else "")
        yield Change(
            group.file_system,
            _shown(min(now), page),
            _shown(wanted, page),
            because,
            (group.assign(max(wanted, *now)),),
            is_harmful=bool(breach),
        )


def _offered_bytes(group: parameters.Group) -> int:
    """The largest RPC that all OSTs agreed to, by the connections' own words; 0 where they do not say."""
    sizes = [re.search(r"\bmax_brw_size:\s*(\d{1,10})\b", text) for text in group.sibling("import").texts()]
    return min((int(size[1]) for size in sizes if size), default=0)


def _shown(pages: int, page_bytes: int) -> str:
    return f"{pages} pages, {units.format_bytes(pages * page_bytes)}"


RULE = Rule(
    name="lustre-max-pages-per-rpc",
    title="Use RPCs as large as the servers take",
    area="Lustre",
    reason="Each RPC costs both sides a message and the server a disk request; an RPC smaller than the RAID's stripe "
    "makes the array read parity. Newer servers take 4 MiB and more, where the study's took 1 MiB.",
    risk="Each RPC needs its memory at client and server at once, and latency of small requests behind it rises. Raise "
    "the disks' max_sectors_kb with it, or the server splits it.",
    sources=(
        LARGE_IO_TEXT,
        LUSTRE_PARAMETERS,
        LUSTRE_TUNING,
        lustre_source("lustre/include/lustre_net.h", "DT_DEF_BRW_SIZE"),
    ),
    judge=_judge,
    parameters=("max_pages_per_rpc",),
    bounds={"max_pages_per_rpc": _BOUNDS},
    weight="large",
    weight_reason="the study's arrays read parity for each RPC smaller than a stripe",
)

"""Whether clients fill their RPCs."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LUSTRE_PARAMETERS
from ioassay.tuning.system import System, lustre

_MOST_SMALL = 0.5
_FEWEST = 100


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "osc", "rpc_stats"), _group, otherwise=parameters.NO_CLIENT)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    rows = [row for text in group.texts() for row in lustre.histogram(text, "pages per rpc")]
    sent = sum(row.reads + row.writes for row in rows)
    rpc, page = parameters.rpc_bytes(group), group.system.page_bytes
    if sent < _FEWEST:
        yield NotApplicable(f"{group.file_system}: {sent} RPCs were counted, too few to judge by")
        return
    small = sum(row.reads + row.writes for row in rows if row.value * page <= rpc // 2) / sent
    shown = f"{small * 100:.0f} % of {sent} RPCs are at most half of {units.format_bytes(rpc)}"
    if small <= _MOST_SMALL:
        yield Fine(group.file_system, shown)
    else:
        yield Change(
            group.file_system,
            shown,
            "most RPCs full",
            command="Look at the transfer sizes of the application (ioassay record) and at stripe boundaries (lfs "
            f"getstripe); then clear the counters: lctl set_param {group.pattern}=0",
        )


RULE = Rule(
    name="lustre-small-rpcs",
    title="See that clients fill their RPCs",
    area="Lustre",
    reason="The client counts the pages of each RPC. Half-full ones come from small or unaligned transfers, from "
    "stripes that end within them, or from too little dirty memory to collect a whole one; no setting of a server "
    "helps then.",
    risk="None: it only measures. Many small files make small RPCs, which is not a fault. The counters hold everything "
    "since they were cleared.",
    sources=(LUSTRE_PARAMETERS,),
    judge=_judge,
    parameters=("rpc_stats",),
)

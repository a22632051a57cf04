"""How large the RPCs are that a server takes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LARGE_IO_TEXT, LUSTRE_TUNING, lustre_source
from ioassay.tuning.system import System

_MOST_MB = 16


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "obdfilter", "brw_size"), _group, otherwise=parameters.NO_SERVER)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    now, array = group.numbers(), group.system.array
    if array is None:
        yield NotApplicable(
            f"{group.file_system} takes RPCs of {parameters.span(now, 'MiB')}; to compare that with the stripe of the "
            "array, give --raid"
        )
        return
    stripe = array.stripe_bytes
    fitting = [size for size in (1, 2, 4, 8, _MOST_MB) if size * parameters.MIB % stripe == 0]
    shown = parameters.span(now, "MiB")
    if all(size * parameters.MIB % stripe == 0 for size in now):
        yield Fine(group.file_system, f"{shown}, whole stripes of {units.format_bytes(stripe)}")
    elif not fitting:
        yield NotApplicable(
            f"{group.file_system}: no RPC is a multiple of the stripe of {units.format_bytes(stripe)}; see rule "
            "raid-segment-size"
        )
    else:
        wanted = next((size for size in fitting if size >= max(now)), fitting[-1])
        because = f"the array's stripe is {units.format_bytes(stripe)}"
        yield Change(group.file_system, shown, f"{wanted} MiB", because, (group.assign(wanted),))


RULE = Rule(
    name="lustre-brw-size",
    title="Take RPCs of whole RAID stripes",
    area="Lustre",
    reason="The server writes an RPC as it comes. One that is not a multiple of the stripe leaves a stripe "
    "half-written, for which the array reads old data and parity.",
    risk="Clients learn of it only when they connect, so mount them anew. Buffers of all server threads grow with it.",
    sources=(LARGE_IO_TEXT, LUSTRE_TUNING, lustre_source("lustre/ofd/lproc_ofd.c", "brw_size_store")),
    judge=_judge,
    parameters=("brw_size",),
)

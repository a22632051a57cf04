"""How many RPCs a client sends to an OST at once."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Bounds, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import EXASCALER_CLIENT, LUSTRE_CLIENT, LUSTRE_PARAMETERS, lustre_source
from ioassay.tuning.system import System

_WANTED_BYTES = 256 << 20
"""The study's 256 RPCs of 1 MiB."""
_LEAST, _MOST = 8, 256
"""Lustre's default, and its limit."""
_BOUNDS = Bounds(LUSTRE_PARAMETERS, least=2, below="each RPC waits for the answer to the one before")


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "osc", "max_rpcs_in_flight"), _group, otherwise=parameters.NO_CLIENT)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    now, rpc = group.numbers(), parameters.rpc_bytes(group)
    wanted = min(_MOST, max(_LEAST, _WANTED_BYTES // rpc))
    shown = f"{parameters.span(now)} of {units.format_bytes(rpc)}"
    if min(now) >= wanted:
        yield Fine(group.file_system, shown)
    else:
        wanted = max(wanted, *now)
        size = units.format_bytes(rpc)
        because = (
            f"with RPCs of {size}, {wanted} have as much on the way as the study's 256 of 1 MiB"
            if rpc > 1 << 20
            else ""
        )
        breach = _BOUNDS.breach(min(now))
        yield Change(
            group.file_system,
            shown,
            f"{wanted} of {size}",
            breach or because,
            (group.assign(wanted),),
            is_harmful=bool(breach),
        )


RULE = Rule(
    name="lustre-max-rpcs-in-flight",
    title="Keep 256 MiB of RPCs on the way to each OST",
    area="Lustre",
    reason="A client waits as soon as this many RPCs are unanswered. With the default of 8 RPCs of 1 MiB one client "
    "cannot keep a fast OST and a fast network busy.",
    risk="All clients together send it times their number to each OST: with hundreds of clients, queues on the servers "
    "grow to seconds, and small requests and timeouts suffer. Raise it where few clients must be fast. It raises "
    "max_dirty_mb with it where that is smaller.",
    sources=(
        LUSTRE_CLIENT,
        LUSTRE_PARAMETERS,
        EXASCALER_CLIENT,
        lustre_source("lustre/osc/lproc_osc.c", "OSC_MAX_RIF_MAX"),
    ),
    judge=_judge,
    parameters=("max_rpcs_in_flight",),
    bounds={"max_rpcs_in_flight": _BOUNDS},
)

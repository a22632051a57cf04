"""How much unwritten data a client keeps for an OST."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Bounds, Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LUSTRE_CLIENT, LUSTRE_PARAMETERS, lustre_source
from ioassay.tuning.system import System

_WANTED_MB = 1024
_MOST_MB = 2047
_OF_RPCS = 4
"""The manual: this many times what is on the way."""
_BOUNDS = Bounds(
    LUSTRE_PARAMETERS, least=1, below="no write is cached, so every write waits for the server", unit="MiB"
)


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "osc", "max_dirty_mb"), _group, otherwise=parameters.NO_CLIENT)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    now = group.numbers()
    rpcs = max(group.sibling("max_rpcs_in_flight").numbers(), default=1)
    by_rpcs = _OF_RPCS * rpcs * parameters.rpc_bytes(group) >> 20
    most = min(_MOST_MB, group.system.memory_bytes >> 22)
    wanted = min(max(_WANTED_MB, by_rpcs), most)
    if wanted < 1:
        yield NotApplicable(f"{group.file_system}: memory is too small to keep more")
    elif min(now) >= wanted:
        yield Fine(group.file_system, parameters.span(now, "MiB"))
    else:
        because = f"four times {rpcs} RPCs on the way" if by_rpcs > _WANTED_MB else ""
        breach = _BOUNDS.breach(min(now))
        if breach:
            because = breach
        elif wanted == most:
            because = f"Lustre takes no more than {_MOST_MB} MiB and a quarter of memory"
        yield Change(
            group.file_system,
            parameters.span(now, "MiB"),
            f"{wanted} MiB",
            because,
            (group.assign(max(wanted, *now)),),
            is_harmful=bool(breach),
        )


RULE = Rule(
    name="lustre-max-dirty-mb",
    title="Let a client keep four times of what is on the way to each OST",
    area="Lustre",
    reason="A writer stalls when this much is unwritten. The manual's four times max_rpcs_in_flight times the RPC "
    "makes 1024 MiB of the study's 256 RPCs of 1 MiB: enough to form the next full RPCs while those are on the way.",
    risk="More data is lost when a client crashes, and memory that applications need holds dirty data, per OST. It "
    "takes at most 2047 MiB and a quarter of memory. Newer versions begin at 2000.",
    sources=(LUSTRE_CLIENT, LUSTRE_PARAMETERS, lustre_source("lustre/osc/lproc_osc.c", "max_dirty_mb_store")),
    judge=_judge,
    parameters=("max_dirty_mb",),
    bounds={"max_dirty_mb": _BOUNDS},
)

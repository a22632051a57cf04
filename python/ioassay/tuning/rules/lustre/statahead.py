"""Whether a client of Lustre fetches attributes before they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LUSTRE_PARAMETERS, lustre_source
from ioassay.tuning.system import System

_WANTED = 32


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "llite", "statahead_max"), _group, otherwise=parameters.NO_CLIENT)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    now = group.numbers()
    if min(now) > 0:
        yield Fine(group.file_system, f"up to {parameters.span(now)} entries ahead")
    else:
        yield Change(
            group.file_system, "off", f"up to {_WANTED} entries ahead", assignments=(group.assign(max(_WANTED, *now)),)
        )


RULE = Rule(
    name="lustre-statahead",
    title="Fetch attributes ahead while directories are listed",
    area="Lustre",
    reason="Listings, find and backups ask for the attributes of one entry after the other, each a round trip "
    "to the metadata server. Lustre notices that and fetches the next ones.",
    risk="A little load on metadata servers for listings that are broken off. Sites have switched it off for faults of "
    "old versions: ask why before switching it on.",
    sources=(LUSTRE_PARAMETERS, lustre_source("lustre/llite/llite_internal.h", "LL_SA_REQ_MAX_DEF")),
    judge=_judge,
    parameters=("statahead_max",),
)

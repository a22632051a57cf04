"""Checksums of data on the network."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning import choices
from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import EXASCALER_CLIENT, LUSTRE_PARAMETERS
from ioassay.tuning.system import System

_SLOW = ("crc32", "adler")
_FAST = "crc32c"


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "osc", "checksums"), _group, otherwise=parameters.NO_CLIENT)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    types = group.sibling("checksum_type").texts()
    chosen = sorted({choices.chosen(text) for text in types})
    slow = [one for one in chosen if one in _SLOW and all(_FAST in text for text in types)]
    faster = (group.sibling("checksum_type").assign(_FAST),) if slow else ()
    if not all(group.numbers()):
        because = "data that an adapter, the network or the memory damages is stored unnoticed"
        yield Change(group.file_system, "off", "on", because, (group.assign(1), *faster))
    elif slow:
        yield Change(group.file_system, " and ".join(slow), _FAST, assignments=faster)
    else:
        yield Fine(group.file_system, f"on, {' and '.join(chosen) or 'of the default type'}")


RULE = Rule(
    name="lustre-checksums",
    title="Compute checksums with the instruction that processors have for it",
    area="Lustre",
    reason="Every byte is summed on both sides. Processors compute crc32c many times faster than adler or crc32 in "
    "software.",
    risk="None for data: all types find the same faults. Switching checksums off (osc.*.checksums=0), as some vendors "
    "do, is faster still, but then data that is damaged on its way is stored unnoticed; ask why before switching them "
    "on again.",
    sources=(LUSTRE_PARAMETERS, EXASCALER_CLIENT),
    judge=_judge,
    parameters=("checksums", "checksum_type", "checksum_pages"),
)

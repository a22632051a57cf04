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
    if not any(group.numbers()):
        yield Fine(group.file_system, "off: fast, and nothing notices data that the network damages")
    elif slow := [one for one in chosen if one in _SLOW and all(_FAST in text for text in types)]:
        assignment = group.sibling("checksum_type").assign(_FAST)
        yield Change(group.file_system, " and ".join(slow), _FAST, assignments=(assignment,))
    else:
        yield Fine(group.file_system, f"on, {' and '.join(chosen) or 'of the default type'}")


RULE = Rule(
    name="lustre-checksums",
    title="Compute checksums with the instruction that processors have for it",
    area="Lustre",
    reason="Every byte is summed on both sides. Processors compute crc32c many times faster than adler or crc32 in "
    "software.",
    risk="None for data: all types find the same faults. Switching checksums off (osc.*.checksums=0), as some vendors "
    "do, is faster still, but then data that an adapter or the memory damages on its way is stored unnoticed; it is "
    "never recommended here.",
    sources=(LUSTRE_PARAMETERS, EXASCALER_CLIENT),
    judge=_judge,
    parameters=("checksums", "checksum_type", "checksum_pages"),
)

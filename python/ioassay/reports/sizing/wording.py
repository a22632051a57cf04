"""Words that all reports of sizes share: kinds of I/O, amounts in the cells of tables, what limits a rate.

Not: steps of the arithmetic (`steps`), verdicts of a search (`search.wording`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import get_args

from ioassay.reports.document import Span, Text
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.components import IoKind, MetadataKind, RateKind
from ioassay.sizing.model import Rate, Size
from ioassay.sizing.requirements import Condition
from ioassay.systems.amounts import BYTES
from ioassay.text.format import ABSENT, count
from ioassay.text.prose import listed

CONDITIONS: Mapping[Condition, str] = {
    "healthy": "Healthy",
    "rebuilding": "Drive rebuilding",
    "failed_over": "Server failed over",
}

_NOUNS: Mapping[RateKind, str] = {
    "write": "write",
    "read": "read",
    "random_write": "random write",
    "random_read": "random read",
    "create": "create",
    "stat": "stat",
    "read_files": "read of empty files",
    "remove": "remove",
}


def kind(rate_kind: RateKind) -> str:
    """The kind of I/O within a sentence: `random write`."""
    return _NOUNS[rate_kind]


def head(rate_kind: RateKind) -> str:
    """The kind of I/O as the head of a column."""
    return capital(_NOUNS[rate_kind])


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def amount(value: Value, rate_kind: RateKind | None = None) -> str:
    """The number alone, bytes in both kinds of units: `1.536 PB (1.364 PiB)`, `36 GB/s`, `20 kops/s`."""
    if value.dimension == BYTES:
        return formulas.amount(value)
    text = formulas.brief(value)
    # IOPS are those of data.
    return text.replace("IOPS", "ops/s") if rate_kind in get_args(MetadataKind) else text


def cell(value: Value | None, rate_kind: RateKind | None = None, unit: str = "") -> Text:
    """A cell of a table: bytes in binary units below those in decimal ones."""
    if value is None:
        return ABSENT
    if value.dimension == BYTES:
        return (formulas.brief(value), Span(formulas.binary(value), "below"))
    return f"{amount(value, rate_kind)} {unit}".rstrip()


def rate_kinds(sizes: Sequence[Size]) -> list[RateKind]:
    """The kinds that are known for any of them, in the usual order."""
    kinds: tuple[RateKind, ...] = (*get_args(IoKind), *get_args(MetadataKind))
    return [rate_kind for rate_kind in kinds if any(rate_kind in size.rates["healthy"] for size in sizes)]


def bought(size: Size) -> str:
    """`8 × md3460-performance with nl-sas-4tb, 1 × mds`."""
    bricks = [
        f"{counted.count} × {choice.name}"
        for counted, choice in zip(size.configuration.bricks, size.bricks, strict=True)
    ]
    return ", ".join([*bricks, *(f"{count} × {name}" for name, count in size.configuration.metadata.items())])


def conclusion(size: Size, rate: Rate) -> str:
    """`36 GB/s write: 8 bricks × 4.5 GB/s, limited by the RAID controllers; the network adapters would carry 54 GB/s.`

    Where the bricks' rates do not simply add up, it says how much less all reach together.
    """
    shown = f"{amount(rate.value, rate.kind)} {kind(rate.kind)}"
    limit = f"limited by the {limited_by(rate)}{_next(rate)}."
    parts = _parts(size, rate.kind)
    added = sum(number * value.nominal for number, _, value in parts)
    share = rate.value.nominal / added if added else 1.0
    is_sum = 0.995 <= share <= 1.005
    if not parts or (is_sum and [number for number, *_ in parts] == [1]):
        return f"{shown}, {limit}"
    products = " + ".join(f"{counted} × {amount(value, rate.kind)}" for _, counted, value in parts)
    of = "" if is_sum else f"{100 * share:.0f} % of "
    return f"{shown}: {of}{products}, {limit}"


def _parts(size: Size, rate_kind: RateKind) -> list[tuple[int, str, Value]]:
    """The number of bricks or modules of each kind, the same in words, and the rate of one."""
    configuration = size.configuration
    modules = [
        (number, _counted(number, "metadata module", name, size.modules), rate.value)
        for (name, number), module in zip(configuration.metadata.items(), size.modules.values(), strict=True)
        for known, rate in module.rates.items()
        if known == rate_kind
    ]
    bricks = [
        (counted.count, _counted(counted.count, "brick", choice.name, size.bricks), rate.value)
        for counted, (choice, brick) in zip(configuration.bricks, size.bricks.items(), strict=True)
        for known, rate in brick.rates["healthy"].items()
        if known == rate_kind
    ]
    return modules or bricks


def _counted(number: int, noun: str, name: str, kinds: Sized) -> str:
    """`8 bricks` where there is one kind of them, otherwise by their name."""
    return count(number, noun) if len(kinds) == 1 else f"{number:,} {name}"


def _next(rate: Rate) -> str:
    """The next lowest ceiling."""
    return "" if rate.next is None else f"; the {rate.next.place} would carry {amount(rate.next.value, rate.kind)}"


def limited_by(rate: Rate) -> str:
    """The limiting places as a noun, all that are equally low: `drives and RAID controllers`."""
    lowest = rate.limit.value.nominal
    return listed(list(dict.fromkeys(ceiling.place for ceiling in rate.ceilings if ceiling.value.nominal == lowest)))


def scaling(size: Size) -> str:
    """How rates scale from one brick to several; empty for a single brick, or where the catalogue does not state it."""
    has_several = sum(counted.count for counted in size.configuration.bricks) > 1
    return f"From one brick to several: {size.scaling.rstrip('.')}." if size.scaling and has_several else ""

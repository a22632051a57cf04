"""The ways in which one printed number can be meant, each held against the arithmetic.

A unit may count in 1000s or in 1024s or in a mixture (1000 TiB called a PB), and may have the wrong prefix; a capacity
may be another one than its name says; a number may be cut off instead of rounded, or computed from a part that was
rounded before, or from another printed number. A reading takes a unit, with its prefix, and at most one of the others,
and a mixture takes nothing else, so that not everything agrees with something. What a reading assumes has a weight
(`_weight`), which only ranks it.

Not: one reading for several numbers (`joint`), prices (`prices`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from ioassay.sizing.arithmetic import Origin, Value, applied, exactly, product, quotient, total
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick
from ioassay.sizing.configuration import StatedNumber
from ioassay.sizing.model import Rate, Size
from ioassay.sizing.published.model import (
    Base,
    Basis,
    Figure,
    Label,
    Neighbour,
    PartName,
    Reading,
    RoundedPart,
    Trial,
)
from ioassay.systems.amounts import BYTES, BYTES_PER_S, NUMBER, Amount, Interval
from ioassay.systems.printed import agrees, standing_for

_UNIT = re.compile(r"([kKMGTP]?)(i?)(\S*)")
_IOR = {"m": Label(2, "binary", "B"), "g": Label(3, "binary", "B"), "t": Label(4, "binary", "B")}
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}

_BASE_WEIGHTS: dict[Base, int] = {"decimal": 1, "binary": 1, "thousands": 2, "of 1024": 3, "millions": 4}
_BASIS_WEIGHTS: dict[Basis, int] = {"as stated": 0, "before file system": 4, "raw": 5, "usable": 5}
_ROUNDED_ELSEWHERE = 3
"""Weight of rounding down or up, of a rounded part, and of being computed from another printed number."""
_WRONG_UNIT = 5
"""Weight of a wrong prefix, and of bits for bytes."""


@dataclass(frozen=True)
class _Source:
    """The possible origins of a printed number: the whole, other capacities, and the parts whose multiple it is."""

    whole: Value
    bases: Mapping[Basis, Value]
    parts: Mapping[PartName, tuple[Value, Value]]
    """Each with what it is multiplied up to."""


def label_of(amount: Amount) -> Label:
    """The unit of a printed number, as its source means it."""
    unit = amount.unit.replace(" ", "")
    if unit in _IOR:
        return _IOR[unit]
    match = _UNIT.fullmatch(unit)
    if match is None or (not match[3] and amount.dimension != NUMBER):
        return Label(0, "decimal", unit)
    return Label(_POWERS[match[1]], "binary" if match[2] else "decimal", match[3])


def base_factor(base: Base, power: int) -> Fraction | None:
    """The factor of a prefix: `power` is 5 for P. `None` where the prefix is too small for the mixture."""
    thousands: dict[Base, int] = {"decimal": power, "binary": 0, "thousands": 1, "of 1024": power - 1, "millions": 2}
    decimal = thousands[base]
    mixed = base not in ("decimal", "binary")
    if power < 0 or (mixed and not 0 < decimal < power) or (base == "of 1024" and power < 3):
        return None  # of 1024 KB is what `thousands` calls 1000 KiB
    return Fraction(1000**decimal * 1024 ** (power - decimal))


def examine(
    catalogue: Catalogue, configuration: str, size: Size, stated: StatedNumber, earlier: Sequence[tuple[Figure, Size]]
) -> Figure:
    """A printed number in all its readings; `earlier` are those that it may have been computed from."""
    amount = stated.amount
    label = label_of(amount)
    source = _source(catalogue, size, stated)
    if isinstance(source, str):
        return Figure(configuration, stated, label, None, (), source)
    trials = [
        _trial(stated, label, reading, value)
        for reading, value in _readings(stated, label, source)
        if _factor(amount, label, reading) is not None
    ]
    for other, other_size in earlier:
        ratio = _ratio(size, other_size, other, stated, source.whole)
        if ratio is not None and (other.label.base, other.label.suffix) == (label.base, label.suffix):
            trials.append(_trial(stated, label, *_multiple_of_neighbour(label, source.whole, other, ratio)))
    trials.sort(key=lambda trial: (not trial.agrees, trial.weight if trial.agrees else 0, abs(trial.off)))
    return Figure(configuration, stated, label, source.whole, tuple(trials))


def meant(figure: Figure, reading: Reading) -> Interval | None:
    """The range of a printed number in a reading, in base units; `None` where the reading makes no sense of it."""
    amount = figure.stated.amount
    factor = _factor(amount, figure.label, reading)
    return None if factor is None else standing_for(replace(amount, factor=factor), figure.stated.qualifier)


def _source(catalogue: Catalogue, size: Size, stated: StatedNumber) -> _Source | str:
    """The origin of the number; where there is none, why there is no arithmetic."""
    match stated.what:
        case "price":
            return "A relative price has no arithmetic of its own; see what all of them allow together."
        case "drives":
            drives = [
                product(
                    "drives", exactly(counted.brick, counted.count), exactly("drives of a brick", brick.drive_count)
                )
                for counted in size.configuration.bricks
                for brick in [catalogue.find(counted.brick, Brick)]
            ]
            return _Source(total("drives", *drives), {}, {})
        case "rack_units":
            unknown = "The height of one of its parts is unknown."
            return unknown if size.rack_units is None else _Source(size.rack_units, {}, {})
        case "usable" | "protected" | "raw" as what:
            return _capacities(catalogue, size, what)
        case kind:
            if (rate := stated_rate(size.rates["healthy"], kind)) is not None:
                return _Source(rate, {}, {})
            return f"The catalogue has no {kind.replace('_', ' ')} rate for its bricks or modules."


def stated_rate(rates: Mapping[Any, Rate], kind: str) -> Value | None:
    """The stated rate of that kind: of `write_and_read` the lower one. `None` where it is unknown.

    `rates` are by a `RateKind`, or by those of data alone.
    """
    kinds = ("write", "read") if kind == "write_and_read" else (kind,)
    known_rates = [rates.get(rate_kind) for rate_kind in kinds]
    known = [rate.value for rate in known_rates if rate is not None]
    return min(known, key=lambda value: value.nominal) if len(known) == len(kinds) else None


def _capacities(catalogue: Catalogue, size: Size, what: Literal["usable", "protected", "raw"]) -> _Source:
    capacity = size.capacity
    whole: Value = getattr(capacity, what)
    others: Mapping[Basis, Value] = {
        "before file system": capacity.protected,
        "raw": capacity.raw,
        "usable": capacity.usable,
    }
    bases = {basis: value for basis, value in others.items() if value is not whole}
    if len(size.bricks) > 1:
        return _Source(whole, bases, {})
    ((choice, brick),) = size.bricks.items()
    drive = catalogue.value(choice.drive, "capacity", f"capacity of {choice.drive}")
    assert drive is not None  # every drive has one
    multiplied = capacity.protected if what == "usable" else whole
    parts: dict[PartName, tuple[Value, Value]] = {
        "drive": (drive, multiplied),
        "brick": (getattr(brick.capacity, what), whole),
    }
    if what == "usable":
        groups = exactly("groups of a brick", catalogue.find(choice.brick, Brick).redundancy.groups)
        parts["group"] = (quotient("usable capacity of a group", brick.capacity.usable, groups), whole)
    return _Source(whole, bases, {name: part for name, part in parts.items() if part[0].is_exact})


def _readings(stated: StatedNumber, label: Label, source: _Source) -> Iterator[tuple[Reading, Value]]:
    whole = source.whole
    counts_bytes = whole.dimension in (BYTES, BYTES_PER_S)
    bases: tuple[Base, ...] = get_args(Base) if counts_bytes and label.power else (label.base,)
    for base in bases:
        if base not in ("decimal", "binary"):
            yield Reading(base), whole
            continue
        if stated.qualifier in ("exact", "up-to"):
            yield Reading(base, rounding="down"), whole
            yield Reading(base, rounding="up"), whole
        counted: dict[Basis, Value] = {"as stated": whole, **source.bases}
        for basis, value in counted.items():
            for prefix in (-1, 0, 1) if label.power else (0,):
                yield Reading(base, basis=basis, prefix=prefix), value
        if whole.dimension == BYTES_PER_S:
            yield Reading(base, bits="bytes" if label.suffix.startswith("b") else "bits"), whole
        for name, of in source.parts.items():
            power = _power(of[0], base)
            for decimals in range(3):
                yield _of_rounded(whole.name, of, base, RoundedPart(name, decimals), power)
            if 0 < label.power < power:
                yield _of_rounded(whole.name, of, base, RoundedPart(name, 0, in_printed_unit=True), label.power)


def _of_rounded(
    name: str, of: tuple[Value, Value], base: Base, rounding: RoundedPart, power: int
) -> tuple[Reading, Value]:
    """The value `name`, multiplied up from a part that was rounded in a unit of that power."""
    part, multiple = of
    rounded = _rounded(part, base, rounding.decimals, power)
    count = exactly(f"times a {rounding.part}", multiple.interval.nominal / part.interval.nominal)
    return Reading(base, part=rounding), product(name, count, rounded)


def _step(base: Base) -> int:
    return 1000 if base == "decimal" else 1024


def _power(part: Value, base: Base) -> int:
    """The power of the unit in which it is 1 or more: 4 of T."""
    return max((exponent for exponent in range(1, 6) if _step(base) ** exponent <= part.interval.nominal), default=1)


def _rounded(part: Value, base: Base, decimals: int, power: int) -> Value:
    """To `decimals` of a unit."""
    step = _step(base)
    unit = Fraction(step**power, 10**decimals)
    infix = "" if base == "decimal" else "i"
    digits = f"{decimals} decimal{'s' if decimals > 1 else ''} in" if decimals else "whole"
    return applied(
        f"{part.name}, rounded",
        lambda number: unit * math.floor(number / unit + Fraction(1, 2)),
        part,
        text=f"{part.name}, rounded to {digits} {'KMGTP'[power - 1]}{infix}B",
        dimension=part.dimension,
    )


def _trial(stated: StatedNumber, label: Label, reading: Reading, recomputed: Value) -> Trial:
    amount = stated.amount
    factor = _factor(amount, label, reading)
    assert factor is not None  # `examine` has left out the others
    number = recomputed.interval.scaled(1 / factor)
    off = float(number.nominal / amount.number - 1) if amount.number else math.inf
    in_its_unit = replace(amount, factor=Fraction(1))
    follows = agrees(in_its_unit, stated.qualifier, number, reading.rounding)
    return Trial(reading, recomputed, number, follows, off, _weight(reading, label))


def _factor(amount: Amount, label: Label, reading: Reading) -> Fraction | None:
    """The printed unit in base units; `None` where the reading makes no sense of it."""
    printed, meant = base_factor(label.base, label.power), base_factor(reading.base, label.power + reading.prefix)
    if printed is None or meant is None or (label.power and label.power + reading.prefix == 0):
        return None
    bits = {"": Fraction(1), "bits": Fraction(1, 8), "bytes": Fraction(8)}[reading.bits]
    return amount.factor / printed * meant * bits


def _weight(reading: Reading, label: Label) -> int:
    base = 0 if reading.base == label.base else _BASE_WEIGHTS[reading.base]
    elsewhere = (reading.rounding != "nearest") + (reading.part is not None) + (reading.neighbour is not None)
    wrong = (reading.prefix != 0) + (reading.bits != "")
    return base + _BASIS_WEIGHTS[reading.basis] + _ROUNDED_ELSEWHERE * elsewhere + _WRONG_UNIT * wrong


def _multiple_of_neighbour(label: Label, whole: Value, other: Figure, ratio: Fraction) -> tuple[Reading, Value]:
    """Another printed number as it is printed, multiplied."""
    printed, origin = other.stated.amount, Origin("published", str(other.stated.at))
    value = Value(f"what is printed of {other.configuration}", printed.exact, printed.dimension, origin, printed.text)
    reading = Reading(label.base, neighbour=Neighbour(other.configuration, other.stated.value, str(ratio)))
    return reading, product(whole.name, value, exactly("ratio of the configurations", ratio))


def _ratio(size: Size, other: Size, figure: Figure, stated: StatedNumber, whole: Value) -> Fraction | None:
    """How much more there is of it than in another configuration that differs in its drives or in its count alone.

    Of capacities that is the ratio of all drives: what a file system leaves is not quite proportional to them.
    """
    if figure.stated.what != stated.what or figure.arithmetic is None or len(size.bricks) > 1 or len(other.bricks) > 1:
        return None
    (choice,), (other_choice,) = size.bricks, other.bricks
    counts = [sized.configuration.bricks[0].count for sized in (size, other)]
    differs_in_one = choice.brick == other_choice.brick and (choice.drive == other_choice.drive) != (
        counts[0] == counts[1]
    )
    if not differs_in_one or not figure.arithmetic.nominal:
        return None
    if whole.dimension == BYTES:
        ratio = size.capacity.raw.interval.nominal / other.capacity.raw.interval.nominal
    else:
        ratio = whole.interval.nominal / figure.arithmetic.interval.nominal
    return None if ratio == 1 else ratio

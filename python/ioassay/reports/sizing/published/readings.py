"""The ways in which a published number can be meant, in words. Not: finding them (`ioassay.sizing.published`)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Formula, Value
from ioassay.sizing.published.model import Figure, Label, PartName, Published, Reading, Trial
from ioassay.sizing.published.readings import base_factor
from ioassay.text.prose import listed

_PREFIXES = ("", "K", "M", "G", "T", "P", "E")

_PARTS: dict[PartName, str] = {"drive": "a drive", "group": "a RAID group", "brick": "a brick"}


def unit_name(reading: Reading, label: Label) -> str:
    """The meaning of a printed unit in a reading: `PiB`, `1000 TiB`, `1024 TB`; otherwise the unit itself."""
    power, suffix = label.power + reading.prefix, _suffix(reading, label)
    if not label.power:
        return suffix
    match reading.base:
        case "decimal":
            return f"{_PREFIXES[power]}{suffix}"
        case "binary":
            return f"{_PREFIXES[power]}i{suffix}"
        case "thousands":
            return f"1000 {_PREFIXES[power - 1]}i{suffix}"
        case "of 1024":
            return f"1024 {_PREFIXES[power - 1]}{suffix}"
        case "millions":
            return f"million {_PREFIXES[power - 2]}i{suffix}"


def _suffix(reading: Reading, label: Label) -> str:
    match reading.bits:
        case "bits":
            return label.suffix.replace("B", "bit", 1)
        case "bytes":
            return "B/s"
        case "":
            return label.suffix


def meaning(trial: Trial, label: Label) -> str:
    """A reading in words, without its number: `PiB, rounded down`."""
    reading = trial.reading
    if reading.neighbour is not None:
        configuration, printed, ratio = reading.neighbour
        return f"{printed} of {configuration} × {ratio}"
    return ", ".join(filter(None, (unit_name(reading, label), *extras(reading, label, [trial.recomputed]))))


def extras(reading: Reading, label: Label, recomputed: Iterable[Value]) -> Iterable[str]:
    """The assumptions of a reading besides the unit."""
    match reading.basis:
        case "before file system":
            yield "counted before the file system's overhead"
        case "raw" | "usable":
            yield f"{reading.basis} capacity being meant"
    if reading.rounding != "nearest":
        yield f"rounded {reading.rounding}"
    if reading.part is not None:
        rounded = dict.fromkeys(_rounded_part(value, reading, label) for value in recomputed)
        yield f"computed from the rounded capacity of {_PARTS[reading.part.part]} ({listed(list(rounded))})"


def _rounded_part(value: Value, reading: Reading, label: Label) -> str:
    assert isinstance(value.origin, Formula)
    part = value.origin.operands[-1]
    if reading.part is not None and reading.part.in_printed_unit:
        factor = base_factor(reading.base, label.power)
        assert factor is not None  # a part is rounded in plain units only
        return f"{formulas.significant(part.interval.nominal / factor)} {unit_name(reading, label)}"
    return formulas.brief(part) if reading.base == "decimal" else formulas.binary(part)


def judged(published: Published, figure: Figure) -> Trial:
    """A number with arithmetic, in the unit that fits most numbers of its kind."""
    finding = published.units_of(figure)
    trial = figure.trial(Reading(figure.label.base) if finding is None else finding.best.reading)
    assert trial is not None  # units alone are tried of every number
    return trial


def as_printed(figure: Figure) -> Trial:
    """The trial of a number in its printed unit."""
    trial = figure.trial(Reading(figure.label.base))
    assert trial is not None  # it is tried of every number
    return trial


def what(figure: Figure) -> str:
    """The quantity of a number: `write and read`."""
    return figure.stated.what.replace("_", " ")


def fit(trial: Trial, figure: Figure) -> str:
    """`PiB: 1.535`, `1.4PB of performance-8 × 3/2: 2.1`."""
    number, meant = formulas.significant(trial.number.nominal), meaning(trial, figure.label)
    return f"{meant}: {number}" if meant else number


def deviation(trial: Trial) -> str:
    """`9.7 % more`: the arithmetic than what is printed."""
    if trial.off >= 1:
        return f"{three_digits(1 + trial.off)} times as much"
    percent = min(abs(trial.off) * 100, 99.9)  # a thousandth is not 100 % less
    return f"{three_digits(percent) if percent > 99 else two_digits(percent)} % {'more' if trial.off > 0 else 'less'}"


def three_digits(number: float) -> str:
    """`1.95`, `0.935`."""
    return formulas.significant(Fraction(f"{number:.3g}"))


def two_digits(number: float) -> str:
    """`9.7`, `28`, `120`."""
    return formulas.significant(Fraction(f"{number:.2g}"))


def place(figure: Figure) -> str:
    """`26 GB/s (performance-6, paper:249)`."""
    return f"{figure.stated.value} ({figure.configuration}, {figure.stated.at})"

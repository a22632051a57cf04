"""Published numbers beside the arithmetic: how each can be meant, and where they contradict each other.

Not: finding that (`ioassay.sizing.published`), prices (`published_prices`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ioassay.reports.document import Block, Bullets, Column, Paragraph, Section, Span, Table, Text
from ioassay.reports.format import ABSENT
from ioassay.reports.sizing.published_prices import place, price_agrees_as, price_section, three_digits
from ioassay.reports.sizing.wording import listed
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Formula, Value
from ioassay.sizing.published.model import (
    Figure,
    Label,
    Loss,
    PartName,
    Published,
    RateFinding,
    Reading,
    Repeated,
    Shared,
    Trial,
    UnitFinding,
)
from ioassay.systems.amounts import Interval

_PREFIXES = ("", "K", "M", "G", "T", "P", "E")

_PARTS: dict[PartName, str] = {"drive": "a drive", "group": "a RAID group", "brick": "a brick"}

_MOST_SHOWN = 2
"""Readings that are named of a number that does not fit the others."""


def blocks(published: Published) -> list[Block]:
    """Every published number with what the arithmetic gives, then what all of them say together."""
    if not published.figures:
        return []
    if published.is_consistent:
        findings: list[Block] = [Paragraph("All published numbers follow from the arithmetic as printed.")]
    else:
        findings = [Bullets(list(_findings(published)))]
    return [
        Section("Published numbers", [_table(published)]),
        Section("Do the published numbers agree?", findings),
        *([] if published.prices is None else [price_section(published.prices)]),
    ]


def unit_name(reading: Reading, label: Label) -> str:
    """What a printed unit means in a reading: `PiB`, `1000 TiB`, `1024 TB`; the unit itself where nothing else."""
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
    return ", ".join(filter(None, (unit_name(reading, label), *_extras(reading, [trial.recomputed]))))


def _extras(reading: Reading, recomputed: Iterable[Value]) -> Iterable[str]:
    """What a reading assumes besides the unit."""
    match reading.basis:
        case "before file system":
            yield "counted before the file system's overhead"
        case "raw" | "usable":
            yield f"{reading.basis} capacity being meant"
    if reading.rounding != "nearest":
        yield f"rounded {reading.rounding}"
    if reading.part is not None:
        rounded = dict.fromkeys(_rounded_part(value, reading) for value in recomputed)
        yield f"computed from the rounded capacity of {_PARTS[reading.part.part]} ({listed(list(rounded))})"


def _rounded_part(value: Value, reading: Reading) -> str:
    assert isinstance(value.origin, Formula)
    part = value.origin.operands[-1]
    return formulas.brief(part) if reading.base in ("decimal", "of 1024") else formulas.binary(part)


def _table(published: Published) -> Table:
    columns = [
        Column("Configuration", merges=True),
        Column("Stated", wraps=False),
        Column("Place"),
        Column("Arithmetic"),
        Column("Agrees as"),
    ]
    rows: list[list[Text]] = [
        [
            one.configuration,
            f"{_what(one)} {_printed(one)}",
            Span(str(one.stated.at), "faint"),
            ABSENT if one.arithmetic is None else _arithmetic(one.arithmetic),
            _agrees_as(published, one),
        ]
        for one in published.figures
    ]
    return Table(columns, rows)


def _printed(figure: Figure) -> str:
    """With what the source says of its unit elsewhere."""
    stated = figure.stated
    return f"{stated.value} ({stated.unit})" if stated.unit else stated.value


def _arithmetic(value: Value) -> Text:
    step = formulas.formula(_limiting(value)).removeprefix("1 brick × ")
    return (formulas.amount(value), Span(step, "below")) if step else formulas.amount(value)


def _limiting(value: Value) -> Value:
    """Of the lowest of several limits that limit."""
    while isinstance(value.origin, Formula) and value.origin.rule == "lowest":
        value = min(value.origin.operands, key=lambda one: one.interval.nominal)
    return value


def _agrees_as(published: Published, figure: Figure) -> Text:
    if figure.stated.what == "price":
        return price_agrees_as(published.prices, figure)
    if figure.arithmetic is None:
        return Span(figure.why, "not judged")
    finding = published.units_of(figure)
    trial = figure.trial(Reading(figure.label.base) if finding is None else finding.best.reading)
    printed = figure.trial(Reading(figure.label.base))
    assert trial is not None  # units alone are tried of every number
    assert printed is not None
    if not trial.agrees:
        fits = [_fit(one, figure) for one in figure.agreeing[:_MOST_SHOWN]]
        alone = f"by itself it fits {' or '.join(fits)}" if fits else "nothing fits"
        return Span(f"not {_fit(trial, figure)}, {_off(trial)}", "failed"), Span(alone, "below")
    agrees = Span(_fit(trial, figure), "passed" if trial.weight == 0 else "warning")
    if trial is printed:
        return agrees
    return agrees, Span(f"{'also' if printed.agrees else 'not'} {_fit(printed, figure)}, {_off(printed)}", "below")


def _fit(trial: Trial, figure: Figure) -> str:
    """`PiB: 1.535`, `1.4PB of performance-8 × 3/2: 2.1`."""
    number, meant = formulas.significant(trial.number.nominal), meaning(trial, figure.label)
    return f"{meant}: {number}" if meant else number


def _off(trial: Trial) -> str:
    """`9.7 % more`: the arithmetic than what is printed."""
    if trial.off >= 1:
        return f"{three_digits(1 + trial.off)} times as much"
    return f"{abs(trial.off) * 100:.2g} % {'more' if trial.off > 0 else 'less'}"


def _findings(published: Published) -> Iterable[Text]:
    for finding in published.units:
        yield from dict.fromkeys(_units(finding))
    yield from _repetitions(published.repeated)
    yield from _rates(published.rates)


def _units(finding: UnitFinding) -> Iterable[str]:
    best, number = finding.best, len(finding.figures)
    match finding.outcome:
        case "as printed":
            return
        case "one unit":
            yield f"All {number} {finding.kind} fit {_unit_of(best)}, not {_labels(finding)} as stated."
        case _:
            yield _best_unit(finding)
            for figure in best.contradicting if best.agreeing else ():
                fits = [_fit(one, figure) for one in figure.agreeing[:_MOST_SHOWN]]
                if fits:
                    yield f"{figure.stated.value} ({figure.configuration}) fits {' or '.join(fits)}."
            yield from (_assuming_more(one, finding) for one in finding.others[:_MOST_SHOWN])
            yield from (_loss(one, finding) for one in finding.losses[:1])


def _best_unit(finding: UnitFinding) -> str:
    """`As PiB, 5 of 6 capacities follow; 2.1 PB would be 2.046. Other units fit no more: PB 2.`"""
    best, total = finding.best, len(finding.figures)
    counts = [f"{_unit_of(one)} {len(one.agreeing)}" for one in finding.units[1:] if one.agreeing]
    left = {}
    for figure in best.contradicting:
        trial = figure.trial(best.reading)
        assert trial is not None  # units alone are tried of every number
        left[figure.stated.value] = formulas.significant(trial.number.nominal)
    would = "; ".join(f"{printed} would be {number}" for printed, number in left.items())
    others = f" Other units fit no more: {listed(counts)}." if counts else ""
    return f"As {_unit_of(best)}, {len(best.agreeing) or 'none'} of {total} {finding.kind} follow; {would}.{others}"


def _assuming_more(shared: Shared, finding: UnitFinding) -> str:
    trials = [trial for one in finding.figures if (trial := one.trial(shared.reading)) is not None]
    extras = list(_extras(shared.reading, (one.recomputed for one in trials)))
    return f"All {len(finding.figures)} {finding.kind} fit {', '.join((_unit_of(shared), *extras))}."


def _loss(loss: Loss, finding: UnitFinding) -> str:
    least, most = (f"{float(1 - share) * 100:.3g}" for share in (loss.left.high, loss.left.low))
    units = " and ".join(dict.fromkeys(unit_name(loss.reading, one.label) for one in finding.figures))
    taken = f"{least} %" if least == most else f"{least} to {most} %"
    return f"All {len(finding.figures)} {finding.kind} fit {units} if {taken} less is usable than by the arithmetic."


def _unit_of(shared: Shared) -> str:
    figures = (*shared.agreeing, *shared.contradicting)
    return " and ".join(dict.fromkeys(unit_name(shared.reading, one.label) for one in figures))


def _labels(finding: UnitFinding) -> str:
    printed = Reading(finding.label)
    return " and ".join(dict.fromkeys(unit_name(printed, one.label) for one in finding.figures))


def _repetitions(findings: Iterable[Repeated]) -> Iterable[str]:
    """One sentence for a configuration of which writes and reads are stated alike."""
    alike: dict[tuple[str, tuple[str, ...]], list[Repeated]] = {}
    for one in findings:
        key = one.figures[0].configuration, tuple(figure.stated.value for figure in one.figures)
        alike.setdefault(key, []).append(one)
    for (configuration, _), same in alike.items():
        first = same[0].figures[0]
        what = listed([_what(one.figures[0]) for one in same])
        numbers = listed([f"{one.stated.value} ({one.stated.at})" for one in same[0].figures])
        arithmetic = "" if first.arithmetic is None else f" The arithmetic gives {formulas.amount(first.arithmetic)}."
        verb = "are" if " and " in what else "is"
        yield f"{configuration}: {what} {verb} stated as {numbers}, which contradict each other.{arithmetic}"


def _rates(findings: Iterable[RateFinding]) -> Iterable[str]:
    """One sentence for a brick of which writes and reads are stated alike."""
    alike: dict[str, list[str]] = {}
    for finding in findings:
        needed = [f"{_ends(one.value)} for {place(one.figure)}" for one in finding.contradicting]
        common = _ends(Value("", finding.common, finding.one.dimension, finding.one.origin))
        others = listed(list(dict.fromkeys(one.figure.stated.value for one in finding.agreeing)))
        wanted = listed([*needed, f"{common} for {others}"])
        text = f"needs {wanted}; it is {formulas.brief(finding.one)} in the catalogue"
        alike.setdefault(f"{finding.brick} {text}", []).append(_what(finding.agreeing[0].figure))
    for text, whats in alike.items():
        yield f"{listed(whats).capitalize()} rate of one brick: {text}."


def _what(figure: Figure) -> str:
    return figure.stated.what.replace("_", " ")


def _ends(value: Value) -> str:
    """`4.25 to 4.417 GB/s`."""
    low, high = (
        formulas.brief(Value("", Interval(end, end, end), value.dimension, value.origin))
        for end in (value.interval.low, value.interval.high)
    )
    return f"{low.rpartition(' ')[0] if low.rpartition(' ')[2] == high.rpartition(' ')[2] else low} to {high}"

"""The results of checking a file's published numbers, in sentences for readers with a minute.

Not: each number (`table`), what prices imply (`prices`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioassay.reports.document import Text
from ioassay.reports.sizing.published.prices import price_conclusion
from ioassay.reports.sizing.published.readings import (
    deviation,
    extras,
    fit,
    judged,
    place,
    three_digits,
    unit_name,
    what,
)
from ioassay.reports.sizing.published.table import step
from ioassay.reports.sizing.wording import capital
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.published.model import (
    Figure,
    Loss,
    Published,
    RateFinding,
    Reading,
    RepeatedNumber,
    Shared,
    Trial,
    UnitFinding,
)
from ioassay.systems.amounts import Interval
from ioassay.text.format import span
from ioassay.text.prose import listed

_MOST_NAMED = 4
"""Numbers that are named one by one; of more a sentence says how many there are."""

_MOST_READINGS = 2
"""Further readings that are named."""


def conclusions(published: Published) -> list[Text]:
    """Sentences, in this order: numbers that follow and that do not, their units, the base of relative prices."""
    repeated = [figure for repetition in published.repeated for figure in repetition.figures]
    texts: list[Text] = list(_verdict(published))
    for finding in published.units:
        texts += _units(finding)
        texts += _contradicting(
            finding, [figure for figure in finding.best.contradicting if not _is_among(figure, repeated)]
        )
    texts += _counts(published)
    texts += _repetitions(published)
    texts += _rates(published.rates)
    if published.prices is not None:
        texts.append(price_conclusion(published.prices))
    for finding in published.units:
        if finding.best.agreeing:
            texts += _further_assumptions(finding)
    return list(dict.fromkeys(texts))


def _is_among(figure: Figure, others: Iterable[Figure]) -> bool:
    return any(figure is other for other in others)


def _verdict(published: Published) -> Iterable[str]:
    """`16 of 19 published numbers follow from the arithmetic; 2.1 PB (performance-8-6tb) does not.`"""
    numbers = [figure for figure in published.figures if figure.stated.what != "price"]
    checked = [figure for figure in numbers if figure.arithmetic is not None]
    failing = [figure for figure in checked if not judged(published, figure).agrees]
    if checked:
        yield f"{_count(len(checked) - len(failing), len(checked))} from the arithmetic{_exceptions(failing, checked)}."
    unknown = [figure for figure in numbers if figure.arithmetic is None]
    if unknown:
        yield f"{capital(_named(unknown))} cannot be checked; the table says why."


def _count(follow: int, total: int) -> str:
    if total == 1:
        return f"The only published number {'follows' if follow else 'does not follow'}"
    share = f"{follow or 'None'} of {total}"
    if follow == total:
        share = "Both" if total == 2 else f"All {total}"
    return f"{share} published numbers {'follow' if follow > 1 else 'follows'}"


def _exceptions(failing: Sequence[Figure], checked: Sequence[Figure]) -> str:
    """`; 2.1 PB (performance-8-6tb) does not`; empty where all follow, and where none does."""
    if len(failing) in (0, len(checked)):
        return ""
    return f"; {_named(failing)} {'do' if len(failing) > 1 else 'does'} not"


def _named(figures: Sequence[Figure]) -> str:
    if len(figures) > _MOST_NAMED:
        return f"{len(figures)} others" if figures[0].arithmetic is not None else f"{len(figures)} numbers"
    return listed([f"{figure.stated.value} ({figure.configuration})" for figure in figures])


def _units(finding: UnitFinding) -> Iterable[str]:
    """The unit that fits, where it is not simply the printed one."""
    best, total = finding.best, len(finding.figures)
    if finding.outcome == "as printed" or not best.agreeing:
        return
    unit = _unit(best)
    if not best.contradicting:
        yield (
            f"{_every(finding)} are in {unit}, not in {_printed_unit(finding)} as printed."
            if total > 1
            else f"{place(finding.figures[0])} fits {unit}, not {_printed_unit(finding)} as printed."
        )
        return
    if best.reading.base == "decimal" and best.weight == 0:
        return
    follow = f"{len(best.agreeing)} of {total} {finding.kind} are in {_with_size(best)}: {_distinct(best.agreeing)}"
    others = [shared for shared in finding.units if shared is not best]
    decimal = [shared for shared in others if shared.reading.base == "decimal"]
    in_decimal = [f" In {_with_size(shared)} {_only(shared.agreeing)} would follow." for shared in decimal]
    counts = [
        f"{_unit(shared)} {len(shared.agreeing)}" for shared in others if shared.agreeing and shared not in decimal
    ]
    mixed = f" Mixed units fit no more: {listed(counts)}." if counts else ""
    yield f"{follow}.{''.join(in_decimal)}{mixed}"


def _every(finding: UnitFinding) -> str:
    """`All 6 capacities`, `Both capacities`; of a single number its place."""
    figures = finding.figures
    if len(figures) == 1:
        return place(figures[0])
    return f"{'Both' if len(figures) == 2 else f'All {len(figures)}'} {finding.kind}"


def _unit(shared: Shared) -> str:
    return _unit_of((*shared.agreeing, *shared.contradicting), shared.reading)


def _printed_unit(finding: UnitFinding) -> str:
    return _unit_of(finding.figures, Reading(finding.label))


def _unit_of(figures: Iterable[Figure], reading: Reading) -> str:
    """The meaning of their units in a reading: `PiB`, or of several printed units `TiB and PiB`."""
    return " and ".join(dict.fromkeys(unit_name(reading, figure.label) for figure in figures))


def _with_size(shared: Shared) -> str:
    """`PiB (1024 TiB)`, `PB (1000 TB)`; several units without what they are."""
    labels = {figure.label for figure in (*shared.agreeing, *shared.contradicting)}
    unit = _unit(shared)
    if len(labels) > 1 or shared.reading.base not in ("decimal", "binary"):
        return unit
    (label,) = labels
    if label.power < 2:
        return unit
    size = 1000 if shared.reading.base == "decimal" else 1024
    return f"{unit} ({size} {unit_name(shared.reading, label._replace(power=label.power - 1))})"


def _only(figures: Sequence[Figure]) -> str:
    return f"only {_distinct(figures)}" if figures else "none"


def _distinct(figures: Sequence[Figure]) -> str:
    return listed(list(dict.fromkeys(figure.stated.value for figure in figures)))


def _contradicting(finding: UnitFinding, figures: Sequence[Figure]) -> Iterable[str]:
    """Numbers that do not follow, and by how much."""
    if not finding.best.agreeing and finding.losses:
        yield _loss(finding.losses[0], finding)
    elif len(figures) > _MOST_NAMED:
        yield _all_deviations(finding, figures)
    else:
        for figure in figures:
            trial = figure.trial(finding.best.reading)
            assert trial is not None  # units alone are tried of every number
            yield _does_not_follow(trial, figure)


def _all_deviations(finding: UnitFinding, figures: Sequence[Figure]) -> str:
    """`8 of 8 capacities do not follow: the arithmetic gives 6.3 to 28 % more TB than is printed.`"""
    trials = [trial for figure in figures if (trial := figure.trial(finding.best.reading)) is not None]
    least, most = min(trial.off for trial in trials), max(trial.off for trial in trials)
    share = (
        f"{three_digits(100 * least)} to {three_digits(100 * most)} % more than is printed"
        if least > 0
        else f"{three_digits(-100 * most)} to {three_digits(-100 * least)} % less than is printed"
        if most < 0
        else f"from {three_digits(-100 * least)} % less to {three_digits(100 * most)} % more than is printed"
    )
    return (
        f"{len(figures)} of {len(finding.figures)} {finding.kind} do not follow: in {_unit(finding.best)}, the "
        f"arithmetic gives {share}. No unit, and no loss of a fixed share, explains all of them."
    )


def _counts(published: Published) -> Iterable[str]:
    """Drives and rack units that do not follow."""
    failing = [
        figure
        for figure in published.figures
        if figure.arithmetic is not None and published.units_of(figure) is None and not judged(published, figure).agrees
    ]
    for kind in dict.fromkeys(what(figure) for figure in failing):
        alike = [figure for figure in failing if what(figure) == kind]
        if len(alike) > _MOST_NAMED:
            yield f"{len(alike)} numbers of {kind} do not follow; the table has the arithmetic beside each."
        else:
            yield from (_does_not_follow(judged(published, figure), figure) for figure in alike)


def _does_not_follow(trial: Trial, figure: Figure) -> str:
    """`Usable 2.1 PB (…) does not follow: 8 bricks × 287.8 TB = 2.303 PB (2.045 PiB), 2.6 % less than 2.1 PiB.`"""
    printed = f"{formulas.significant(figure.stated.amount.number)} {unit_name(trial.reading, figure.label)}"
    than = "than" if trial.off < 1 else "as"
    fits = [fit(trial, figure) for trial in figure.agreeing[:_MOST_READINGS]]
    alternative = f" By itself it fits {' or '.join(fits)}." if fits else ""
    named = f"{capital(what(figure))} {place(figure)}"
    return f"{named} does not follow: {_computed(figure)}, {deviation(trial)} {than} {printed}.{alternative}"


def _computed(figure: Figure) -> str:
    """`6 bricks × 4.5 GB/s = 27 GB/s (26.7 to 27.3)`."""
    assert figure.arithmetic is not None  # who asks has one with arithmetic
    computed, result = step(figure.arithmetic), formulas.amount(figure.arithmetic)
    return f"{computed} = {result}" if computed else f"the arithmetic gives {result}"


def _further_assumptions(finding: UnitFinding) -> Iterable[str]:
    """Further assumptions under which all numbers of a kind would follow."""
    if not finding.best.contradicting:
        return
    for shared in finding.others[:_MOST_READINGS]:
        trials = [trial for figure in finding.figures if (trial := figure.trial(shared.reading)) is not None]
        added = extras(shared.reading, finding.figures[0].label, (trial.recomputed for trial in trials))
        yield f"{_every(finding)} would follow in {', '.join((_unit(shared), *added))}."
    yield from (_loss(loss, finding) for loss in finding.losses[:1])


def _loss(loss: Loss, finding: UnitFinding) -> str:
    least, most = (three_digits(float(1 - share) * 100) for share in (loss.left.high, loss.left.low))
    taken = f"{least} %" if least == most else f"{least} to {most} %"
    return (
        f"{_every(finding)} would follow in {_unit_of(finding.figures, loss.reading)} if {taken} less were usable than "
        "the arithmetic leaves, for example because the source takes off a reserve."
    )


def _repetitions(published: Published) -> Iterable[str]:
    """One sentence for each set of numbers that contradict each other."""
    alike: dict[tuple[str, tuple[str, ...]], list[RepeatedNumber]] = {}
    for repetition in published.repeated:
        key = repetition.figures[0].configuration, tuple(figure.stated.value for figure in repetition.figures)
        alike.setdefault(key, []).append(repetition)
    for (configuration, _), same in alike.items():
        figures = same[0].figures
        whats = listed([what(repetition.figures[0]) for repetition in same])
        numbers = listed([f"{figure.stated.value} ({figure.stated.at})" for figure in figures])
        verb = "are" if " and " in whats else "is"
        yield (
            f"{configuration}: {whats} {verb} stated as {numbers}, which contradict each other"
            f"{_arithmetic_remark(published, figures)}."
        )


def _arithmetic_remark(published: Published, figures: Sequence[Figure]) -> str:
    """The result of the arithmetic beside numbers that contradict each other."""
    if figures[0].arithmetic is None:
        return ""
    wrong = [figure for figure in figures if not judged(published, figure).agrees]
    meant = [_corrected_unit(figure) for figure in wrong]
    arithmetic = f"; {_computed(figures[0])}"
    if all(meant):
        return f"{arithmetic}, so that {listed([text for text in meant if text])}" if wrong else arithmetic
    return (
        f"{arithmetic}, which is {'none' if len(figures) > 2 else 'neither'}"
        if len(wrong) == len(figures)
        else arithmetic
    )


def _corrected_unit(figure: Figure) -> str:
    """The correction of a wrong prefix: `6144 GB must mean TB`; empty for all other numbers."""
    trial = next(iter(figure.agreeing), None)
    if trial is None or not trial.reading.prefix:
        return ""
    return f"{figure.stated.value} must mean {unit_name(trial.reading, figure.label)}"


def _rates(findings: Iterable[RateFinding]) -> Iterable[str]:
    """One sentence for a brick of which writes and reads are stated alike."""
    alike: dict[str, list[str]] = {}
    for finding in findings:
        needed = [f"{_ends(rate.value)} for {place(rate.figure)}" for rate in finding.contradicting]
        common = _ends(Value("", finding.common, finding.of_brick.dimension, finding.of_brick.origin))
        text = (
            f"one {finding.brick} would have to do {listed(needed)}; all others agree on {common}, and the catalogue "
            f"has {formulas.brief(finding.of_brick)}"
        )
        alike.setdefault(text, []).append(what(finding.agreeing[0].figure))
    for text, whats in alike.items():
        yield f"{capital(listed(whats))}: {text}."


def _ends(value: Value) -> str:
    """`4.25 to 4.417 GB/s`."""
    low, high = (
        formulas.brief(Value("", Interval(end, end, end), value.dimension, value.origin))
        for end in (value.interval.low, value.interval.high)
    )
    return span(low, high)

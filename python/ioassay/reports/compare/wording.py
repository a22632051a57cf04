"""The sentences of a comparison. Nothing is computed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from ioassay.analysis.compare.predictions import judge, judged
from ioassay.analysis.compare.ratios import Compared, Comparison, Ratio, verdict
from ioassay.analysis.compare.subject import (
    Band,
    Condition,
    ConditionDifference,
    Conditions,
    Point,
    Rates,
    Subject,
)
from ioassay.analysis.intervals import FEWEST, SURE, WANTED, Interval
from ioassay.analysis.names import axis_value, noun
from ioassay.text import format
from ioassay.text.prose import listed
from ioassay.text.rate_units import Unit
from ioassay.text.units import format_count

PEAK, SUSTAINED = LEVELS = ("peak", "sustained")
"""Names of the levels that stand in place of a point of the sweep."""

FASTER, SLOWER, NO_DIFFERENCE = "faster", "slower", "no significant difference"
"""Verdict on the second subject."""

EVERYWHERE = "everywhere"
"""The place of a doubt that holds in every series."""

MOST_PLACES = 4
"""Points that are named one by one where something holds for some of a series."""

CONDITIONS: Mapping[str, str] = {
    "tool": "tool",
    "layout": "layout",
    "order": "order",
    "transfer_bytes": "transfer",
    "file_set_bytes": "total",
    "ranks": "ranks",
    "files": "files",
    "api": "storage API",
    "direct": "direct I/O",
    "uncached": "uncached I/O",
    "depth": "depth",
    "fsync": "fsync",
    "payload": "payload",
    "cold_cache": "cold-cache step",
}
"""The names of the fields of `Conditions`."""


def times(ratio: float) -> str:
    """A ratio: `3.20`."""
    return format.significant(ratio)


def rate(compared: Compared, unit: Unit, per_s: float) -> str:
    """A rate of a series: of bytes, of operations on data, or of what its operation counts."""
    return rate_of(compared.reference.operation, unit, per_s)


def rate_of(operation: str, unit: Unit, per_s: float) -> str:
    """A rate of an operation in a unit of what it counts."""
    return format.rate_in(unit.name, per_s, noun(operation))


def subject_name(subject: Subject) -> str:
    """A subject by its name; of a prediction it says that it is one."""
    return f"{subject.name} (predicted)" if subject.kind == "prediction" else subject.name


def band(compared: Compared, unit: Unit, predicted: Band) -> str:
    """The predicted range: `3.80 to 4.50 GB/s`."""
    return format.span(rate(compared, unit, predicted.low), rate(compared, unit, predicted.high))


def predicted(compared: Compared, unit: Unit) -> Iterator[str]:
    """Whether the measured points of a series lie within what was predicted, and each that does not, up to
    `MOST_PLACES`; nothing where neither side is a prediction.
    """
    judged_points = judged(compared)
    if not judged_points:
        return
    outside = [point for point in judged_points if point.verdict != "within"]
    title, points = compared.reference.title, format_count(len(judged_points), "point")
    if not outside:
        yield f"{title}: measured within the predicted range at {'all ' if len(judged_points) > 1 else ''}{points}."
        return
    if len(outside) > MOST_PLACES:
        yield f"{title}: measured outside of the predicted range at {len(outside)} of {points}."
    for point in outside[:MOST_PLACES]:
        measured, end = point.measured.median, point.band.low if point.verdict == "below" else point.band.high
        reaching = point.reaching
        yield (
            f"{title}: measured {rate(compared, unit, measured)} at {point_name(point.measured, compared)}, predicted "
            f"{band(compared, unit, point.band)}; {format.share(abs(measured / end - 1))} {point.verdict} the range"
            f"{f', which its {reaching.name} reaches' if reaching else ''}."
        )


def point_name(point: Point, compared: Compared) -> str:
    """A point of the sweep: `8 clients`, or where that is ambiguous `1 client, 4 ranks, transfer 64 KiB`."""
    return point_name_among(point, compared.reference.rates[compared.column].points)


def point_name_among(point: Point, points: Sequence[Point]) -> str:
    """The axes that distinguish a point from the others of its sweep."""
    clients = Counter((other.clients, other.others) for other in points)
    ranks = Counter((other.clients, other.conditions.ranks, other.others) for other in points)
    parts = [format_count(point.clients, "client")] if point.clients is not None else []
    if point.conditions.ranks is not None and (clients[point.clients, point.others] > 1 or not parts):
        parts.append(format_count(point.conditions.ranks, "rank"))
    if point.conditions.files is not None and ranks[point.clients, point.conditions.ranks, point.others] > 1:
        parts.append(format_count(point.conditions.files, "file"))
    parts += [f"{other.axis} {axis_value(other.value, other.unit)}" for other in point.others]
    return ", ".join(parts) or "unknown"


def verdict_on(ratio: Ratio) -> str:
    """`faster`, `slower`, `no significant difference`; beside a prediction where the rate lies; `–` if not known."""
    if judgement := judge(ratio):
        return f"{judgement.verdict} the predicted range"
    if ratio.interval is None:
        return format.ABSENT
    if not ratio.differs:
        return NO_DIFFERENCE
    return FASTER if ratio.value > 1 else SLOWER


def overall(comparison: Comparison) -> str:
    """The number of series in which the other subject is faster and slower; empty where no series has a verdict."""
    series_verdicts = [verdict(series) for series in comparison.series]
    judged = [series_verdict for series_verdict in series_verdicts if series_verdict.outcome != "too few repetitions"]
    reference, other = comparison.reference.name, comparison.other.name
    if not judged:
        return ""
    both = [series_verdict for series_verdict in judged if series_verdict.fastest and series_verdict.slowest]
    counts = {
        (FASTER, ""): sum(series_verdict.fastest is not None for series_verdict in judged) - len(both),
        (SLOWER, ""): sum(series_verdict.slowest is not None for series_verdict in judged) - len(both),
        (FASTER, f" at some points and {SLOWER} at others"): len(both),
    }
    differing = [(how, where, count) for (how, where), count in counts.items() if count]
    if not differing:
        return f"{NO_DIFFERENCE.capitalize()} between {other} and {reference} in any of {_phases(len(judged))}."
    (how, where, count), *more = differing
    of = f"all {_phases(count)}" if count == len(series_verdicts) else f"{count} of {_phases(len(series_verdicts))}"
    rest = "".join(f", {how}{where} in {count}" for how, where, count in more)
    same = len(judged) - sum(count for *_, count in differing)
    alike = f"; {NO_DIFFERENCE} in {same}" if same else ""
    silent = f"; no verdict on {len(series_verdicts) - len(judged)}" if len(series_verdicts) > len(judged) else ""
    chance = "" if _is_significant(comparison) else ", which may be chance"
    return f"{other} is {how} than {reference}{where} in {of}{rest}{chance}{alike}{silent}."


def _phases(count: int) -> str:
    return format_count(count, "phase")


def verdicts(comparison: Comparison, compared: Compared) -> Iterator[str]:
    """Verdict sentences of a series; none with too few repetitions."""
    series_verdict = verdict(compared)
    reference, other, title = comparison.reference.name, comparison.other.name, compared.reference.title
    match series_verdict.outcome:
        case "too few repetitions":
            return
        case "no difference":
            yield f"No significant difference between {other} and {reference} in {title}."
            return
        case "differs":
            several = len(compared.points) > 1
            for ratio in (series_verdict.fastest, series_verdict.slowest):
                if ratio is not None:
                    yield _lead(comparison, compared, ratio, several=several)
            if series_verdict.last is not None:
                yield _lead(comparison, compared, series_verdict.last, several=False)


def _lead(comparison: Comparison, compared: Compared, ratio: Ratio, *, several: bool) -> str:
    """`b is up to 3.20 times as fast as a in Sequential, write (95 % interval 2.90 to 3.50, at 16 clients).`"""
    assert ratio.interval is not None
    first, second = comparison.other.name, comparison.reference.name
    value, known = ratio.value, ratio.interval
    if value < 1:
        first, second, value = second, first, 1 / value
        known = Interval(value, 1 / known.high, 1 / known.low, known.confidence)
    up_to = "up to " if several else ""
    differing = [difference for difference in ratio.unlike if difference.is_stated]
    but = (
        f"; unlike: {'; '.join(differs(unlike, comparison.reference.name) for unlike in differing)}"
        if differing
        else ""
    )
    seems = "is" if _is_significant(comparison) else "measured"
    return (
        f"{first} {seems} {up_to}{times(value)} times as fast as {second} in {compared.reference.title} "
        f"({known.name} {times(known.low)} to {times(known.high)}, "
        f"at {point_name(ratio.reference, compared)}){but}."
    )


def _is_significant(comparison: Comparison) -> bool:
    """False where every difference may be chance, because many points were compared."""
    significance = comparison.chance
    return significance is None or significance.judged == 1 or significance.certain > 0


@dataclass(frozen=True)
class Remark:
    """A remark on a series: `head` names the subject and stands once before all of its items."""

    head: str
    item: str
    between: str = ", "


def sentences(remarks: Iterable[Remark]) -> list[str]:
    """A sentence for each head, with all of its items."""
    heads: dict[str, list[Remark]] = {}
    for remark in remarks:
        heads.setdefault(remark.head, []).append(remark)
    return [f"{head} {group[0].between.join(remark.item for remark in group)}." for head, group in heads.items()]


def sentences_by_series(remarks: Mapping[str, Sequence[Remark]]) -> Iterator[str]:
    """The same for several series, by title. A sentence that holds for some names them; the most general come first."""
    titles: dict[Remark, list[str]] = {}
    for title, series_remarks in remarks.items():
        for remark in series_remarks:
            titles.setdefault(remark, []).append(title)
    for where in sorted(dict.fromkeys(map(tuple, titles.values())), key=len, reverse=True):
        for text in sentences(remark for remark, remark_titles in titles.items() if tuple(remark_titles) == where):
            yield text if len(where) == len(remarks) else f"{text[:-1]} ({'; '.join(where)})."


def condition_remarks(comparison: Comparison, compared: Compared) -> Iterator[Remark]:
    """Different conditions in a series, conditions that a side lacks, and points that only one side has."""
    places: dict[ConditionDifference, list[str]] = {}
    pairs = [(point_name(ratio.reference, compared), ratio) for ratio in compared.points]
    # Two peaks may be of different points, which is no difference in how these were measured.
    if not compared.points:
        pairs += [
            (level, ratio) for level, ratio in zip(LEVELS, (compared.peak, compared.sustained), strict=True) if ratio
        ]
    for where, ratio in pairs:
        for difference in ratio.unlike:
            places.setdefault(difference, []).append(where)
    name = comparison.other.name
    if compared.other.test != compared.reference.test:
        yield Remark(f"{name}:", f"its {compared.other.title}")
    for difference, at_points in places.items():
        if difference.is_stated:
            in_brackets = "" if len(at_points) >= len(compared.points) else f" (at {listed(at_points)})"
            yield Remark(
                f"{name}, different conditions:", differs(difference, comparison.reference.name) + in_brackets, "; "
            )
    if compared.is_swept and compared.peak:
        yield from _peaks(comparison, compared, compared.peak)
    yield from _unstated_conditions(comparison, compared, places)
    yield from _unmatched_points(comparison, compared)


def _peaks(comparison: Comparison, compared: Compared, peak: Ratio) -> Iterator[Remark]:
    reference, other = peak.reference, peak.other
    if None not in (reference.clients, other.clients) and reference.clients != other.clients:
        own_peak, other_peak = point_name(other, compared), point_name(reference, compared)
        peaks = f"its peak is at {own_peak}, that of {comparison.reference.name} at {other_peak}"
        yield Remark(f"{comparison.other.name}, not at the same point:", peaks)


def _unstated_conditions(
    comparison: Comparison, compared: Compared, differences: Iterable[ConditionDifference]
) -> Iterator[Remark]:
    """Conditions that only one side states. A prediction has all conditions of its study."""
    sides = (comparison.reference, "reference", compared.reference), (comparison.other, "other", compared.other)
    for side, name, curve in sides:
        if side.kind == "prediction":
            continue
        silent = {difference.what for difference in differences if getattr(difference, name) is None}
        words = [CONDITIONS[field.name] for field in fields(Conditions) if field.name in silent]
        if not curve.rates[compared.column].points:
            words = ["number of clients", *words]
        silence = "not published" if side.kind == "published system" else "not recorded"
        yield from (Remark(f"{side.name}, {silence}:", word) for word in words)


def _unmatched_points(comparison: Comparison, compared: Compared) -> Iterator[Remark]:
    """Points without a counterpart, where both sides have points at all."""
    sides = (comparison.reference, compared.reference), (comparison.other, compared.other)
    points = [curve.rates[compared.column].points for _, curve in sides]
    for (side, _), side_points in zip(sides, points, strict=True):
        unmatched = [
            point_name(point, compared)
            for point in compared.unmatched_points
            if any(point is side_point for side_point in side_points)
        ]
        if unmatched and all(points):
            yield Remark(f"Only in {side.name}:", listed(unmatched))


def doubts(subject: Subject, rates: Rates, compared: Compared) -> Iterator[Remark]:
    """The doubts about a side's points."""
    return doubted(subject.name, [(point_name(point, compared), point) for point in rates.points])


def doubted(name: str, points: Sequence[tuple[str, Point]]) -> Iterator[Remark]:
    """The doubts about points, each with the points that it concerns."""
    places: dict[str, list[str]] = {}
    for where, point in points:
        for kind in point.doubts:
            places.setdefault(kind, []).append(where)
    for kind, at_points in places.items():
        yield Remark(f"{name} is doubted:", kind + _in_brackets(at_points, len(points)))


def _in_brackets(at_points: Sequence[str], of: int, most: int = MOST_PLACES) -> str:
    """The points where something holds: ` (at 8 clients)`; empty where it holds at all of them."""
    if len(at_points) == of:
        return ""
    names = (
        f"at {'; '.join(at_points)}" if any("," in at_point for at_point in at_points) else f"at {listed(at_points)}"
    )
    return f" ({names if len(at_points) <= most else f'at {len(at_points)} of {of} points'})"


def doubted_places(measured: Sequence[tuple[Compared, Rates]]) -> dict[str, str]:
    """The places of each kind of doubt about a side: `Sequential, read (at 8 clients); Random, read`."""
    places: dict[str, dict[str, str]] = {}
    for compared, rates in measured:
        for kind in dict.fromkeys(kind for point in rates.points for kind in point.doubts):
            at_points = [point_name(point, compared) for point in rates.points if kind in point.doubts]
            of_title = places.setdefault(kind, {})
            of_title[compared.reference.title] = _in_brackets(at_points, len(rates.points), most=1)
    return {kind: _where(by_title, are_all=len(by_title) == len(measured)) for kind, by_title in places.items()}


def _where(points: Mapping[str, str], *, are_all: bool) -> str:
    """The titles of series, each with its points; `everywhere` where all series are the same."""
    if are_all and len(set(points.values())) == 1:
        return EVERYWHERE + next(iter(points.values()))
    return "; ".join(title + where for title, where in points.items())


def differs(difference: ConditionDifference, reference: str) -> str:
    """`transfer 4 KiB against 1 MiB of b`, where `reference` is b."""
    before, after = (_value(difference.what, value) for value in (difference.reference, difference.other))
    return f"{CONDITIONS[difference.what]} {after} against {before} of {reference}"


def _value(what: str, value: Condition) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format.size(value) if what.endswith("_bytes") and isinstance(value, int) else str(value)


def not_compared(comparison: Comparison) -> Iterator[str]:
    """The series that are not compared, a sentence for each side."""
    for side, other in (
        (comparison.reference, comparison.other),
        (comparison.other, comparison.reference),
    ):
        titles = [curve.title for subject, curve in comparison.unmatched if subject is side]
        if titles:
            yield f"Not compared: no matching measurement in {other.name} for {side.name}'s {'; '.join(titles)}."


def chance(comparison: Comparison) -> str:
    """How many differing points differ by more than chance; empty with a single point or no difference."""
    significance = comparison.chance
    if significance is None or significance.judged == 1 or not significance.differing:
        return ""
    differ = "differs" if significance.differing == 1 else "differ"
    of, expected = (
        f"{significance.differing} of {significance.judged} points of {comparison.other.name} {differ}",
        f"{format.significant(significance.by_chance)} expected by chance",
    )
    if not significance.certain:
        it = "it" if significance.differing == 1 else "each of them"
        return (
            f"{of}, but not significantly: among {significance.judged} points, {it} may be chance ({expected}). Repeat "
            f"at least {SURE} times."
        )
    counted = f"{of} significantly ({expected})"
    if significance.certain < significance.differing:
        verb = "is" if significance.certain == 1 else "are"
        sure = f"at least {format_count(significance.certain, 'difference')} {verb} real"
    else:
        sure = "the difference is real" if significance.certain == 1 else "all differences are real"
    if significance.confidence < WANTED:
        return f"{counted}: {sure}. For {format.share(WANTED)} confidence repeat at least {SURE} times."
    return f"{counted}: {sure} ({format.share(significance.confidence)} confidence)."


def why_no_intervals(comparison: Comparison) -> str:
    """Why ratios of a comparison have no interval; empty where they have one, and for predictions."""
    kinds = comparison.reference.kind, comparison.other.kind
    if "prediction" in kinds:
        return ""
    points = [ratio for compared in comparison.series for ratio in compared.points or compared.ratios]
    if not points or all(ratio.interval for ratio in points):
        return ""
    of = "single figures" if "published system" in kinds else ""
    because = f"only {of} are published" if of else f"a verdict needs {FEWEST} valid repetitions on both sides"
    return f"Ratios of {comparison.other.name} have no interval, so there is no verdict: {because}."

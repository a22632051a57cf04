"""The words of a comparison of two profiles: rows of its tables, sentences. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ioassay.analysis.profile.comparison import Amounts, ClassComparison, SizeRange, ratio
from ioassay.analysis.profile.condition_differences import Condition, ConditionDifference, Value
from ioassay.analysis.profile.file_changes import FileChange
from ioassay.analysis.profile.finding_changes import Change, FindingChange
from ioassay.analysis.profile.peers import Imbalance
from ioassay.profiles.model import DIRECTIONS
from ioassay.reports.profile.comparison.content import TRANSFERS, Content
from ioassay.reports.profile.wording import ELSEWHERE, SOURCES, short
from ioassay.reports.profile.wording import nothing_found as nothing_found_in
from ioassay.text import format
from ioassay.text.control_characters import escaped

Row = list[str]
"""The name, the reference, the other, their ratio."""

_MOST_CHARACTERS = 60
"""Longest command in a title."""

_MOST_NAMED = 3
"""The most nodes that are named."""

_MOST_SENTENCES = 2
"""The most files and operations that are named because their time changed."""

SINGLE = (
    "Each profile is a single observation: another run of the same application differs too. Record several runs of "
    "each before you trust a small difference."
)

SCOPE = (
    "Calls, bytes and sizes are those on storage. Latencies, time lines and times of calls that move no bytes include "
    f"{ELSEWHERE}."
)

DISTANCES = (
    "A distance is the largest difference of two cumulative shares (Kolmogorov and Smirnov's): 0 identical, 1 "
    "disjoint. That of sizes counts calls below each size. That of the time line counts what was done at each share of "
    "the time from the first I/O to the last. Where two sources have different buckets or steps, it is the least that "
    "both allow."
)

_SAME = "the same"


def title(content: Content) -> str:
    """`b against a`."""
    return f"{content.other.name} against {content.reference.name}"


_CONDITIONS: Mapping[Condition, str] = {
    "source": "Different sources",
    "command": "Different commands",
    "processes": "Different process counts",
    "ranks": "Different rank counts",
    "nodes": "Different node counts",
    "names of nodes": "Different nodes",
    "duration": "Different durations",
    "state": "Different states",
    "completeness": "Different numbers of doubts and losses",
    "steps": "Different steps of the time line",
}


def condition(difference: ConditionDifference) -> str:
    """`Different rank counts: 1 and 2.`"""
    reference, other = (_value(difference.what, value) for value in (difference.reference, difference.other))
    return f"{_CONDITIONS[difference.what]}: {reference} and {other}."


def _value(what: Condition, value: Value) -> str:
    match value:
        case tuple():
            shown = ", ".join(short(text, _MOST_CHARACTERS) for text in value[:_MOST_NAMED])
            return f"{shown}, …" if len(value) > _MOST_NAMED else shown
        case int() | float() if what in ("duration", "steps"):
            return format.duration(value * 1e9)
        case int():
            return f"{value:,}"
        case "darshan" | "dftracer" | "recorder":
            return SOURCES[value]
        case _:
            return str(value)


def conditions(content: Content) -> Iterator[str]:
    """Different conditions, and what cannot be compared because of them."""
    yield from map(condition, content.conditions)
    uncounted = content.comparison.uncounted
    if uncounted:
        them = "it" if len(uncounted) == 1 else "them"
        yield f"Not compared, because only one source counts {them}: {', '.join(uncounted)}."


def changes(content: Content) -> Iterator[str]:
    """The main changes, the most important first."""
    before_ns, after_ns = content.reference.content.totals.io_ns, content.other.content.totals.io_ns
    if not content.comparison.uncounted:
        yield _changed("Time in I/O", before_ns, after_ns, format.duration)
    before_s, after_s = (side.profile.duration_s for side in content.sides)
    yield _changed("Duration", before_s * 1e9, after_s * 1e9, format.duration)
    for direction in sorted(content.comparison.directions, key=_spent_change, reverse=True):
        if direction.reference.calls or direction.other.calls:
            yield _class_sentence(direction)
    slower = [change for change in content.files.changed if (change.spent_change_ns or 0) > 0]
    faster = [change for change in content.files.changed if (change.spent_change_ns or 0) < 0]
    for files, verb in ((faster, "saved"), (slower, "added")):
        if files:
            yield f"Most time {verb} in files: {'; '.join(map(_file, files[:_MOST_SENTENCES]))}."


def _spent_change(comparison: ClassComparison) -> float:
    before, after = comparison.reference.spent_ns, comparison.other.spent_ns
    return -1.0 if before is None or after is None else abs(after - before)


def _changed(what: str, before: float | None, after: float | None, show: Callable[[float | None], str]) -> str:
    if before is None or after is None:
        return f"{what} is not comparable: {show(before)} and {show(after)}."
    if before == after:
        return f"{what} is {_SAME}: {show(before)}."
    verb = "fell" if after < before else "rose"
    return f"{what} {verb} from {show(before)} to {show(after)}{_times(ratio(before, after))}."


def _times(value: float | None) -> str:
    return "" if value is None else f" ({format.significant(value)} times)"


def _class_sentence(comparison: ClassComparison) -> str:
    """`Write: time fell from 775 ms to 300 ms (0.387 times); 0.12 times the calls; the same bytes (815 MiB).`"""
    before, after = comparison.reference, comparison.other
    if not before.calls or not after.calls:
        change, every = ("none any more", before) if before.calls else ("new", after)
        return f"{comparison.name.capitalize()}: {change}; {_totals(every)}."
    parts = []
    if before.spent_ns is not None and after.spent_ns is not None:
        parts.append(_changed("time", before.spent_ns, after.spent_ns, format.duration).rstrip("."))
    parts.append(_amount("calls", before.calls, after.calls, lambda value: f"{value:,.0f}"))
    if comparison.name in TRANSFERS:
        parts.append(_amount("bytes", before.bytes, after.bytes, format.size))
    return f"{comparison.name.capitalize()}: {'; '.join(filter(None, parts))}."


def _totals(amounts: Amounts) -> str:
    """`28,000 calls, 4000 MiB, 40.0 s`."""
    parts = [format.count(amounts.calls, "call")]
    parts += [format.size(amounts.bytes)] if amounts.bytes else []
    parts += [] if amounts.spent_ns is None else [format.duration(amounts.spent_ns)]
    return ", ".join(parts)


def _amount(noun: str, before: int | None, after: int | None, show: Callable[[float], str]) -> str:
    if before is None or after is None:
        return ""
    if before == after:
        return f"{_SAME} {noun} ({show(before)})"
    value = ratio(before, after)
    change = f"{show(before)} to {show(after)}"
    return f"{noun} {change}" if value is None else f"{format.significant(value)} times the {noun} ({change})"


def _file(file_change: FileChange) -> str:
    change = file_change.spent_change_ns or 0
    return f"{escaped(file_change.other.path)} ({signed(change, format.duration)})"


def signed(change: float | None, show: Callable[[float], str]) -> str:
    """A change with its sign: `+1.20 s`, `−300 ms`."""
    if change is None:
        return format.ABSENT
    return show(change) if not change else f"{'−' if change < 0 else '+'}{show(abs(change))}"


def overall(content: Content) -> list[Row]:
    """Rows of the whole: duration, time in I/O, from the first I/O to the last."""
    before, after = (side.content for side in content.sides)
    comparison = content.comparison
    first, second = (_ns(span_s) for span_s in (comparison.reference_span_s, comparison.other_span_s))
    return [
        _row("Duration", before.profile.duration_s * 1e9, after.profile.duration_s * 1e9, format.duration),
        _row("First to last I/O", first, second, format.duration),
        _row(
            "Time in I/O",
            before.totals.io_ns,
            after.totals.io_ns,
            format.duration,
            is_compared=not comparison.uncounted,
        ),
        _row(
            "Of run time",
            before.totals.io_share,
            after.totals.io_share,
            format.share,
            is_compared=not comparison.uncounted,
        ),
        _row("Processes", before.profile.processes.height, after.profile.processes.height, "{:,}".format),
    ]


def _row(
    what: str,
    before: float | None,
    after: float | None,
    show: Callable[[float], str],
    *,
    is_compared: bool = True,
) -> Row:
    value = ratio(before, after) if is_compared else None
    return [what, *(format.ABSENT if amount is None else show(amount) for amount in (before, after)), times(value)]


def times(value: float | None) -> str:
    """A ratio: `3.20`."""
    return format.ABSENT if value is None else format.significant(value)


def classes(content: Content, *, is_brief: bool = False) -> Iterator[tuple[str, list[Row]]]:
    """Rows of each direction that either has."""
    for direction in content.comparison.directions:
        if not direction.reference.calls and not direction.other.calls:
            continue
        rows = list(_class_rows(content, direction, is_brief=is_brief))
        yield direction.name.capitalize(), [row for row in rows if set(row[1:]) != {format.ABSENT}]


def _class_rows(content: Content, comparison: ClassComparison, *, is_brief: bool) -> Iterator[Row]:
    before, after = comparison.reference, comparison.other
    yield _row("Calls", before.calls, after.calls, "{:,}".format)
    if comparison.name in TRANSFERS:
        yield _row("Bytes", before.bytes, after.bytes, format.size)
    yield _row("Time", before.spent_ns, after.spent_ns, format.duration)
    yield _row("Median latency", before.p50_ns, after.p50_ns, format.duration)
    yield _row("99 % latency", before.p99_ns, after.p99_ns, format.duration)
    if not is_brief:
        yield _row("Slowest call", before.slowest_ns, after.slowest_ns, format.duration)
    if comparison.name not in TRANSFERS:
        return
    for name, label in (("p10", "10 % size"), ("p50", "Median size"), ("p90", "90 % size")):
        if name == "p50" or not is_brief:
            yield [label, size_range(before.sizes.get(name)), size_range(after.sizes.get(name)), format.ABSENT]
    shares = content.patterns[comparison.name]
    for name in ("consecutive", "strided", "random", "misaligned"):
        if not is_brief:
            values = [getattr(share, name) for share in shares]
            yield [name.capitalize(), *map(format.share, values), format.ABSENT]


def size_range(bounds: SizeRange | None) -> str:
    """`1 MiB`, or where it is not known exactly `512 KiB to 1 MiB`."""
    if bounds is None:
        return format.ABSENT
    if bounds.exact_bytes is not None:
        return format.size(bounds.exact_bytes)
    begin = format.size(bounds.begin_bytes)
    return f"{begin} or more" if bounds.end_bytes is None else f"{begin} to {format.size(bounds.end_bytes)}"


def operation(comparison: ClassComparison) -> Row:
    """The row of an operation: calls, bytes, time and median latency of both, and their ratios."""
    before, after = comparison.reference, comparison.other
    return [
        comparison.name,
        *_pair(before.calls, after.calls, "{:,}".format),
        *_pair(before.bytes or None, after.bytes or None, format.size),
        *_pair(before.spent_ns, after.spent_ns, format.duration),
        *_pair(before.p50_ns, after.p50_ns, format.duration),
        *_pair(before.p99_ns, after.p99_ns, format.duration),
    ]


def _pair(before: float | None, after: float | None, show: Callable[[float], str]) -> Row:
    """Both, and the ratio."""
    return _row("", before, after, show)[1:]


def nothing_found(content: Content) -> str:
    """The sentence without findings in either, and what no rule could judge."""
    sentences = [(side.name, nothing_found_in(side.content)) for side in content.sides]
    if len({text for _, text in sentences}) == 1:
        return f"In both: {sentences[0][1]}"
    return " ".join(f"{name}: {text}" for name, text in sentences)


def distances(content: Content) -> list[Row]:
    """How unlike sizes and time lines are, of each direction and operation of which either is known. An operation that
    is called like its direction has a row only where it says something else.
    """
    comparison = content.comparison
    rows = [_distance_row(direction.name.capitalize(), direction) for direction in comparison.directions]
    of_direction = {direction.name: row for direction, row in zip(comparison.directions, rows, strict=True)}
    for operation in comparison.operations:
        same = of_direction.get(operation.name)
        row = _distance_row(f"{operation.name.capitalize()}{' (operation)' if same else ''}", operation)
        if same is None or row[1:] != same[1:]:
            rows.append(row)
    return [row for row in rows if set(row[1:]) != {format.ABSENT}]


def _distance_row(name: str, comparison: ClassComparison) -> Row:
    return [name, distance(comparison.size_distance), distance(comparison.timeline_distance)]


def distance(value: float | None) -> str:
    """`0.12`."""
    return format.ABSENT if value is None else f"{value:.2f}"


def phases(content: Content) -> list[Row]:
    """Number, length and period of the phases of each direction."""
    rows = []
    for direction in DIRECTIONS:
        side_phases = [
            [phase for phase in side.content.phases if phase.direction == direction and not phase.is_mapped]
            for side in content.sides
        ]
        if not any(side_phases):
            continue
        name = direction.capitalize()
        before, after = side_phases
        rows.append([f"{name}: phases", f"{len(before):,}", f"{len(after):,}", times(ratio(len(before), len(after)))])
        before_ns, after_ns = (
            sum(phase.duration_s for phase in phases_of_side) * 1e9 for phases_of_side in side_phases
        )
        rows.append(_row(f"{name}: in phases", before_ns, after_ns, format.duration))
        period, other_period = (_ns(side.content.periods_s.get(direction)) for side in content.sides)
        if period is not None or other_period is not None:
            rows.append(_row(f"{name}: period", period, other_period, format.duration))
    return rows


def _ns(duration_s: float | None) -> float | None:
    return None if duration_s is None else duration_s * 1e9


_MEASURES = {"read_bytes": "read", "written_bytes": "written", "io_ns": "time in I/O"}


def imbalance(content: Content, measure: str) -> Row:
    """The imbalance of processes that do the same work, in a measure."""
    imbalances = [side.imbalance(measure) for side in content.sides]
    values = [None if imbalance is None else imbalance.share for imbalance in imbalances]
    return [_MEASURES[measure], *map(_imbalance, imbalances), times(ratio(*values))]


def _imbalance(imbalance: Imbalance | None) -> str:
    if imbalance is None:
        return format.ABSENT
    peer = "rank" if imbalance.peers == "rank" else "worker"
    return f"{format.share(imbalance.share)} of {format.count(imbalance.count, peer)}"


CHANGES: Mapping[Change, str] = {
    "new": "New",
    "gone": "Gone",
    "in both": "In both",
    "unknown": "Unknown in one of them",
}
"""The names of changes of findings."""


def finding(content: Content, change: FindingChange) -> str:
    """A finding of either profile, and whether the other has it, too."""
    before, after = (
        side_finding.message if side_finding else None for side_finding in (change.reference, change.other)
    )
    if before and after:
        same = before.text == after.text
        return f"{after.text}" if same else f"{after.text} Before: {before.text}"
    message, side, other = (
        (before, content.reference, content.other) if before else (after, content.other, content.reference)
    )
    assert message is not None
    if change.change == "unknown":
        return f"{message.text} Only {side.name}; {other.name} does not record what it rests on."
    return message.text if change.change == "gone" else f"{message.text} Remedy: {message.remedy}"


def finding_headline(change: FindingChange) -> str:
    """The same in a sentence: `New: …`."""
    shown = change.other or change.reference
    assert shown is not None
    return f"{CHANGES[change.change]}: {shown.message.headline}"


def file(change: FileChange, *, is_brief: bool = False) -> Row:
    """The row of a file of both, without its path."""
    before, after = change.reference, change.other
    moved = (before.read_bytes, after.read_bytes, before.written_bytes, after.written_bytes)
    return [
        *(format.size(amount) for amount in (() if is_brief else moved)),
        format.duration(before.spent_ns),
        format.duration(after.spent_ns),
        signed(change.spent_change_ns, format.duration),
    ]


def more(count: int, noun: str) -> Sequence[str]:
    """The number of rows beyond those shown."""
    return [f"{count:,} more {noun}{'s' * (count != 1)}."] if count > 0 else []

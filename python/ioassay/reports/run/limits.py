"""The section Limits: how many numbers are valid, what remains unknown, and the doubts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ioassay.analysis import rates, series
from ioassay.analysis.doubts import Place
from ioassay.analysis.intervals import FEWEST
from ioassay.analysis.names import Names
from ioassay.analysis.stop_rule import WidePoint, Width
from ioassay.reports.document import (
    Anchor,
    Block,
    Bullets,
    Column,
    Fold,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    introduced,
)
from ioassay.reports.run import opening
from ioassay.reports.run.content import Content
from ioassay.reports.run.io500 import INVALID
from ioassay.text import format
from ioassay.text.units import format_count

if TYPE_CHECKING:
    pass


MOST_OPEN = 3
"""Measurements with a doubt that a page shows unfolded."""

MOST_PLACES = 100
"""The most cases that are named where many have the same doubt."""


def limits(content: Content) -> list[Block]:
    first, *points = wide(content) or [""]
    groups = content.doubts.groups
    rows: list[list[Text]] = [
        [
            (Anchor(f"doubt-{group.mark}"), group.mark),
            (group.kind, ", ", Span("makes the number invalid", "failed")) if group.invalidates else group.kind,
            Span(f"{len(group.places)} of {content.doubts.measurements}", anchor=f"where-{group.mark}"),
            "; ".join(filter(None, group.remedies)),
        ]
        for group in groups
    ]
    about = (
        "Doubts are reasons not to believe a number, or to read it with care. Their letters stand beside the numbers "
        "that they concern in the tables of all measurements and latencies."
    )
    columns = [Column(), Column("Doubt"), Column("Measurements", is_number=True), Column("Remedy")]
    return [
        *map(Paragraph, [trust(content), *gaps(content)]),
        *introduced(first, points),
        *((Paragraph(about), Table(columns, rows, "Doubts")) if groups else ()),
    ]


def every_doubt(content: Content) -> list[Section]:
    """The section of the appendix with all messages of each kind of doubt."""
    sections = []
    for group in content.doubts.groups:
        title = f"{group.mark}\u2002{doubt(group.kind)}: {format_count(len(group.places), 'measurement')}"
        items: list[Text] = [
            (f"{message} ", Span(f"({where})", "faint")) for where, message in by_message(group.places, content.names)
        ]
        fold: Fold = "open" if len(group.places) <= MOST_OPEN else "closed"
        sections.append(Section(title, [Bullets(items)], f"where-{group.mark}", fold))
    return sections


def wide(content: Content) -> list[str]:
    """Points whose interval stayed wide under a stop rule: a sentence for all, then one each."""
    if not content.wide:
        return []
    rules = sorted({(point.rule.at_most, point.rule.share) for point in content.wide})
    asked = " and ".join(f"{most} repetitions for an interval of ±{100 * share:g} %" for most, share in rules)
    points = format_count(len(content.wide), "point")
    return [
        f"{points} of the sweep still spread too much after the most repetitions that the study allows ({asked}).",
        *(_wide_point(content, point) for point in content.wide),
    ]


def _wide_point(content: Content, wide: WidePoint) -> str:
    case = next(case for case in content.document.cases if case.sweep_point == wide.point)
    where = f"{content.names.workload(case.workload)}, {content.names.point(case.id)}"
    return f"{where}: {', '.join(f'{series.label(width.series)} {_known(width)}' for width in wide.wide)}."


def _known(width: Width) -> str:
    repetitions = format_count(width.repetitions, "valid repetition")
    return f"±{format.share(width.share)} ({repetitions})" if math.isfinite(width.share) else repetitions


def trust(content: Content) -> str:
    """The numbers of valid and of doubted measurements, in a sentence."""
    total = content.doubts.measurements
    if total == 0:
        return "Nothing was measured."
    invalid = sum(not row["valid"] for part in content.workloads for row in part.measurements)
    doubted = sum(bool(row["marks"]) for part in content.workloads for row in part.measurements)
    are = "is" if invalid == 1 else "are"
    every = "The only measurement is" if total == 1 else f"All {total} measurements are"
    valid = f"{every} valid{_score_caveat(content)}"
    if invalid:
        valid = f"{invalid} of {format_count(total, 'measurement')} {are} invalid and left out"
    if doubted == 0:
        return f"{valid}; {'it has no doubts' if total == 1 else 'none has a doubt'}."
    if doubted == total:
        return f"{valid}; {'it has' if total == 1 else 'all have'} doubts."
    return f"{valid}; {doubted} {'has' if doubted == 1 else 'have'} doubts."


def _score_caveat(content: Content) -> str:
    """A score may be invalid although every number that it is made of is right: it has rules of its own."""
    invalid = sum(not score.is_valid for score in content.scores)
    if not invalid:
        return ""
    which = "the IO500 score is" if len(content.scores) == 1 else f"{invalid} of {len(content.scores)} IO500 scores are"
    return f" as a measurement, but {which} {INVALID} by the rules of the IO500"


def gaps(content: Content) -> list[str]:
    """Unknowns because of how the run was measured, whatever its numbers are."""
    sentences = []
    document = content.document
    if document.imported is not None:
        sentences.append(
            f"The numbers were read from what {document.imported.tool} printed; "
            "ioassay could not check the measurements."
        )
    if content.missing:
        sentences.append(opening.missing(content))
    medians = rates.medians(content.points, "rate_operations_per_s")
    few = medians.filter(medians["repetitions"] < FEWEST).height
    if few:
        which = "No median" if few == medians.height else f"{few} of {format_count(medians.height, 'median')}"
        have = "has" if few in (1, medians.height) else "have"
        no = "a" if few == medians.height else "no"
        sentences.append(
            f"{which} {have} {no} confidence interval, which needs {FEWEST} valid repetitions: how far another run "
            "would differ is unknown."
        )
    if document.ceilings is None and len(document.environment) > 1:
        sentences.append("The network was not measured, so rates are not compared with its throughput (`ioassay net`).")
    return sentences


def doubt(kind: str) -> str:
    """The name of a kind of doubt at the beginning of a line: `Cache resident`."""
    return kind.replace("-", " ").capitalize()


def by_message(places: Iterable[Place], names: Names) -> list[tuple[str, str]]:
    """(where, message) of the doubts of a group; what has the same message is reported together."""
    where: dict[str, dict[str, list[str]]] = {}
    for (case, *measured), message, _ in places:
        where.setdefault(message, {}).setdefault(case, []).append(names.measurement(*measured))
    return [(_where(cases, names), message) for message, cases in where.items()]


def _where(cases: Mapping[str, list[str]], names: Names) -> str:
    shown = [
        f"{names.case(case)}: {', '.join(phases)}" for case, phases in itertools.islice(cases.items(), MOST_PLACES)
    ]
    more = len(cases) - MOST_PLACES
    return "; ".join([*shown, f"and {format_count(more, 'more case')}"] if more > 0 else shown)

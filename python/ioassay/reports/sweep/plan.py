"""The plan of a sweep, in lines that are shown before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.reports.sweep import wording
from ioassay.store.sweep_document import SweepDocument
from ioassay.text.units import format_count
from ioassay.tuning.sweep.prepare import setting_name


def lines(document: SweepDocument) -> Iterator[str]:
    """The parameters with their values, and how many points there are."""
    best = wording.objective(document.objective)
    yield f"{document.title}: study {document.study} on {document.target}, for the best {best}"
    for parameter in document.parameters:
        name = setting_name(parameter) or f"{parameter.key} of the study"
        today = parameter.today or "as in the study"
        yield f"  {name}: {', '.join(parameter.values)}; today {today}{_suggestion(parameter.suggested)}"
        if parameter.set is not None:
            yield f"    set by: {parameter.set}"
    points = document.points
    some = "" if points <= document.trials else f"; {document.trials} of them are tried"
    pairs = f"3 to {document.most_pairs}" if document.most_pairs > 3 else "3"
    yield f"{format_count(points, 'point')}{some}, each with {pairs} pairs of measurements"
    yield from document.notes
    yield from (wording.constraint(constraint) for constraint in document.constraints)


def _suggestion(suggested: str | None) -> str:
    return f" (a rule recommends {suggested})" if suggested else ""

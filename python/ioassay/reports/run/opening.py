"""The opening of a report, before its sections: the facts of the run, how it ended, and what it lacks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ioassay.reports.document import (
    Block,
    Bullets,
    Paragraph,
    Span,
    Table,
    facts,
    introduced,
)
from ioassay.reports.run.content import Content
from ioassay.store.document import CaseState
from ioassay.store.origin import ImportOrigin
from ioassay.text import format
from ioassay.text.units import format_count, format_link_rate

if TYPE_CHECKING:
    pass


_ENDS: dict[str, str] = {
    "running": "The run had not ended.",
    "complete": "The run is complete.",
    "failed": "The run failed.",
    "interrupted": "The run was interrupted.",
}

_STATES: tuple[tuple[CaseState, str], ...] = (
    ("failed", "failed"),
    ("interrupted", "interrupted"),
    ("running", "still running"),
    ("pending", "never started"),
    ("not needed", "not needed (intervals narrow enough, a search has its answer, or no time left)"),
)


def state(content: Content) -> str:
    """The end of the run and how many cases are complete."""
    cases = content.document.cases
    counts = Counter(case.state for case in cases)
    live_at = content.document.live_at
    end = _ENDS[content.document.state] if live_at is None else f"The run is in progress; results are as of {live_at}."
    sentence = f"{end} {counts['complete']} of {format_count(len(cases), 'case')} complete"
    rest = [f"{counts[name]} {words}" for name, words in _STATES if counts[name]]
    return ", ".join([sentence, *rest]) + "."


def asked(content: Content) -> tuple[str, str]:
    """The study or front end as a row of the opening: (`Study` or `Front end`, its name and scale)."""
    document = content.document
    scale = f", scale {document.study.scale}" if document.study.scale else ""
    source = f"; method of: {document.study.source}" if document.study.source else ""
    if document.imported is not None:
        return "Imported", imported(document.imported)
    return "Study" if document.front_end is None else "Front end", f"{document.study.name}{scale}{source}"


def imported(entry: ImportOrigin) -> str:
    """The tool that results were imported from, and its versions."""
    versions = ", ".join(entry.versions)
    return versions if versions.startswith(entry.tool) else f"{entry.tool} {versions}".strip()


def lab(content: Content) -> str:
    """The lab that it was measured in, or nothing."""
    entry = content.document.lab
    if entry is None:
        return ""
    hosts = format_count(len(entry.hosts), "host")
    links = f" with links of {format_link_rate(entry.link_bits_per_s)}" if entry.link_bits_per_s else ""
    return "; ".join(part for part in (entry.about, f"{hosts} of one machine{links}") if part)


def errors(content: Content) -> list[tuple[str, str]]:
    """(case in words, why it failed) of every case that has an error."""
    return [(content.names.case(case.id), case.error) for case in content.document.cases if case.error]


def missing(content: Content) -> str:
    """The sentence on missing measurements; empty if there are none."""
    if not content.missing:
        return ""
    planned = sum(len(case.measured) for case in content.document.cases)
    were = "was" if len(content.missing) == 1 else "were"
    sentence = f"{len(content.missing)} of {format_count(planned, 'measurement')} {were} not made."
    if content.document.front_end is not None:
        return sentence
    return f"{sentence} Figures, peaks and sustained rates rest on the others and may change with the missing ones."


def measured(content: Content) -> str:
    """The time of the measurement."""
    document = content.document
    if not document.started:
        return "date unknown"
    ended = f" to {format.moment(document.ended)}" if document.ended else ""
    zone = "UTC" if document.imported is None else "time zone unknown"
    return f"{format.moment(document.started)}{ended} ({zone})"


def day(iso: str) -> str:
    """The day of an ISO time: `2026-02-02`."""
    return iso[:10]


def facts_of_run(content: Content) -> Table:
    """The table below the title."""
    run, of_lab = content.document, lab(content)
    launcher = "" if run.imported else f", {run.launcher} ranks"
    nodes = f", {format_count(len(run.environment), 'node')}" if content.nodes else ""
    return facts(
        [
            ("Target", run.where),
            *([("Lab", of_lab)] if of_lab else []),
            ("Measured", measured(content)),
            asked(content),
            ("Run", f"{run.run}{launcher}{nodes}"),
            ("State", state(content)),
        ]
    )


def incomplete(content: Content) -> list[Block]:
    """Failures, interruptions and missing measurements: they come first."""
    return [
        Paragraph(missing(content)),
        Bullets([f"{where}: {error}" for where, error in errors(content)]),
        *introduced("These remain on the target:", [Span(path, "code") for path in content.document.leftovers]),
    ]

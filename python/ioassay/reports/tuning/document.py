"""An examination as a document, and what the terminal shows of it. Not: the path of an I/O (`path`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Commands,
    Document,
    Notes,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
)
from ioassay.reports.tuning import path
from ioassay.tuning.check import Examination, Finding
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable, Source
from ioassay.units import format_count
from ioassay.version import __version__


def document(examination: Examination, *, with_figures: bool) -> Document:
    """The document."""
    hosts = ", ".join(system.host for system in examination.systems)
    return Document(
        f"Storage settings of {hosts}",
        [
            Paragraph(_counts(examination)),
            *path.sections(examination.paths, examination.measured, with_figures=with_figures),
            Section("What to change", [*_changes(examination), *_apply(examination)]),
            Section("As it should be", [_fine(examination)]),
            Section("Not readable", [_unreadable(examination)]),
            Section("Not applicable", [_not_applicable(examination)], fold="closed"),
        ],
        question="Where is an I/O split or misaligned on its way to the disk, and which settings hold it back?",
        window=f"{hosts}: settings",
        footer=f"Written by ioassay {__version__}.",
    )


def terminal(examination: Examination) -> list[Block]:
    """What the terminal shows."""
    skipped = sum(isinstance(one, NotApplicable) for finding in examination.findings for one in finding.judgements)
    return [
        *path.sections(examination.paths, examination.measured, with_figures=False),
        Section("What to change", [*_changes(examination), *_apply(examination)]),
        Section("As it should be", [_fine(examination)]),
        Section("Not readable", [_unreadable(examination)]),
        Paragraph(
            Span(f"{format_count(skipped, 'rule')} do not apply here; --format md says why each does not.", "faint")
        ),
        Paragraph(_counts(examination)),
    ]


def _counts(examination: Examination) -> str:
    judgements = [one for finding in examination.findings for one in finding.judgements]
    changes, fine, unreadable = (
        sum(isinstance(one, kind) for one in judgements) for kind in (Change, Fine, NotReadable)
    )
    rules = len({finding.rule.name for finding in examination.findings})
    return (
        f"{format_count(rules, 'rule')} on {format_count(len(examination.systems), 'host')}: "
        f"{format_count(changes, 'recommended change')}, {fine} as recommended, {unreadable} not readable."
    )


def _changes(examination: Examination) -> Iterator[Block]:
    found = False
    for finding in examination.findings:
        changes = [one for one in finding.judgements if isinstance(one, Change)]
        if not changes:
            continue
        found = True
        rule = finding.rule
        yield Section(
            rule.title,
            [
                Table(
                    [Column("Host"), Column("Where"), Column("Now"), Column("Recommended"), Column("Here")],
                    [
                        [finding.host, one.subject, one.value, Span(one.wanted, "strong"), one.because]
                        for one in changes
                    ],
                ),
                Bullets(
                    [
                        ("Why: ", rule.reason),
                        ("Risk: ", rule.risk),
                        ("Source: ", "; ".join(map(_source, rule.sources))),
                    ]
                ),
                Commands(list(dict.fromkeys(_command(finding, one) for one in changes))),
            ],
            anchor=f"rule-{rule.name}-{finding.host}",
        )
    if not found:
        yield Paragraph("Nothing: every setting that the rules know is as they recommend.")


def _source(source: Source) -> str:
    return f"{source.text} ({source.url})" if source.url else source.text


def _command(finding: Finding, change: Change) -> tuple[str, str]:
    if change.assignments:
        return ("Try it, with a way back", f"ioassay tune apply {' '.join(map(_quoted, change.assignments))}")
    return (f"For {change.subject}", change.command or f"see the sources of the rule {finding.rule.name}")


def _quoted(assignment: object) -> str:
    import shlex  # noqa: PLC0415

    return shlex.quote(str(assignment))


def _apply(examination: Examination) -> list[Block]:
    """One command line for all that can be set, where there is one host and more than one change."""
    if len(examination.systems) != 1:
        return []
    assignments = list(
        dict.fromkeys(
            _quoted(assignment)
            for finding in examination.findings
            for one in finding.judgements
            if isinstance(one, Change)
            for assignment in one.assignments
        )
    )
    if len(assignments) < 2:
        return []
    return [Commands([("All of these at once", f"ioassay tune apply {' '.join(assignments)}")])]


def _fine(examination: Examination) -> Table:
    rows: list[Sequence[Text]] = [
        [finding.host, finding.rule.name, one.subject, one.value]
        for finding in examination.findings
        for one in finding.judgements
        if isinstance(one, Fine)
    ]
    return Table([Column("Host", merges=True), Column("Rule", merges=True), Column("Where"), Column("Value")], rows)


def _unreadable(examination: Examination) -> Notes:
    lines = [
        f"{finding.host}: {finding.rule.name}: {one.what}: {one.reason}"
        for finding in examination.findings
        for one in finding.judgements
        if isinstance(one, NotReadable)
    ]
    return Notes(lines)


def _not_applicable(examination: Examination) -> Table:
    rows: list[Sequence[Text]] = [
        [finding.host, finding.rule.name, one.why]
        for finding in examination.findings
        for one in finding.judgements
        if isinstance(one, NotApplicable)
    ]
    return Table([Column("Host", merges=True), Column("Rule", merges=True), Column("Why it does not apply")], rows)

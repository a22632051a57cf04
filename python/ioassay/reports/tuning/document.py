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
from ioassay.tuning.check import Examination
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable, Rule
from ioassay.units import format_count
from ioassay.version import __version__

_TRY = "Try it (ioassay tune rollback puts it back)"


def document(examination: Examination, *, with_figures: bool) -> Document:
    """The document."""
    hosts = ", ".join(system.host for system in examination.systems)
    return Document(
        f"Storage settings of {hosts}",
        [
            Paragraph(_counts(examination)),
            *path.sections(examination.paths, examination.measured, with_figures=with_figures),
            Section("What to change", [*_changes(examination, with_addresses=True), *_apply(examination)]),
            Section("As it should be", [_fine(examination)]),
            Section("Not readable", [_unreadable(examination)]),
            Section("Not applicable", [_not_applicable(examination)], fold="closed"),
        ],
        question="Where is an I/O split or misaligned on its way to the disk, and which settings hold it back?",
        window=f"{hosts}: settings",
        footer=f"Written by ioassay {__version__}.",
        prints_folds=False,  # the many rules that do not apply
    )


def terminal(examination: Examination, columns: int) -> list[Block]:
    """What a terminal of that many columns shows: no addresses, which would fill lines."""
    rules = {finding.rule.name for finding in examination.findings}
    applying = {
        finding.rule.name
        for finding in examination.findings
        if not all(isinstance(one, NotApplicable) for one in finding.judgements)
    }
    return [
        *path.sections(examination.paths, examination.measured, with_figures=False, columns=columns),
        Section("What to change", [*_changes(examination, with_addresses=False), *_apply(examination)]),
        Section("As it should be", [_fine(examination)]),
        Section("Not readable", [_unreadable(examination)]),
        Paragraph(
            Span(
                f"Rules that do not apply here: {len(rules - applying)} of {len(rules)}; --format md says why each "
                "does not.",
                "faint",
            )
        ),
        Paragraph(_counts(examination)),
    ]


def _counts(examination: Examination) -> str:
    changes, fine, unreadable = (len(examination.of_kind(kind)) for kind in (Change, Fine, NotReadable))
    rules = len({finding.rule.name for finding in examination.findings})
    return (
        f"{format_count(rules, 'rule')} on {format_count(len(examination.systems), 'host')}: "
        f"{format_count(changes, 'recommended change')}, {fine} as recommended, {unreadable} not readable."
    )


def _changes(examination: Examination, *, with_addresses: bool) -> Iterator[Block]:
    has_hosts = len(examination.systems) > 1
    found = False
    # First what requests were found to suffer from; the order within is that in which settings are to be made.
    for finding in sorted(examination.findings, key=lambda one: not one.evidence):
        changes = [one for one in finding.judgements if isinstance(one, Change)]
        if not changes:
            continue
        found = True
        rule = finding.rule
        yield Section(
            f"{rule.title}, on {finding.host}" if has_hosts else rule.title,
            [
                _values(changes),
                Bullets(
                    [
                        *((Span("Found here:", "strong"), f" {text}") for text in finding.evidence),
                        (Span("Why:", "strong"), f" {rule.reason}"),
                        (Span("Risk:", "strong"), f" {rule.risk}"),
                        (Span("Source:", "strong"), f" {_sources(rule, with_addresses=with_addresses)}"),
                        (Span("Rule:", "strong"), f" {rule.name}"),
                    ]
                ),
                Commands(list(_commands(rule, changes))),
            ],
            anchor=f"rule-{rule.name}-{finding.host}",
        )
    if not found:
        yield Paragraph("Nothing: every setting that the rules know is as they recommend.")


def _values(changes: Sequence[Change]) -> Table:
    """A row for each value as it is and as it should be, with everything that has it."""
    subjects: dict[tuple[str, str, str], list[str]] = {}
    for one in changes:
        subjects.setdefault((one.value, one.wanted, one.because), []).append(one.subject)
    has_because = any(because for _, _, because in subjects)
    rows: list[Sequence[Text]] = [
        [", ".join(where), now, Span(wanted, "strong"), *([because] if has_because else [])]
        for (now, wanted, because), where in subjects.items()
    ]
    head = [Column("Where"), Column("Now"), Column("Recommended")]
    return Table([*head, *([Column("Because")] if has_because else [])], rows, density="narrow")


def _sources(rule: Rule, *, with_addresses: bool) -> str:
    return "; ".join(
        f"{source.text} ({source.url})" if source.url and with_addresses else source.text for source in rule.sources
    )


def _commands(rule: Rule, changes: Sequence[Change]) -> Iterator[tuple[str, str]]:
    """One command line for all that can be set here, and what to type elsewhere for the rest."""
    settable = list(dict.fromkeys(_quoted(assignment) for one in changes for assignment in one.assignments))
    if settable:
        yield (_TRY, f"ioassay tune apply {' '.join(settable)}")
    others: dict[str, list[str]] = {}
    for one in changes:
        if not one.assignments:
            others.setdefault(one.command or f"see the sources of the rule {rule.name}", []).append(one.subject)
    for command, subjects in others.items():
        yield (f"For {', '.join(subjects)}", command)


def _quoted(assignment: object) -> str:
    import shlex  # noqa: PLC0415

    return shlex.quote(str(assignment))


def _apply(examination: Examination) -> list[Block]:
    """One command line for all that can be set, where there is one host and more than one change."""
    if len(examination.systems) != 1:
        return []
    assignments = list(
        dict.fromkeys(_quoted(assignment) for _, one in examination.of_kind(Change) for assignment in one.assignments)
    )
    if len(assignments) < 2:
        return []
    return [Commands([("All of these at once", f"ioassay tune apply {' '.join(assignments)}")])]


def _fine(examination: Examination) -> Table:
    rows: list[Sequence[Text]] = [
        [finding.host, finding.rule.name, one.subject, one.value] for finding, one in examination.of_kind(Fine)
    ]
    return Table(
        [Column("Host", merges=True), Column("Rule", merges=True), Column("Where"), Column("Value")],
        rows,
        density="narrow",
    )


def _unreadable(examination: Examination) -> Notes:
    lines = [
        f"{finding.host}: {finding.rule.name}: {one.what}: {one.reason}"
        for finding, one in examination.of_kind(NotReadable)
    ]
    return Notes(lines)


def _not_applicable(examination: Examination) -> Table:
    rows: list[Sequence[Text]] = [
        [finding.host, finding.rule.name, one.why] for finding, one in examination.of_kind(NotApplicable)
    ]
    return Table([Column("Host", merges=True), Column("Rule", merges=True), Column("Why it does not apply")], rows)

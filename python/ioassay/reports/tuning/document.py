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
from ioassay.text.node_sets import folded
from ioassay.text.units import format_count
from ioassay.tuning.change_groups import (
    PLACEHOLDER,
    ChangeGroup,
    Command,
    all_at_once,
    change_groups,
    hosts_text,
    settings_count,
)
from ioassay.tuning.check import Examination
from ioassay.tuning.outcomes import outcome
from ioassay.tuning.rule import Finding, Fine, NotApplicable, NotJudged, NotReadable
from ioassay.version import __version__

_MOST_REASONS = 5


def document(examination: Examination, *, with_figures: bool) -> Document:
    hosts = folded(system.host for system in examination.systems)
    groups = change_groups(examination)
    return Document(
        f"Storage settings of {hosts}",
        [
            Paragraph(_verdict(examination, groups)),
            *_paths(examination, with_figures=with_figures),
            Section("What to change", [*_changes(examination, groups, with_addresses=True), *_apply(groups)]),
            Section("Not judged", [_not_judged(examination)]),
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
    """The blocks for a terminal of that many columns: without addresses, which would fill lines."""
    rules = {finding.rule.name for finding in examination.findings}
    applying = {
        finding.rule.name
        for finding in examination.findings
        if not all(isinstance(judgement, NotApplicable) for judgement in finding.judgements)
    }
    groups = change_groups(examination)
    return [
        *_paths(examination, with_figures=False, columns=columns),
        Section("What to change", [*_changes(examination, groups, with_addresses=False), *_apply(groups)]),
        Section("Not judged", [_not_judged(examination)]),
        Section("As it should be", [_fine(examination)]),
        Section("Not readable", [_unreadable(examination)]),
        Paragraph(
            Span(
                f"Rules that do not apply here: {len(rules - applying)} of {len(rules)}; --format md says why each "
                "does not.",
                "faint",
            )
        ),
        Paragraph(_verdict(examination, groups)),
    ]


def _paths(examination: Examination, *, with_figures: bool, columns: int | None = None) -> list[Section]:
    return path.sections(
        examination.paths,
        examination.measured,
        lambda problem: outcome(problem, examination.findings),
        with_figures=with_figures,
        columns=columns,
    )


def _verdict(examination: Examination, groups: Sequence[ChangeGroup]) -> Text:
    """The verdict in a line: first what was judged, so that "nothing judged" does not read as "nothing wrong"."""
    fine, left, unreadable = (len(examination.of_kind(kind)) for kind in (Fine, NotJudged, NotReadable))
    rules = len({finding.rule.name for finding in examination.findings})
    on = f"{format_count(rules, 'rule')} on {format_count(len(examination.systems), 'host')}"
    rest = ", ".join(
        f"{number} {what}" for number, what in ((left, "not judged"), (unreadable, "not readable")) if number
    )
    if examination.verdict == "nothing judged":
        return (Span(f"{on}: no setting was judged.", "warning"), f" {rest}." if rest else "")
    rest = f"{fine} as recommended{f', {rest}' if rest else ''}."
    changes = format_count(len(groups), "recommended change")
    harmful = sum(group.is_harmful for group in groups)
    where = format_count(settings_count(groups), "place")
    summary = f"{on}: {changes}{f' in {where}' if groups else ''}, {rest}"
    if not harmful:
        return summary
    return (f"{summary} ", Span(f"{harmful} of the changes: a value that ruins I/O on any node.", "warning"))


def _changes(examination: Examination, groups: Sequence[ChangeGroup], *, with_addresses: bool) -> Iterator[Block]:
    number = len(examination.systems)
    for group in groups:
        rule = group.rule
        yield Section(
            rule.title,
            [
                *([Paragraph(Span(_harm(group, number), "warning"))] if group.is_harmful else []),
                _values(group, number),
                *([Paragraph(group.exceptions)] if group.exceptions else []),
                Bullets(
                    [
                        *((Span("Found here:", "strong"), f" {text}") for text in group.evidence),
                        (Span("Why:", "strong"), f" {rule.reason}"),
                        (Span("Risk:", "strong"), f" {rule.risk}"),
                        (Span("Source:", "strong"), f" {_sources(group, with_addresses=with_addresses)}"),
                        (Span("Rule:", "strong"), f" {rule.name}"),
                    ]
                ),
                Commands([(_label(command, number), command.text) for command in group.commands]),
            ],
            anchor=f"rule-{rule.name}",
        )
    if not groups:
        yield Paragraph(_no_changes(examination))


def _harm(group: ChangeGroup, number: int) -> str:
    """The warning that a value is harmful on any node, with the hosts unless all in the table are concerned."""
    harmful = [place for place in group.places if place.is_harmful]
    if len(harmful) == len(group.places):
        return "This value ruins I/O on any node."
    hosts = folded(host for place in harmful for host in place.hosts)
    where = hosts if number > 1 else ", ".join(subject for place in harmful for subject in place.subjects)
    return f"On {where}: a value that ruins I/O on any node."


def _no_changes(examination: Examination) -> Text:
    """Why there is no change: all settings are as recommended, or none could be judged."""
    fine = len(examination.of_kind(Fine))
    if examination.verdict == "as recommended":
        judged = "the setting that was judged is" if fine == 1 else f"the {fine} settings that were judged are"
        rest = (
            " What is split or misaligned above stays so, for the reason given there." if examination.outcomes else ""
        )
        return f"Nothing: {judged} as recommended.{rest}"
    left = len(examination.of_kind(NotJudged)) + len(examination.of_kind(NotReadable))
    if examination.verdict == "partly judged":
        sentence = f"Nothing among the {format_count(fine, 'setting')} that could be judged"
        if left:
            sentence += f"; {left} could not, see below"
        if "not judged" in examination.outcomes:
            sentence += "; what is split or misaligned above was not judged, for the reason given there"
        return f"{sentence}."
    reasons: dict[str, None] = {}
    for finding, judgement in examination.of_kind(NotApplicable):
        reasons[f"{finding.rule.name}: {judgement.why}."] = None
    if left:
        return (Span("No setting was judged:", "warning"), " what is missing or undecided is listed below.")
    if len(reasons) > _MOST_REASONS:
        return (Span("No setting was judged:", "warning"), " no rule applies here. The reason of each is below.")
    return (Span("No setting was judged.", "warning"), f" {' '.join(reasons)}")


def _values(group: ChangeGroup, number: int) -> Table:
    """A row for each value as it is and as it should be, with everything that has it."""
    has_because = any(place.because for place in group.places)
    rows: list[Sequence[Text]] = [
        [
            *([hosts_text(place.hosts, number)] if number > 1 else []),
            ", ".join(place.subjects) or (place.hosts[0] if number == 1 else "the node"),
            Span(place.value, "warning") if place.is_harmful else place.value,
            Span(place.wanted, "strong"),
            *([place.because] if has_because else []),
        ]
        for place in group.places
    ]
    head = [*([Column("Node")] if number > 1 else []), Column("Where"), Column("Now"), Column("Recommended")]
    return Table([*head, *([Column("Because")] if has_because else [])], rows, density="narrow")


def _sources(group: ChangeGroup, *, with_addresses: bool) -> str:
    bounds = [bound.source for bound in group.rule.bounds.values()] if group.is_harmful else []
    return "; ".join(
        f"{source.text} ({source.url})" if source.url and with_addresses else source.text
        for source in dict.fromkeys((*bounds, *group.rule.sources))
    )


def _label(command: Command, number: int) -> str:
    on = f" on {folded(command.hosts)}" if number > 1 else ""
    if command.assignments:
        return f"Try it{on} (ioassay tune rollback puts it back)"
    what = f"For {', '.join(command.subjects)}{on}" if command.subjects else f"To do{on}"
    if not command.names:
        return what
    names = "them" if command.names == command.subjects else ", ".join(command.names)
    return f"{what}, where {PLACEHOLDER} is each of {names}"


def _apply(groups: Sequence[ChangeGroup]) -> list[Block]:
    """One command line for all that can be set, where there is more than one change."""
    if sum(1 for group in groups if any(command.assignments for command in group.commands)) < 2:
        return []
    several = len({host for group in groups for host in group.hosts}) > 1
    return [
        Commands(
            [
                (f"All of these at once{f', on {folded(command.hosts)}' if several else ''}", command.text)
                for command in all_at_once(groups)
            ]
        )
    ]


def _fine(examination: Examination) -> Table:
    return _table(
        examination,
        [
            (finding, _subject(finding, judgement.subject), judgement.value)
            for finding, judgement in examination.of_kind(Fine)
        ],
        "Value",
    )


def _not_judged(examination: Examination) -> Table:
    return _table(
        examination,
        [
            (finding, _subject(finding, judgement.subject), f"{judgement.value}: {judgement.why}")
            for finding, judgement in examination.of_kind(NotJudged)
        ],
        "Why",
    )


def _subject(finding: Finding, subject: str) -> str:
    return "the node" if subject == finding.host else subject.removesuffix(f" of {finding.host}")


def _table(examination: Examination, entries: Sequence[tuple[Finding, str, str]], last: str) -> Table:
    """Rows of rule, subject and value, those that are alike on several hosts together."""
    of_host: dict[tuple[str, str, str], list[str]] = {}
    for finding, subject, value in entries:
        of_host.setdefault((finding.host, finding.rule.name, value), []).append(subject)
    hosts: dict[tuple[str, str, str], list[str]] = {}
    for (host, rule, value), subjects in of_host.items():
        hosts.setdefault((rule, ", ".join(subjects), value), []).append(host)
    several = len(examination.systems) > 1
    rows: list[Sequence[Text]] = [
        [*([folded(where)] if several else []), rule, subjects, value]
        for (rule, subjects, value), where in hosts.items()
    ]
    return Table(
        [
            *([Column("Node", merges=True)] if several else []),
            Column("Rule", merges=True),
            Column("Where"),
            Column(last),
        ],
        rows,
        density="narrow",
    )


def _unreadable(examination: Examination) -> Notes:
    of_host: dict[tuple[str, str, str], dict[str, None]] = {}
    for finding, judgement in examination.of_kind(NotReadable):
        of_host.setdefault((finding.host, finding.rule.name, judgement.reason), {})[judgement.what] = None
    hosts: dict[str, list[str]] = {}
    for (host, rule, reason), what in of_host.items():
        hosts.setdefault(f"{rule}: {', '.join(what)}: {reason}", []).append(host)
    return Notes([f"{folded(where)}: {text}" for text, where in hosts.items()])


def _not_applicable(examination: Examination) -> Table:
    hosts: dict[tuple[str, str], dict[str, None]] = {}
    for finding, judgement in examination.of_kind(NotApplicable):
        hosts.setdefault((finding.rule.name, judgement.why), {})[finding.host] = None
    rows: list[Sequence[Text]] = [[folded(where), rule, why] for (rule, why), where in hosts.items()]
    return Table([Column("Node", merges=True), Column("Rule", merges=True), Column("Why it does not apply")], rows)

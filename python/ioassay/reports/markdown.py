"""The report as Markdown, for a ticket or a wiki: everything of the page but the figures, which become tables."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ioassay.reports import abstract, matrix, wording
from ioassay.reports.compare import document as comparisons
from ioassay.reports.compare.content import Content as Comparison
from ioassay.reports.content import Content, commands
from ioassay.reports.document import Section
from ioassay.reports.document.markdown import blocks
from ioassay.reports.key_results import key_results
from ioassay.reports.markdown_results import at, results
from ioassay.reports.markdown_text import listed, marked, table
from ioassay.reports.workloads import Column, WorkloadPart


def document(content: Content, comparison: Comparison | None = None) -> str:
    """The document of a run, with a section for its comparison with others where there is one."""
    sections = [
        _opening(content),
        _abstract(content, comparison),
        *_configuration(content),
        _method(content),
        *results(content),
        *([[text] for text in blocks([Section("Comparison", comparisons.text(comparison))])] if comparison else []),
        _findings(content),
        _limits(content),
        ["## Appendix"],
        *(_measurements(content, part) for part in content.workloads),
        *_doubts(content),
        _sources(content),
        _commands(content),
        _study(content),
    ]
    return "\n".join("\n".join(section) + "\n" for section in sections if section)


def _opening(content: Content) -> list[str]:
    run = content.document
    lines = [
        f"# {run.study.title}",
        "",
        run.study.question,
        "",
        f"- Target: `{run.where}`",
        *([f"- Lab: {lab}"] if (lab := wording.lab(content)) else []),
        f"- Measured: {wording.measured(content)}",
        f"- {': '.join(wording.asked(content))}",
        f"- Run: {run.run}",
        f"- State: {wording.state(content)}",
    ]
    lines += [f"- {where}: {error}" for where, error in wording.errors(content)]
    lines += [f"- Remains on the target: `{path}`" for path in run.leftovers]
    missing = wording.missing(content)
    return [*lines, f"- {missing}"] if missing else lines


def _abstract(content: Content, comparison: Comparison | None) -> list[str]:
    lines = ["## Abstract", "", abstract.about(content), ""]
    if accepted := wording.acceptance(content):
        lines += [accepted, ""]
    if said := key_results(content):
        lines += [*listed(marked(result.text, result.marks) for result in said), ""]
    if headlines := abstract.headlines(content):
        lines += ["What the numbers show beyond that:", ""]
        lines += [
            *listed(
                _warned(line.severity, f"{marked(line.text, line.marks)} ({abstract.where(line)})")
                for line in headlines
            ),
            "",
        ]
    if comparison is not None:
        lines += [f"{comparison.title}:", "", *listed(comparison.verdict), ""]
    return [*lines, wording.trust(content)]


def _warned(severity: str, text: str) -> str:
    return f"**Warning.** {text}" if severity == "warning" else text


def _findings(content: Content) -> list[str]:
    if not content.findings:
        return []
    return [
        "## Findings",
        "",
        *listed(
            _warned(line.finding.severity, marked(line.message.text, line.marks))
            + f" Rests on: {wording.rests_on(line)}."
            for line in content.findings
        ),
    ]


def _configuration(content: Content) -> list[list[str]]:
    run = content.document
    engine = f", engine {run.engine_version}" if run.engine_version else ""
    settings = [[name, wording.setting(value)] for name, value in run.study.settings.items()]
    nodes = [
        [f"Nodes: {', '.join(group.hosts)}", "", *table(["", ""], [list(row) for row in group.rows])]
        for group in content.nodes
    ]
    return [
        ["## Configuration"],
        *(nodes or [[wording.no_nodes(run)]]),
        ["Settings", "", *table(["", ""], settings)] if settings else [],
        [f"ioassay {run.ioassay_version}{engine}."],
    ]


def _method(content: Content) -> list[str]:
    run = content.document
    lines = ["## Method", "", *listed(run.study.method), ""]
    rows = [[row.workload, *row.cells] for row in matrix.rows(run, content.names)]
    lines += [*table(matrix.HEADS, rows), ""] if rows else []
    lines += ["Started with:", "", "```", shlex.join(run.command), "```", ""]
    return [*lines, *listed(f"**{term}**: {meaning}" for term, meaning in wording.terms(content))]


def _limits(content: Content) -> list[str]:
    wide = wording.wide(content)
    lines = ["## Limits", "", *_paragraphs([wording.trust(content), *wording.gaps(content), *wide[:1]])]
    rows = [
        [
            group.mark,
            group.kind + (", makes the number invalid" if group.invalidates else ""),
            f"{len(group.places)} of {content.doubts.measurements}",
            "; ".join(filter(None, group.remedies)),
        ]
        for group in content.doubts.groups
    ]
    return [
        *lines,
        *(["", *listed(wide[1:])] if wide else []),
        *(["", *table(["", "Doubt", "Measurements", "Remedy"], rows)] if rows else []),
    ]


def _paragraphs(sentences: Sequence[str]) -> list[str]:
    return "\n\n".join(sentences).split("\n")


def _doubts(content: Content) -> list[list[str]]:
    return [
        [
            f"### Doubt {group.mark}: {group.kind}",
            "",
            *listed(f"{text} ({where})" for where, text in wording.by_message(group.places, content.names)),
        ]
        for group in content.doubts.groups
    ]


def _measurements(content: Content, part: WorkloadPart) -> list[str]:
    if not part.measurements:
        return []
    rows = [
        [
            row["phase"] + ("" if row["valid"] else " (invalid)"),
            at(part, row),
            *([str(row["repetition"])] if content.names.repeated else []),
            *(row[column.key] for column in part.columns),
            marked("", row["marks"]).strip(),
        ]
        for row in part.measurements
    ]
    heads = [*_heads(content, part.columns), "Doubts"]
    note = [text, ""] if (text := wording.shown(part)) else []
    return [f"### {part.title}: every measurement", "", *note, *table(heads, rows), "", *_costs(content, part)]


def _heads(content: Content, columns: Sequence[Column]) -> list[str]:
    heads = [f"{column.group}, {column.head}" if column.group else column.head for column in columns]
    return ["Phase", "Clients", *(["Repetition"] if content.names.repeated else []), *heads]


def _costs(content: Content, part: WorkloadPart) -> list[str]:
    if not part.costs:
        return []
    rows = [
        [
            row["phase"],
            at(part, row),
            *([str(row["repetition"])] if content.names.repeated else []),
            *(row[column.key] for column in part.costs),
        ]
        for row in part.measurements
    ]
    return [f"#### {part.title}: what it cost the clients", "", *table(_heads(content, part.costs), rows)]


def _sources(content: Content) -> list[str]:
    told = wording.sources(content)
    return ["### Sources", "", *table(["File", "SHA-256"], [list(row) for row in told])] if told else []


def _commands(content: Content) -> list[str]:
    if content.document.front_end:
        return []
    title, note = wording.commands_title(content)
    lines = [f"### {title}", "", note, "", "```"]
    for part in content.workloads:
        for case in part.cases:
            if case.repetition == 1:
                lines += [
                    f"# {part.title}, {content.names.point(case.id)}, {where}\n{command}"
                    for where, command in commands(case)
                ]
    return [*lines, "```"]


def _study(content: Content) -> list[str]:
    run = content.document
    if not run.is_study:
        return []
    return ["### The study, as it was read", "", "```yaml", run.study.text.rstrip("\n"), "```"]

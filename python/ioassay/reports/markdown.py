"""The report as Markdown, for a ticket or a wiki: everything of the page but the figures, which become tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from ioassay.analysis import rates
from ioassay.analysis.ceilings import common
from ioassay.analysis.rate_units import UNITS
from ioassay.reports import ceilings, format, wording
from ioassay.reports.content import Content, assemble, commands
from ioassay.reports.io500 import NOTE, ScoreTable
from ioassay.reports.levels import Cell
from ioassay.reports.surveys import Survey
from ioassay.reports.workloads import Column, WorkloadPart
from ioassay.results.document import FigureEntry
from ioassay.results.loaded import LoadedRun
from ioassay.units import RateUnit, format_count, format_rate


def document(run: LoadedRun) -> str:
    """The document of a run."""
    content = assemble(run)
    sections = [
        _opening(content),
        _key_results(content),
        *(_score(table) for table in content.score_tables),
        _findings(content),
        _acceptance(content),
        _ceilings(content),
        *(_rates(content, entry) for entry in run.document.study.figures),
        *(_survey(survey) for survey in content.surveys),
        *(_latencies(part) for part in content.workloads),
        _doubts(content),
        *(_measurements(content, part) for part in content.workloads),
        _environment(content),
        _method(content),
        _sources(content),
        _commands(content),
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


def _key_results(content: Content) -> list[str]:
    lines = ["## Key results", ""]
    results = [f"- {sentence}" for sentence in wording.results(content)]
    lines += [*results, *([""] if results else []), wording.trust(content), ""]
    if wide := wording.wide(content):
        lines += [wide[0], "", *(f"- {point}" for point in wide[1:]), ""]
    rows = [[line.label, *map(_cell, line.cells)] for line in content.summary]
    medians = [
        [
            line.label,
            line.series,
            line.ranks,
            ", ".join((line.median + _marks(line.marks), *line.notes)),
            line.range,
            str(line.repetitions),
        ]
        for line in content.medians
    ]
    lines += table(["Workload", "Phase", "Ranks", "Median rate", "Range", "Repetitions"], medians) if medians else []
    heads = ["Workload", "Peak write", "Peak read", "Sustained write", "Sustained read"]
    lines += table(heads, rows) if rows else []
    by_series = [
        [
            line.label,
            line.series,
            *map(_cell, (line.peak, line.sustained)),
        ]
        for line in content.by_series
    ]
    return lines + (["", *table(["Workload", "Phase", "Peak", "Sustained"], by_series)] if by_series else [])


def _cell(cell: Cell) -> str:
    return ", ".join((cell.text + _marks(cell.marks), *cell.notes))


def _findings(content: Content) -> list[str]:
    if not content.findings:
        return []
    lines = ["## Findings", ""]
    for line in content.findings:
        warning = "**Warning.** " if line.finding.weight == "warning" else ""
        lines.append(f"- {warning}{line.said.text}{_marks(line.marks)} Rests on: {wording.rests_on(line)}.")
    return lines


def _score(score: ScoreTable) -> list[str]:
    rows = [
        [line.what, line.score + _marks(line.marks), line.time, ": ".join(filter(None, (line.verdict, line.because)))]
        for line in score.lines
    ]
    return [f"## {score.title}", "", NOTE, "", *table(["Phase", "Score", "Time", "Validity"], rows)]


def _acceptance(content: Content) -> list[str]:
    if not content.verdicts:
        return []
    rows = [
        [
            f"{verdict.criterion} ({verdict.because})",
            verdict.value + _marks(verdict.marks),
            f"**{verdict.judgement}**: {verdict.reason}",
            verdict.rests_on,
        ]
        for verdict in content.verdicts
    ]
    heads = ["Criterion", "Measured", "Verdict", "Rests on"]
    return ["## Acceptance", "", wording.acceptance(content), "", *table(heads, rows)]


def _ceilings(content: Content) -> list[str]:
    net = content.document.ceilings
    if net is None:
        return []
    rows = [[line.path, *line.cells] for line in ceilings.lines(net)]
    lines = ["## The network's ceilings", "", *table(ceilings.HEADS, rows), ""]
    return lines + [
        f"- {text}"
        for text in (*ceilings.remarks(net), *ceilings.method(net), *ceilings.meaning(content.document, net))
    ]


def _rates(content: Content, entry: FigureEntry) -> list[str]:
    unit = UNITS[entry.unit]
    rows = [
        [
            f"{content.names.workload(name)}, {content.names.measurement(row['phase'], row['job'], row['operation'])}",
            str(row["clients"]),
            str(row["ranks"]),
            str(row["files"] or format.ABSENT),
            format_rate(row["median"], unit.name),
            f"{format_rate(row['lowest'], unit.name)} to {format_rate(row['highest'], unit.name)}",
            _interval(row, unit.name),
            str(row["repetitions"]),
            *([_of_ceiling(content, row)] if content.limits else []),
        ]
        for name in entry.workloads
        for row in rates.medians(rates.of(content.points, name, entry.operation, entry.phase), unit.column).iter_rows(
            named=True
        )
    ]
    heads = ["Workload", "Clients", "Ranks", "Files", "Median", "Range", "Interval of the median", "Valid repetitions"]
    body = table([*heads, *["Of the lowest ceiling"] * bool(content.limits)], rows)
    return [f"## {entry.title}", "", *(body if rows else ["Nothing valid was measured for this."])]


def _interval(point: dict[str, Any], unit: RateUnit) -> str:
    if point["low"] is None:
        return format.ABSENT
    return format.interval(format_rate(point["low"], unit), format_rate(point["high"], unit), point["confidence"])


def _of_ceiling(content: Content, point: dict[str, Any]) -> str:
    """The median of a sweep point as a share of its ceiling."""
    same = content.points.filter("valid", rates.at(point))
    ceiling = common(content.limits, rates.places(same))
    rate = same["rate_bytes_per_s"].median()
    return ceilings.share(rate, ceiling) if ceiling and isinstance(rate, float) else format.ABSENT


def _survey(survey: Survey) -> list[str]:
    lines = [f"## {survey.title}", ""]
    for grid in survey.grids:
        rows = [
            [str(files), *(f"**{cell.text}**" if cell.saturated else cell.text for cell in cells)]
            for files, cells in grid.rows
        ]
        heads = [f"{grid.title}, {survey.unit.name}: objects", *(format_count(ranks, "rank") for ranks in grid.ranks)]
        lines += [*table(heads, rows), "", grid.sentence, ""]
    return lines[:-1]


def _latencies(part: WorkloadPart) -> list[str]:
    if not part.latencies:
        return []
    rows = [
        [row["operation"], _at(part, row), str(row["operations"]), *row["percentiles"], _marks(row["marks"])]
        for row in part.latencies
    ]
    heads = ["Phase", "Clients", "Operations", "Median", "90 %", "99 %", "99.9 %", "Slowest", "Doubts"]
    return [f"## {part.title}: latency", "", *table(heads, rows)]


def _at(part: WorkloadPart, row: dict[str, Any]) -> str:
    return str(row["point"] if part.is_swept else row["clients"])


def _doubts(content: Content) -> list[str]:
    lines = ["## Doubts", ""]
    if not content.doubts.groups:
        return [*lines, "No measurement carries a doubt." if content.doubts.measurements else "Nothing was measured."]
    for group in content.doubts.groups:
        invalid = ", makes the number invalid" if group.invalidates else ""
        number = f"{len(group.places)} of {content.doubts.measurements}{invalid}"
        lines += [f"### {group.mark}: {group.kind} ({number})", ""]
        lines += [f"Remedy: {remedy}." for remedy in group.remedies if remedy]
        lines += ["", *(f"- {text} ({where})" for where, text in wording.by_message(group.places, content.names)), ""]
    return lines[:-1]


def _measurements(content: Content, part: WorkloadPart) -> list[str]:
    if not part.measurements:
        return []
    rows = [
        [
            row["phase"] + ("" if row["valid"] else " (invalid)"),
            _at(part, row),
            *([str(row["repetition"])] if content.names.repeated else []),
            *(row[column.key] for column in part.columns),
            _marks(row["marks"]),
        ]
        for row in part.measurements
    ]
    heads = [*_heads(content, part.columns), "Doubts"]
    note = [text, ""] if (text := wording.shown(part)) else []
    return [f"## {part.title}: every measurement", "", *note, *table(heads, rows), "", *_costs(content, part)]


def _heads(content: Content, columns: Sequence[Column]) -> list[str]:
    heads = [f"{column.group}, {column.head}" if column.group else column.head for column in columns]
    return ["Phase", "Clients", *(["Repetition"] if content.names.repeated else []), *heads]


def _costs(content: Content, part: WorkloadPart) -> list[str]:
    if not part.costs:
        return []
    rows = [
        [
            row["phase"],
            _at(part, row),
            *([str(row["repetition"])] if content.names.repeated else []),
            *(row[column.key] for column in part.costs),
        ]
        for row in part.measurements
    ]
    return [f"### {part.title}: what it cost the clients", "", *table(_heads(content, part.costs), rows)]


def _environment(content: Content) -> list[str]:
    lines = ["## Environment", ""]
    for group in content.nodes:
        lines += [f"Nodes: {', '.join(group.hosts)}", "", *table(["", ""], [list(row) for row in group.rows]), ""]
    run = content.document
    engine = f", engine {run.engine_version}" if run.engine_version else ""
    return [*lines, f"ioassay {run.ioassay_version}{engine}."]


def _method(content: Content) -> list[str]:
    study = content.document.study
    lines = ["## Method", "", *(f"- {sentence}" for sentence in study.method), ""]
    lines += ["```", shlex.join(content.document.command), "```", ""]
    return lines if not content.document.is_study else [*lines, "```yaml", study.text.rstrip("\n"), "```"]


def _sources(content: Content) -> list[str]:
    told = wording.sources(content)
    return ["## Sources", "", *table(["File", "SHA-256"], [list(row) for row in told])] if told else []


def _commands(content: Content) -> list[str]:
    if content.document.front_end:
        return []
    title, note = wording.commands_title(content)
    lines = [f"## {title}", "", note, "", "```"]
    for part in content.workloads:
        for case in part.cases:
            if case.repetition == 1:
                lines += [
                    f"# {part.title}, {content.names.point(case.id)}, {where}\n{command}"
                    for where, command in commands(case)
                ]
    return [*lines, "```"]


def _marks(marks: Iterable[str]) -> str:
    text = " ".join(marks)
    return f" [{text}]" if text else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ").strip() for cell in cells) + " |"

    return [line(heads), "|" + " --- |" * len(heads), *(line(row) for row in rows)]

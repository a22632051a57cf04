"""The end of `ioassay run` on the terminal: the peak and sustained table, the verdict, the doubts with remedies."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ioassay.reports import wording
from ioassay.reports.content import Content, assemble
from ioassay.reports.io500 import INVALID, ScoreTable
from ioassay.reports.levels import Cell
from ioassay.results.loaded import LoadedRun
from ioassay.units import format_count

MOST_FINDINGS = 3

STYLES = {"passed": "green", "failed": "bold red", "not judged": "yellow"}
"""Of judgements."""


def summary(run: LoadedRun) -> Group:
    """What to print when a run has ended, well or not."""
    content = assemble(run)
    parts: list[RenderableType] = []
    if run.document.state != "complete":
        parts.append(Text(wording.state(content), style="bold red"))
        parts += [Text(f"  {where}: {error}") for where, error in wording.errors(content)]
    if content.summary:
        parts.append(_peak_sustained(content))
    if content.by_series:
        parts.append(_by_series(content))
    parts += [part for table in content.score_tables for part in _score(table)]
    parts += [Text(grid.sentence) for survey in content.surveys for grid in survey.grids]
    if content.verdicts:
        parts.append(_acceptance(content))
    parts += _findings(content)
    parts.append(_doubts(content))
    parts += [Text(f"{sentence} The report names them.", style="yellow") for sentence in wording.wide(content)[:1]]
    return Group(*parts)


def _peak_sustained(content: Content) -> Table:
    table = Table(title="Peak and sustained performance", title_justify="left", title_style="bold", box=None)
    table.add_column("", overflow="fold")
    for head in ("Peak write", "Peak read", "Sustained write", "Sustained read"):
        table.add_column(head, justify="right")
    for line in content.summary:
        table.add_row(Text(line.label), *(_cell(cell) for cell in line.cells))
    return table


def _by_series(content: Content) -> Table:
    table = Table(title="Peak and sustained rates", title_justify="left", title_style="bold", box=None)
    table.add_column("", overflow="fold")
    table.add_column("")
    for head in ("Peak", "Sustained"):
        table.add_column(head, justify="right")
    before = None
    for line in content.by_series:
        label = line.label if line.label != before else ""
        table.add_row(Text(label), Text(line.series), _cell(line.peak), _cell(line.sustained))
        before = line.label
    return table


def _score(score: ScoreTable) -> list[RenderableType]:
    table = Table(title=score.title, title_justify="left", title_style="bold", box=None)
    table.add_column("")
    table.add_column("Score", justify="right")
    table.add_column("Time", justify="right")
    table.add_column("", overflow="fold")
    for line in score.lines:
        marked = Text(line.score).append(" " + "".join(line.marks) if line.marks else "", style="yellow")
        said = Text(line.verdict, style="bold red" if line.verdict == INVALID else "")
        table.add_row(
            Text(line.what), marked, line.time, Text.assemble(said, ": " if line.because else "", line.because)
        )
    return [table, Text(score.sentence)]


def _cell(cell: Cell) -> Text:
    text = Text(cell.text)
    if cell.marks:
        text.append(" " + "".join(cell.marks), style="yellow")
    return text.append("".join(f"\n{note}" for note in cell.notes), style="dim")


def _acceptance(content: Content) -> Table:
    table = Table(
        title=wording.acceptance(content), title_justify="left", title_style="bold", box=None, show_header=False
    )
    for verdict in content.verdicts:
        why = f" ({verdict.reason})" if verdict.judgement == "not judged" else ""
        judgement = Text(verdict.judgement, style=STYLES[verdict.judgement])
        table.add_row(judgement, Text(f"{verdict.criterion}; measured {verdict.value}{why}"))
    return table


def _findings(content: Content) -> list[RenderableType]:
    """The weightiest, in full; the report has all of them."""
    parts: list[RenderableType] = []
    for line in content.findings[:MOST_FINDINGS]:
        is_warning = line.finding.severity == "warning"
        parts.append(Text.assemble(("Warning. ", "yellow") if is_warning else "", line.message.text))
    more = len(content.findings) - len(parts)
    return [*parts, Text(f"{format_count(more, 'more finding')} in the report.", style="dim")] if more > 0 else parts


def _doubts(content: Content) -> RenderableType:
    if not content.doubts.groups:
        return Text(wording.trust(content))
    title = wording.trust(content)
    table = Table(title=title, title_justify="left", title_style="", box=None, show_header=False)
    table.add_column(style="yellow")
    table.add_column(justify="right")
    for group in content.doubts.groups:
        invalid = " (invalid)" if group.invalidates else ""
        number = format_count(len(group.places), "measurement")
        table.add_row(
            Text(group.mark), Text(number), Text(f"{group.kind}{invalid}: {'; '.join(filter(None, group.remedies))}")
        )
    return table

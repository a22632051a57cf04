"""Who feeds whom, as a section of a profile's report, as lines of the terminal, and as data. Not: finding it
(`ioassay.analysis.profile.workflow`), drawing it (`ioassay.figures.profile.workflow`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from ioassay.analysis.profile.maps import Range
from ioassay.analysis.profile.workflow import FATES, Exchange, Fate, Step, Workflow
from ioassay.reports.document import Block, Bullets, Column, Figure, Notes, Paragraph, Span, Table, Text, numbers
from ioassay.reports.profile.wording import size_range
from ioassay.text import format

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture

MOST_STEPS = 40
MOST_EXCHANGES = 40
"""Rows of the tables."""

_WORDS: Mapping[Fate, str] = {
    "input": "read, not written",
    "between steps": "written by a step, read by another",
    "scratch": "read only by the step that wrote them",
    "result": "written, not read, kept",
    "deleted unread": "written, not read, removed",
}


def section(workflow: Workflow, picture: Picture | None) -> list[Block]:
    """The section; empty where no step feeds another."""
    if not workflow.exchanges:
        return []
    return [
        Paragraph(_opening(workflow)),
        Figure(picture),
        _exchanges(workflow),
        _steps(workflow),
        _fates(workflow),
        Notes(list(_notes(workflow))),
    ]


def lines(workflow: Workflow) -> list[Block]:
    if not workflow.exchanges:
        return []
    items: list[Text] = [_opening(workflow), _most(workflow)]
    unread = workflow.of("deleted unread")
    if unread.height:
        size = format.size(int(unread["written_bytes"].sum()))
        items.append(f"{size} in {format.count(unread.height, 'file')} were written and removed unread.")
    return [Bullets(items)]


def data(workflow: Workflow) -> dict[str, Any]:
    """For other programs: steps, exchanges, and sums of files by what happened to them."""
    files = workflow.files.group_by("fate").agg(
        pl.len().alias("files"),
        pl.col("is_removed").sum().alias("removed_files"),
        pl.col("written_bytes", "read_bytes", "write_ns", "read_ns", "mapped_least_bytes", "mapped_most_bytes").sum(),
    )
    return {
        "steps": workflow.steps,
        "exchanges": workflow.exchanges,
        "files": files.sort(pl.col("fate").cast(pl.Enum(FATES))),
    }


def step_name(step: Step) -> str:
    """`sort`, or `sort ×2` for two processes."""
    return step.name if step.processes == 1 else f"{step.name} ×{format.count(step.processes)}"


def moved_bytes(exchange: Exchange) -> int:
    """Bytes from one step to another; for files that were only mapped or run, the bytes written."""
    return exchange.read_bytes or exchange.written_bytes


def _opening(workflow: Workflow) -> str:
    files = workflow.of("between steps")
    chain = workflow.chain
    often = f", up to {chain} times one after another" if chain > 1 else ""
    mapped = Range(*(int(files[f"mapped_{end}_bytes"].sum()) for end in ("least", "most")))
    return (
        f"{format.count(len(workflow.steps), 'step')} hand on {format.count(files.height, 'file')} "
        f"({format.size(int(files['written_bytes'].sum()))} written, "
        f"{_read(int(files['read_bytes'].sum()), mapped, 'read again')}{often})."
    )


def _read(called: int, mapped: Range, verb: str) -> str:
    """Bytes read by calls and through maps: `8 MiB read again and 0 to 64 MiB through maps`."""
    ways = [f"{format.size(called)} {verb}"] if called else []
    if mapped.most:
        ways.append(f"{size_range(mapped)} {'' if called else f'{verb} '}through maps")
    return " and ".join(ways) or "read without a call: run, or mapped"


def _most(workflow: Workflow) -> Text:
    largest = workflow.exchanges[0]
    waited = f", read up to {format.duration(largest.longest_wait_s * 1e9)} later" if largest.longest_wait_s else ""
    moved = format.size(moved_bytes(largest))
    if largest.mapped.most and not largest.read_bytes:
        moved = f"{size_range(largest.mapped)} through maps"
    return (
        f"Most goes from {step_name(workflow.steps[largest.writer])} to {step_name(workflow.steps[largest.reader])}: "
        f"{moved} in {format.count(largest.files, 'file')}, ",
        Span(largest.label, "code"),
        f"{waited}{', then removed' if largest.removed_files == largest.files else ''}.",
    )


def _exchanges(workflow: Workflow) -> Table:
    is_mapped = any(exchange.mapped.most for exchange in workflow.exchanges)
    rows: list[list[Text]] = [
        [
            step_name(workflow.steps[exchange.writer]),
            step_name(workflow.steps[exchange.reader]),
            Span(exchange.label, "code"),
            format.count(exchange.files),
            format.size(exchange.written_bytes),
            format.size(exchange.read_bytes) if exchange.read_bytes else format.ABSENT,
            *([size_range(exchange.mapped) if exchange.mapped.most else format.ABSENT] if is_mapped else ()),
            format.duration(exchange.longest_wait_s * 1e9),
            format.count(exchange.removed_files),
        ]
        for exchange in workflow.exchanges[:MOST_EXCHANGES]
    ]
    columns = [
        Column("From"),
        Column("To"),
        Column("Files"),
        *numbers("Number", "Written", "Read", *(["Read by maps"] if is_mapped else []), "Longest wait", "Removed"),
    ]
    return Table(columns, rows, "Files between steps", density="dense")


def _steps(workflow: Workflow) -> Table:
    rows: list[list[Text]] = [
        [
            step.name,
            format.count(step.processes),
            format.duration(step.begin_s * 1e9),
            format.duration((step.end_s - step.begin_s) * 1e9),
            format.size(step.read_bytes),
            format.size(step.written_bytes),
        ]
        for step in workflow.steps[:MOST_STEPS]
    ]
    columns = [Column("Step"), *numbers("Processes", "Begins", "Lasts", "Read", "Written")]
    return Table(columns, rows, "Steps", density="dense")


def _fates(workflow: Workflow) -> Table:
    rows: list[list[Text]] = []
    for fate in FATES:
        files = workflow.of(fate)
        if files.is_empty():
            continue
        rows.append(
            [
                _WORDS[fate],
                format.count(files.height),
                format.count(int(files["is_removed"].sum())),
                format.size(int(files["written_bytes"].sum())),
                format.size(int(files["read_bytes"].sum())),
                Span(files["path"][0], "code"),
            ]
        )
    columns = [Column("Files"), *numbers("Number", "Removed", "Written", "Read"), Column("Largest")]
    return Table(columns, rows, "Fate of files")


def _notes(workflow: Workflow) -> Iterator[str]:
    more = len(workflow.exchanges) - MOST_EXCHANGES, len(workflow.steps) - MOST_STEPS
    for count, noun in zip(more, ("more pair of steps", "more step"), strict=True):
        if count > 0:
            several = "more pairs of steps" if "pair" in noun else "more steps"
            yield f"{format.count(count, noun, several)}."
    for column, verb in (("readers", "read"), ("writers", "written")):
        count = workflow.files.filter(pl.col("fate") != "input", pl.col(column) > 1).height
        if count:
            yield f"{format.count(count, 'file was', 'files were')} {verb} by several steps."
    yield (
        "A step is a program with all its processes at the same place between others, or a script with everything that "
        "it starts. Waits are from the last close by the writer to the first open by the reader. Maps and programs "
        "that are run read without calls."
    )

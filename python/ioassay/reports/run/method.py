"""The sections Method and Configuration: the test matrix, the terms, the nodes and settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ioassay.analysis.names import Names
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Paragraph,
    Preformatted,
    Section,
    Span,
    Table,
    Text,
    changes,
    facts,
)
from ioassay.reports.run import summary
from ioassay.reports.run.content import Content
from ioassay.store.document import CaseEntry, JobEntry, RunDocument
from ioassay.text import format

if TYPE_CHECKING:
    pass


HEADS = ("Workload", "Phases", "Layout", "Order", "Transfer", "File set", "Clients", "Ranks each", "Repetitions")

_FIRST_NUMBER = HEADS.index("Transfer")

MOST_NAMED = 8
"""Values of a sweep that are reported one by one; of more only the lowest, the highest and how many there are."""

_TERMS = {
    "Rate": "last-finished, as IOR's: all bytes, or all operations, over the time until the slowest rank is done, "
    "open, fsync and close included",
    "First-finished rate": "the amount moved when the first rank finished, over that time",
    "Rate at the stonewall": "the work done at the time limit of the phase, over that time, with the operations "
    "of the slowest and of the fastest rank; all other rates go on to the end of the last rank",
    "Peak": "the best median of the sweep",
    "Sustained": "the median over all points from the first that reaches 90 % of the peak",
    "Interval": "the 95 % confidence interval of the median, by order statistics of the repetitions; `range`: from the "
    "lowest to the highest of fewer than 6 repetitions, which is less sure",
    "Of ceiling": "the share of the lowest ceiling of the network on the path",
    "Open, transfer, fsync, close": "shares of the time of all ranks",
    "Apart at start, at end": "how long after the first rank the last one started, and ended",
    "In memory": "the share of the file set that the page cache held before a read",
}


def method(content: Content) -> list[Block]:
    run = content.document
    defined: list[Text] = [(Span(f"{term}:", "strong"), f" {meaning}") for term, meaning in terms(content)]
    return [
        Bullets(run.study.method),
        matrix(run, content.names),
        Paragraph("Started with:"),
        Preformatted(shlex.join(run.command)),
        Section("What the numbers mean", [Bullets(defined)]),
    ]


def configuration(content: Content) -> list[Block]:
    run = content.document
    engine = f", engine {run.engine_version}" if run.engine_version else ""
    settings = [(name, setting(value)) for name, value in run.study.settings.items()]
    nodes: list[Block] = [
        facts(
            group.rows,
            f"Node {group.hosts[0]}"
            if len(group.hosts) == 1
            else f"{len(group.hosts)} nodes alike: {', '.join(group.hosts)}",
        )
        for group in content.nodes
    ]
    return [
        *(nodes or [Paragraph(no_nodes(run))]),
        facts(settings, "Settings"),
        Paragraph(f"ioassay {run.ioassay_version}{engine}.", note=True),
    ]


def matrix(document: RunDocument, names: Names) -> Table:
    """The test matrix: what each workload is to do, and at which points of its sweep."""
    every = matrix_rows(document, names)
    return Table(
        [Column(head, is_number=index >= _FIRST_NUMBER) for index, head in enumerate(HEADS)],
        every,
        "Test matrix",
        rules=changes(workload for workload, *_ in every),
        density="dense",
    )


def matrix_rows(document: RunDocument, names: Names) -> list[list[str]]:
    """Cells below `HEADS`, in the order of the study."""
    cases: dict[str, list[CaseEntry]] = {}
    for case in document.cases:
        cases.setdefault(case.workload, []).append(case)
    return [row for workload in document.workloads for row in _of_workload(names.workload(workload), cases[workload])]


def _of_workload(title: str, cases: Sequence[CaseEntry]) -> list[list[str]]:
    phases: dict[tuple[str, ...], list[str]] = {}
    sizes: dict[tuple[str, ...], list[int]] = {}
    for case in cases:
        for phase in case.phases:
            for job in phase.jobs:
                alike = _alike(job)
                phases.setdefault(alike, []).append(phase.name if job.name == phase.name else job.name)
                # Where an imported file does not state the size that was requested, it is what was moved.
                sizes.setdefault(alike, []).append(job.file_set_bytes or job.planned_bytes)
    swept = (
        _swept(case.clients for case in cases),
        _swept(case.ranks_per_client for case in cases),
        str(max(case.repetition for case in cases)),
    )
    return [[title, ", ".join(dict.fromkeys(phases[alike])), *alike, _sizes(sizes[alike]), *swept] for alike in phases]


def _alike(job: JobEntry) -> tuple[str, str, str]:
    return job.layout or format.ABSENT, job.order or format.ABSENT, format.size(job.transfer_bytes)


def _sizes(values: Iterable[int]) -> str:
    """Sizes of a file set over the sweep; 0: unknown."""
    sizes = sorted({value for value in values if value})
    ends = [format.size(value) for value in dict.fromkeys([*sizes[:1], *sizes[-1:]])]
    return " to ".join(ends) or format.ABSENT


def _swept(values: Iterable[int]) -> str:
    distinct = sorted({value for value in values if value})
    if len(distinct) > MOST_NAMED:
        return f"{len(distinct)} from {distinct[0]} to {distinct[-1]}"
    return ", ".join(map(str, distinct)) or format.ABSENT


def terms(content: Content) -> list[tuple[str, str]]:
    """The terms of the tables with their meaning: those that this report uses."""
    columns = {key for part in content.workloads for key in part.columns}
    has = {
        "First-finished rate": "first_rate" in columns,
        "Rate at the stonewall": "stonewall" in columns,
        "Peak": bool(content.levels),
        "Sustained": bool(content.levels),
        "Interval": bool(summary.intervals(content)),
        "Of ceiling": "ceiling" in columns,
        "Open, transfer, fsync, close": "transfer" in columns,
        "Apart at start, at end": bool({"start_spread", "finish_spread"} & columns),
        "In memory": "resident" in columns,
    }
    return [(term, f"{meaning}.") for term, meaning in _TERMS.items() if has.get(term, True)]


def no_nodes(document: RunDocument) -> str:
    """Why the section has no nodes."""
    if document.imported is None:
        return "No node reported its environment: the engine did not start."
    also = "; see the settings for the rest of the configuration" if document.study.settings else ""
    return f"The imported results do not describe the nodes{also}."


def setting(value: object) -> str:
    """The value of a setting: lists with commas, everything else as it was typed."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

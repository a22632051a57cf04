"""The content of a report, before any format: every format and the terminal render it, so that they agree.

Numbers come from `ioassay.analysis`; here they only meet the words and the doubts that belong beside them.
Not: HTML, Markdown, figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ioassay.analysis import (
    acceptance,
    ceilings,
    doubts,
    given_rates,
    io500,
    peak_sustained,
    rates,
    run_units,
    stop_rule,
)
from ioassay.analysis.acceptance import Verdict
from ioassay.analysis.ceilings import Limit
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.findings import Finding, RunFacts, findings
from ioassay.analysis.io500 import Score
from ioassay.analysis.names import Names
from ioassay.analysis.rates import typical
from ioassay.analysis.scalability import Sweep
from ioassay.analysis.stop_rule import WidePoint
from ioassay.analysis.watch.phases import Activity
from ioassay.reports import nodes
from ioassay.reports.compare import configuration
from ioassay.reports.compare.content import Content as Comparison
from ioassay.reports.compare.content import Side
from ioassay.reports.compare.content import assemble as compare
from ioassay.reports.document import Span
from ioassay.reports.findings import references_of_run
from ioassay.reports.nodes import NodeGroup
from ioassay.reports.run import caveats, medians, surveys, verdicts, workloads
from ioassay.reports.run import io500 as score_tables
from ioassay.reports.run.given_rates import GivenLine
from ioassay.reports.run.given_rates import assemble as given_lines
from ioassay.reports.run.io500 import ScoreTable
from ioassay.reports.run.levels import Levels, SeriesLine, SummaryLine
from ioassay.reports.run.medians import MedianLine
from ioassay.reports.run.surveys import Survey
from ioassay.reports.run.verdicts import VerdictLine
from ioassay.reports.run.workloads import WorkloadPart
from ioassay.store.document import RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import Measurement

if TYPE_CHECKING:
    from ioassay.analysis.checkpoints import Checkpointing
    from ioassay.analysis.feeding import Feeding
    from ioassay.analysis.kv_cache import Served, Serving
    from ioassay.analysis.replay.faithful import Faithfulness
    from ioassay.analysis.training import Training


@dataclass(frozen=True)
class FindingLine:
    """A finding with what it rests on."""

    finding: Finding
    references: tuple[Span, ...]
    marks: tuple[str, ...]
    caveats: tuple[str, ...]
    """The doubts that change what it says, in words: those about the measurement that shows it best."""


@dataclass(frozen=True)
class Content:
    """Everything that a report says."""

    run: LoadedRun
    comparison: Comparison | None
    """The comparison of others with the run, if there are any."""
    points: pl.DataFrame
    """Points of throughput, without phases at a given rate."""
    given_rates: list[GivenLine]
    verdicts: list[VerdictLine]
    accepted: acceptance.Judgement | None
    findings: list[FindingLine]
    sweeps: list[Sweep]
    summary: list[SummaryLine]
    by_series: list[SeriesLine]
    medians: list[MedianLine]
    surveys: list[Survey]
    scores: list[Score]
    score_tables: list[ScoreTable]
    faithfulness: list[Faithfulness]
    """The faithfulness of each case that replays an application."""
    training: list[Training]
    """The epochs of each case that trains."""
    feeding: list[Feeding]
    """How many accelerators are kept busy, where their number is swept."""
    serving: list[Serving]
    """The phases that answered requests with a key-value cache."""
    served: list[Served]
    """How many users have their first tokens in time, where their number is swept."""
    checkpoints: list[Checkpointing]
    """Each phase that saved or restored generations of a checkpoint."""
    levels: list[peak_sustained.Row]
    judged: list[Verdict]
    doubts: Doubts
    limits: Mapping[Measurement, Limit]
    workloads: list[WorkloadPart]
    missing: list[Measurement]
    wide: list[WidePoint]
    """Points that their stop rule gave up."""
    nodes: list[NodeGroup]
    activity: Activity | None
    """The activity of hosts that were watched."""
    names: Names

    @property
    def document(self) -> RunDocument:
        """The document of the run."""
        return self.run.document

    @property
    def has_valid(self) -> bool:
        """Whether any measurement is valid."""
        return bool(self.run.measurements["valid"].any())


def assemble(run: LoadedRun, against: Sequence[Side] = ()) -> Content:
    """The content of a run's report, with a comparison with `against`."""
    every = rates.points(run.measurements)
    run, points = run_units.fitted(run, every), given_rates.throughput(run)
    units = run_units.of_run(run.document, every)
    run_doubts = doubts.grouped(run.doubts, run.measurements)
    rows = given_rates.without_given(peak_sustained.table(run.document, points), run)
    judged = acceptance.judge(run)
    names = Names(run.document)
    scores = io500.scores(run)
    facts = RunFacts(run)
    limits = ceilings.limits(run)
    run_findings = findings(facts)
    trainings, feedings = _training(run)
    serving, users_served = _serving(run)
    anchors = _anchors(run, run_findings)
    levels = Levels(points, run_doubts, limits, names)
    return Content(
        run=run,
        comparison=_compared(run, against),
        points=points,
        given_rates=given_lines(run, run_doubts, names, units),
        verdicts=[verdicts.line(verdict, run_doubts, names) for verdict in judged],
        accepted=acceptance.accepted(judged),
        findings=_findings(run_findings, anchors, run_doubts, names),
        sweeps=facts.sweeps,
        summary=[levels.summary_line(row) for row in rows if row.is_write_and_read],
        by_series=[line for row in rows if not row.is_write_and_read for line in levels.series_lines(row)],
        medians=medians.assemble(run.document, points, run_doubts, limits, names=names, units=units),
        surveys=surveys.assemble(run.document, points, run_doubts, names),
        scores=scores,
        score_tables=score_tables.assemble(scores, run_doubts, names),
        faithfulness=_faithfulness(run),
        training=trainings,
        serving=serving,
        served=users_served,
        feeding=feedings,
        checkpoints=_checkpoints(run),
        levels=rows,
        judged=judged,
        doubts=run_doubts,
        limits=limits,
        workloads=workloads.assemble(run, run_doubts, names, anchors, units),
        missing=_missing(run),
        wide=stop_rule.still_wide(run.document, run.measurements),
        nodes=nodes.alike(run.document.environment),
        activity=facts.activity,
        names=names,
    )


def _faithfulness(run: LoadedRun) -> list[Faithfulness]:
    if run.document.study.replays is None:
        return []
    from ioassay.analysis.replay.faithful import faithfulness  # noqa: PLC0415  (few runs replay an application)

    return faithfulness(run)


def _training(run: LoadedRun) -> tuple[list[Training], list[Feeding]]:
    if run.training.is_empty():
        return [], []
    from ioassay.analysis.feeding import feeding  # noqa: PLC0415  (few runs train)
    from ioassay.analysis.training import training  # noqa: PLC0415

    trainings = training(run)
    return trainings, feeding(run.document.cases, trainings)


def _serving(run: LoadedRun) -> tuple[list[Serving], list[Served]]:
    if run.kv_cache.is_empty():
        return [], []
    from ioassay.analysis.kv_cache import served, servings  # noqa: PLC0415  (few runs answer requests)

    every = servings(run)
    return every, served(run, every)


def _checkpoints(run: LoadedRun) -> list[Checkpointing]:
    if run.checkpoints.is_empty():
        return []
    from ioassay.analysis.checkpoints import checkpoints  # noqa: PLC0415  (few runs save checkpoints)

    return checkpoints(run)


def _compared(run: LoadedRun, against: Sequence[Side]) -> Comparison | None:
    if not against:
        return None
    from ioassay.analysis.compare import measured_run  # noqa: PLC0415  (it reads YAML)

    itself = Side(measured_run.subject(run, "this run"), configuration.run_facts(run.document))
    return compare([itself, *against])


MOST_ROWS = 2000
"""A run with more measurements shows of each point of its sweeps the typical one, what is invalid, and what findings
rest on first: a page of all of them could not be opened.
"""


def _anchors(run: LoadedRun, findings: Sequence[Finding]) -> dict[Measurement, str]:
    """The anchor of each measurement that is shown: its place in the table of all."""
    every = rates.places(run.measurements)
    shown = set(every)
    if len(every) > MOST_ROWS:
        shown = set(rates.places(typical(run.measurements)))
        shown |= set(rates.places(run.measurements.filter(~pl.col("valid")).head(MOST_ROWS)))
        shown |= {finding.measurements[0] for finding in findings}
    return {place: f"row-{number}" for number, place in enumerate(every, start=1) if place in shown}


def _findings(
    findings: Sequence[Finding], anchors: Mapping[Measurement, str], doubts: Doubts, names: Names
) -> list[FindingLine]:
    return [
        FindingLine(
            finding=finding,
            references=references_of_run(finding, names, anchors),
            marks=doubts.marks(finding.measurements),
            caveats=caveats.beside_number(doubts, finding.measurements[:1]),
        )
        for finding in findings
    ]


def _missing(run: LoadedRun) -> list[Measurement]:
    measured = set(rates.places(run.measurements))
    return [place for case in run.document.cases for place in case.measured if place not in measured]

"""What a run would do, before it starts: cases, steps, amounts, time, commands. Not: checking it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ioassay.analysis.accelerator_sweeps import likely_cases
from ioassay.analysis.names import Names
from ioassay.plans.text import each_step
from ioassay.reports.document import Block, Bullets, Column, Commands, Paragraph, Section, Table, Text, numbers
from ioassay.store.document import CaseEntry, RunDocument
from ioassay.store.plan_times import TimeRange, case_time, summed, unlimited
from ioassay.text import format
from ioassay.text.prose import listed
from ioassay.text.units import format_about_bytes, format_count

if TYPE_CHECKING:
    from ioassay.protocol.plan import Plan
    from ioassay.studies.mlperf_storage import Judgement

DRY_RUN_VERSION = 1

_MOST_POINTS = 40
"""Rows of the table on a terminal; the JSON document has every case."""

_MOST_PHASES = 3
"""Phases that are named."""


@dataclass(frozen=True)
class DryRun:
    """A run that would be made."""

    document: RunDocument
    plans: Mapping[str, Plan]
    """By the name of the case."""
    target: str | None = None
    """`None`: the study is examined without a target."""
    directory: str | None = None
    """The run directory that would be created."""
    need: str = ""
    """The amount to write and the free space of the target, as a sentence."""
    engine_commands: Mapping[str, Sequence[str]] | None = None
    """The command line that starts the engines of each case; `None` where there is no target."""
    may_write_less: bool = False
    """A stonewall may end something before all of it is written."""
    may_write_again: bool = False
    """A minimum time may let something be written more than once."""
    judgements: Sequence[Judgement] = ()
    """What the rules of MLPerf Storage make of it."""

    @cached_property
    def times(self) -> Mapping[str, TimeRange]:
        """The estimated time of each case."""
        return {case.id: case_time(self.plans[case.id], case) for case in self.document.cases}

    @property
    def time(self) -> TimeRange:
        """The estimated time of all cases together."""
        time = summed(self.times.values())
        fewest = 0 if self.document.stops_early else time.least_ns
        return TimeRange(fewest, time.most_ns)

    @property
    def points(self) -> list[list[CaseEntry]]:
        """The cases of each point of the sweep, in the order in which the points are first measured."""
        cases_by_point: dict[tuple[str, Any], list[CaseEntry]] = {}
        for case in self.document.cases:
            cases_by_point.setdefault((case.workload, case.sweep_point), []).append(case)
        return list(cases_by_point.values())

    @property
    def first_of_each_workload(self) -> list[CaseEntry]:
        """One case of each workload, whose steps and commands are shown."""
        first_cases: dict[str, CaseEntry] = {}
        for case in self.document.cases:
            first_cases.setdefault(case.workload, case)
        return list(first_cases.values())


def data(run: DryRun) -> dict[str, Any]:
    """For other programs: bytes and seconds, every case with its steps and commands."""
    study = run.document.study
    return {
        "version": DRY_RUN_VERSION,
        "study": study.name,
        "scale": study.scale,
        "settings": study.settings,
        "target": run.target,
        "run_directory": run.directory,
        "written_bytes": sum(case.written_bytes for case in run.document.cases),
        "at_once_bytes": max(case.file_set_bytes for case in run.document.cases),
        **_seconds(run.time),
        "mlperf_storage": [
            {
                "model": judgement.model,
                "verdict": judgement.verdict,
                "issues": [asdict(issue) for issue in judgement.issues],
                "text": judgement.text,
            }
            for judgement in run.judgements
        ],
        "cases": [
            {
                "case": case.id,
                "workload": case.workload,
                "point": case.point,
                "repetition": case.repetition,
                "file_set_bytes": case.file_set_bytes,
                "written_bytes": case.written_bytes,
                **_seconds(run.times[case.id]),
                "steps": each_step(run.plans[case.id]),
                "equivalent_commands": {job.name: job.command for phase in case.phases for job in phase.jobs},
                "engine_command": run.engine_commands and list(run.engine_commands[case.id]),
            }
            for case in run.document.cases
        ],
    }


def _seconds(time: TimeRange) -> dict[str, float | None]:
    return {"least_s": time.least_ns / 1e9, "most_s": None if time.most_ns is None else time.most_ns / 1e9}


def blocks(run: DryRun) -> list[Block]:
    study = run.document.study
    scale = f", scale {study.scale}" if study.scale else ""
    settings = ", ".join(f"{name}={_typed(value)}" for name, value in study.settings.items())
    cases, points = len(run.document.cases), run.points
    several = f" at {format_count(len(points), 'point')}" if len(points) < cases else ""
    likely = len(likely_cases(run.document))
    several += f", of which the search measures some {likely}" if likely < cases else ""
    return [
        Paragraph(f"{study.name}{scale}: {study.title}"),
        *([Paragraph(f"Settings: {settings}")] if settings else []),
        *([Paragraph(f"Target: {run.target}")] if run.target else []),
        *([Paragraph(f"Run directory: {run.directory}")] if run.directory else []),
        *(Paragraph(judgement.text) for judgement in run.judgements),
        _cases(run, points, f"{format_count(cases, 'case')}{several}"),
        Paragraph(run.need or _written(run)),
        Paragraph(_time(run)),
        *_steps(run),
        *_commands(run),
        Paragraph(_conclusion(run)),
    ]


def _cases(run: DryRun, points: Sequence[Sequence[CaseEntry]], title: str) -> Table:
    names = Names(run.document)
    rows: list[list[Text]] = [
        [
            cases[0].workload,
            names.point(cases[0].id),
            str(len(cases)),
            format_about_bytes(cases[0].file_set_bytes),
            format_about_bytes(cases[0].written_bytes),
            _range(run.times[cases[0].id]),
        ]
        for cases in points[:_MOST_POINTS]
    ]
    if (more := len(points) - _MOST_POINTS) > 0:
        rows.append([f"… and {format_count(more, 'more point')} (all: --json)"])
    columns = [Column("Workload"), Column("Point"), *numbers("Cases", "Files", "Written"), Column("Time of a case")]
    return Table(columns, [[*row, *[""] * (len(columns) - len(row))] for row in rows], title=title)


def _range(time: TimeRange) -> str:
    if time.most_ns is None:
        return f"{format.duration(time.least_ns)} or more" if time.least_ns else "no limit"
    least, most = format.duration(time.least_ns), format.duration(time.most_ns)
    return most if least == most else f"{least} to {most}" if time.least_ns else f"up to {most}"


def _written(run: DryRun) -> str:
    written = format_about_bytes(sum(case.written_bytes for case in run.document.cases))
    at_once = format_about_bytes(max(case.file_set_bytes for case in run.document.cases))
    less = ", less where a stonewall comes earlier" if run.may_write_less else ""
    more = ", more where a minimum time needs further passes" if run.may_write_again else ""
    return f"Writes {written}, at most {at_once} at once{less}{more}."


def _time(run: DryRun) -> str:
    time = run.time
    if time.most_ns is not None:
        return f"Time: {_range(time)}, plus the time to prepare files, fsync and empty caches."
    known = f"at least {format.duration(time.least_ns)} (pauses and given times), " if time.least_ns else ""
    names = dict.fromkeys(name for case in run.first_of_each_workload for name in unlimited(run.plans[case.id], case))
    first, more = [*names][:_MOST_PHASES], len(names) - _MOST_PHASES
    phases = listed([*first, f"{more} more"] if more > 0 else first)
    verb = "ends" if len(names) == 1 else "end"
    return f"Time: {known}no upper limit, because {phases} {verb} when all work is done."


def _steps(run: DryRun) -> Iterator[Section]:
    """The steps of the first point of each workload; workloads with the same steps share a section."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for case in run.first_of_each_workload:
        alike.setdefault(tuple(each_step(run.plans[case.id])), []).append(case.workload)
    for steps, workloads in alike.items():
        yield Section(f"Steps of {', '.join(workloads)}", [Bullets(steps)])


def _commands(run: DryRun) -> Iterator[Section]:
    first = run.first_of_each_workload
    equivalent = [
        (f"{case.workload}, {job.name}", job.command)
        for case in first
        for phase in case.phases
        for job in phase.jobs
        if job.command
    ]
    yield Section("Equivalent IOR and mdtest commands (first point of each workload)", [Commands(equivalent)])
    if run.engine_commands is not None:
        starts: dict[str, list[str]] = {}  # a batch job is one for all
        for case in first:
            starts.setdefault(shlex.join(run.engine_commands[case.id]), []).append(case.workload)
        lines = [(listed(workloads), line) for line, workloads in starts.items()]
        yield Section("Commands that start the engine (first case of each workload)", [Commands(lines)])


def _conclusion(run: DryRun) -> str:
    if run.target is None:
        return "The study is valid. Add --target DIR to check a target too. Nothing was written."
    return "All checks passed; nothing was written. Leave out --dry-run to run the study."


def _typed(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)

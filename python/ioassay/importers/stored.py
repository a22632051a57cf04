"""Makes a run of imported cases: workloads, numbered repetitions, `run.json` and the tables.

Cases with equal settings are a workload; those with equal clients and ranks as well are repetitions of a point. Not:
reading files, writing the directory (`run_writer`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import polars as pl

from ioassay.importers.model import Case, Measurement, Setting
from ioassay.store import schema
from ioassay.store.document import (
    CaseEntry,
    FigureEntry,
    JobEntry,
    Operation,
    PhaseEntry,
    RunDocument,
    StudyEntry,
    SummaryRow,
    WorkloadEntry,
)
from ioassay.store.ingest import Tables, evidence, labelled, rate
from ioassay.store.moments import moment
from ioassay.store.origin import ImportedFile, ImportOrigin, PrintedScore, RefusedFile
from ioassay.store.point import CLIENTS, GROUPS, RANKS_PER_CLIENT
from ioassay.store.point import text as point_text
from ioassay.store.stored_tables import impossible_column
from ioassay.text.slugs import slug, unique
from ioassay.text.units import RateUnit, format_count
from ioassay.version import __version__


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """The cases of one run, with their files and the refused files."""

    tool: str
    title: str
    """Name of the tool, as printed."""
    name: str
    """Name of the run."""
    cases: Sequence[Case]
    files: Sequence[ImportedFile]
    refused: Sequence[RefusedFile]
    printed: Sequence[PrintedScore] = ()


@dataclass(frozen=True)
class Run:
    """A run: `run.json` and the tables."""

    document: RunDocument
    tables: Tables


def storable(gathered: Gathered, command: Sequence[str]) -> tuple[Gathered, Run | None]:
    """The part that a run directory can hold, and its run; `None` if there is nothing. Files with values that no
    measurement can have are refused now: later, every command would report the run as damaged.
    """
    if not gathered.cases:
        return gathered, None
    if isinstance(imported_run := _checked(gathered, command), Run):
        return gathered, imported_run
    by_file: defaultdict[Path, list[Case]] = defaultdict(list)
    for case in gathered.cases:
        by_file[case.measured[0].file].append(case)
    run_by_file = {file: _checked(replace(gathered, cases=cases), command) for file, cases in by_file.items()}
    refusals = {file: reason for file, reason in run_by_file.items() if isinstance(reason, str)} or dict.fromkeys(
        by_file, imported_run
    )
    storable_part = replace(
        gathered,
        cases=[case for file, cases in by_file.items() if file not in refusals for case in cases],
        files=[file for file in gathered.files if Path(file.path) not in refusals],
        refused=[
            *gathered.refused,
            *(RefusedFile(path=str(file), line=None, reason=reason) for file, reason in refusals.items()),
        ],
    )
    return storable(storable_part, command)


def _checked(gathered: Gathered, command: Sequence[str]) -> Run | str:
    """The run of the cases, or why it cannot be stored."""
    try:
        imported_run = Run(*run(gathered, command))
        columns = (impossible_column(name, table, imported_run.document) for name, table in imported_run.tables.items())
        column = next(filter(None, columns), None)
    except (pl.exceptions.PolarsError, OSError, OverflowError, ValueError, TypeError) as error:
        return f"has a value that no measurement can have ({str(error).splitlines()[0][:120]})"
    return f"has a value that no measurement can have ({column})" if column else imported_run


def run(gathered: Gathered, command: Sequence[str]) -> tuple[RunDocument, Tables]:
    """The run of the cases: `run.json` and the tables. `command` is the importing command line."""
    workloads = _workloads(gathered.cases)
    entries: list[CaseEntry] = []
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in schema.TABLES}
    frames: dict[str, list[pl.DataFrame]] = {"samples": [], "latencies": [], "ranks": []}
    repetitions: Counter[tuple[str, int | None, int | None, int | None]] = Counter()
    for case, workload in zip(gathered.cases, workloads.of_case, strict=True):
        point = workload, case.clients, case.ranks, case.groups
        repetitions[point] += 1
        entry = _entry(case, workload, repetitions[point])
        entries.append(entry)
        for measured in case.measured:
            _add(rows, frames, entry, case, measured)
    starts = [case.started_unix_ns for case in gathered.cases if case.started_unix_ns is not None]
    ends = [case.ended_unix_ns for case in gathered.cases if case.ended_unix_ns is not None]
    document = RunDocument(
        run=gathered.name,
        study=_study(gathered, workloads, entries),
        cases=entries,
        target=", ".join(dict.fromkeys(case.target for case in gathered.cases if case.target)) or "unknown",
        target_kind="in-place",
        origin=ImportOrigin(
            tool=gathered.tool,
            versions=_versions(gathered.cases),
            files=list(gathered.files),
            refused=list(gathered.refused),
            printed=list(gathered.printed),
        ),
        launcher="none",
        command=list(command),
        ioassay_version=__version__,
        environment=[],
        state="complete",
        started=moment(min(starts)) if starts else "",
        ended=moment(max(ends)) if ends else None,
    )
    return document, _tables(rows, frames)


@dataclass(frozen=True)
class _Workloads:
    """The workloads of a run: the name for each case, and the title for each name."""

    of_case: Sequence[str]
    titles: Mapping[str, str]


def _workloads(cases: Sequence[Case]) -> _Workloads:
    """Names workloads by the settings that distinguish them; by amounts only if points of one size would be mixed."""
    amounts: defaultdict[object, set[str]] = defaultdict(set)
    for case in cases:
        amounts[_settings(case), case.clients, case.ranks].add(case.amount)
    mixed = {key[0] for key, point_amounts in amounts.items() if len(point_amounts) > 1}  # type: ignore[index]
    keys = [(_settings(case), case.amount if _settings(case) in mixed else "") for case in cases]
    titles: dict[tuple[tuple[Setting, ...], str], str] = {}
    names: dict[tuple[tuple[Setting, ...], str], str] = {}
    used_names: set[str] = set()
    shared = _common([settings for settings, _ in dict.fromkeys(keys)])
    for key in dict.fromkeys(keys):
        settings, amount = key
        words = [setting.value for setting in settings if setting not in shared] + ([amount] if amount else [])
        titles[key] = ", ".join(words or [setting.value for setting in settings][:3]) or "All"
        names[key] = unique(slug(titles[key], "all", most=60), used_names)
    return _Workloads([names[key] for key in keys], {names[key]: titles[key] for key in names})


def _settings(case: Case) -> tuple[Setting, ...]:
    return tuple(case.settings)


def _common(workload_settings: Sequence[tuple[Setting, ...]]) -> frozenset[Setting]:
    """The settings shared by all workloads, which titles omit. The title of a single workload omits only the file
    system.
    """
    shared = (
        frozenset.intersection(*(frozenset(settings) for settings in workload_settings))
        if workload_settings
        else frozenset()
    )
    return (
        shared
        if len(workload_settings) > 1
        else frozenset(setting for setting in shared if setting.name == "file system")
    )


def _entry(case: Case, workload: str, repetition: int) -> CaseEntry:
    """The case as in `run.json`, without its phases' jobs."""
    ranks = "x" if case.ranks is None else str(case.ranks)
    clients = "x" if case.clients is None else str(case.clients)
    groups = "" if case.groups is None else f"-g{case.groups}"
    phases: dict[str, dict[str, list[Measurement]]] = {}
    for measured in case.measured:
        phases.setdefault(measured.phase, {}).setdefault(_job(measured), []).append(measured)
    sizes = [measured.file_set_bytes for measured in case.measured if measured.file_set_bytes is not None]
    written = [measured.bytes or 0 for measured in case.measured if measured.operation in ("write", "create")]
    return CaseEntry(
        id=f"{workload}-c{clients}-r{ranks}{groups}-{repetition}",
        workload=workload,
        point={axis: value for axis, value in _point(case).items() if value is not None},
        repetition=repetition,
        file_set_bytes=max(sizes, default=0),
        written_bytes=sum(written),
        phases=[
            PhaseEntry(name=phase, jobs=[_job_entry(case, name, group) for name, group in jobs.items()])
            for phase, jobs in phases.items()
        ],
        state="complete",
    )


def _point(case: Case) -> dict[str, int | None]:
    """`None` for values that the files do not have."""
    ranks_per_client = -(-case.ranks // case.clients) if case.ranks and case.clients else None
    return {CLIENTS: case.clients or None, RANKS_PER_CLIENT: ranks_per_client, GROUPS: case.groups}


def _job(measured: Measurement) -> str:
    return measured.job or measured.phase


def _job_entry(case: Case, name: str, group: Sequence[Measurement]) -> JobEntry:
    first = group[0]
    return JobEntry(
        name=name,
        operations=list(dict.fromkeys(measured.operation for measured in group)),
        ranks=(first.ranks if first.ranks is not None else case.ranks) or 0,
        file_set="",
        layout=first.layout,
        order=first.order,
        files=first.files,
        transfer_bytes=first.transfer_bytes,
        file_set_bytes=first.file_set_bytes or 0,
        planned_bytes=first.bytes or 0,
        planned_operations=first.operations or 0,
        utilisation_goal=first.training.goal if first.training else None,
        printed_utilisation=dict(first.training.printed) if first.training else None,
        command=first.command or case.command,
    )


def _add(
    rows: dict[str, list[dict[str, object]]],
    frames: dict[str, list[pl.DataFrame]],
    entry: CaseEntry,
    case: Case,
    measured: Measurement,
) -> None:
    """Adds the rows of one measurement."""
    key = {"case": entry.id, "phase": measured.phase, "job": _job(measured), "operation": measured.operation}
    rows["measurements"].append(key | _measurement(entry, case, measured))
    rows["sources"].append(key | _source(measured))
    if measured.each is not None:
        frames["ranks"].append(_ranks(measured.each, key))
    rows["doubts"] += [
        key
        | {
            "kind": doubt.kind,
            "invalidates": doubt.invalidates,
            "message": doubt.message,
            "remedy": doubt.remedy,
            "evidence": evidence(doubt.evidence),
        }
        for doubt in measured.doubts
    ]
    if measured.training is not None:
        rows["training"] += [key | asdict(rank) for rank in measured.training.each]
    if measured.samples is not None:
        samples = measured.samples
        frames["samples"].append(
            labelled(
                key,
                {
                    "rank": samples.rank,
                    "sample": samples.sample,
                    "bytes": samples.bytes,
                    "operations": samples.operations,
                    "suspended_ns": [None] * len(samples.rank),
                },
                schema.SAMPLES,
            )
        )
    if measured.latencies is not None:
        bins = measured.latencies
        frames["latencies"].append(
            labelled(
                key, {"lowest_ns": bins.lowest_ns, "highest_ns": bins.highest_ns, "count": bins.count}, schema.LATENCIES
            )
        )


def _measurement(entry: CaseEntry, case: Case, measured: Measurement) -> dict[str, object]:
    first, wall = measured.first_finished, measured.stonewall
    return {
        "workload": entry.workload,
        "file_set": "",
        "layout": measured.layout,
        "order": measured.order,
        "clients": case.clients,
        "point": point_text(entry.point),
        "ranks": measured.ranks if measured.ranks is not None else case.ranks,
        "files": measured.files,
        "repetition": entry.repetition,
        "transfer_bytes": measured.transfer_bytes,
        "file_set_bytes": measured.file_set_bytes,
        "started_unix_ns": measured.started_unix_ns,
        "complete": True,
        "valid": not any(doubt.invalidates for doubt in measured.doubts),
        "bytes": measured.bytes,
        "operations": measured.operations,
        "duration_ns": measured.duration_ns,
        "rate_bytes_per_s": _rate(measured.rate_bytes_per_s, measured.bytes, measured.duration_ns),
        "rate_operations_per_s": _rate(measured.rate_operations_per_s, measured.operations, measured.duration_ns),
        "first_finished_ns": first and first.at_ns,
        "first_finished_bytes": first and first.bytes,
        "first_finished_operations": first and first.operations,
        "first_finished_rate_bytes_per_s": first and _rate(first.rate_bytes_per_s, first.bytes, first.at_ns),
        "first_finished_rate_operations_per_s": first
        and _rate(first.rate_operations_per_s, first.operations, first.at_ns),
        "stonewall_ns": wall and wall.at_ns,
        "stonewall_bytes": wall and wall.bytes,
        "stonewall_operations": wall and wall.operations,
        "stonewall_least_operations": wall and wall.least_operations,
        "stonewall_most_operations": wall and wall.most_operations,
        "stonewall_rate_bytes_per_s": wall and _rate(wall.rate_bytes_per_s, wall.bytes, wall.at_ns),
        "stonewall_rate_operations_per_s": wall and _rate(wall.rate_operations_per_s, wall.operations, wall.at_ns),
        "matched": measured.matched,
        "start_spread_ns": measured.start_spread_ns,
        "finish_spread_ns": measured.finish_spread_ns,
        "sample_interval_ns": measured.samples and measured.samples.interval_ns,
        "resident_bytes_before": None,
        "settled_ns": None,
        "short_transfers": None,
    }


def _source(measured: Measurement) -> dict[str, object]:
    sums = measured.summarised
    return {
        "file": str(measured.file),
        "line": measured.line,
        "half_unit_per_s": measured.half_unit_per_s,
        "repetitions": 1 if sums is None else sums.repetitions,
        "lowest_rate": sums and sums.lowest,
        "highest_rate": sums and sums.highest,
        "rate_standard_deviation": sums and sums.standard_deviation,
    }


def _rate(printed: float | None, amount: int | None, duration_ns: int | None) -> float | None:
    """The printed rate, or else the one that follows from amount and time."""
    if printed is not None or amount is None or not duration_ns:
        return printed
    return rate(amount, duration_ns)


def _ranks(ranks: pl.DataFrame, key: Mapping[str, str]) -> pl.DataFrame:
    """The rows with all columns of the table."""
    values = {name: pl.col(name) for name in ranks.columns} | {name: pl.lit(value) for name, value in key.items()}
    return ranks.select(values.get(name, pl.lit(None)).cast(kind).alias(name) for name, kind in schema.RANKS.items())


def _tables(rows: Mapping[str, list[dict[str, object]]], frames: Mapping[str, list[pl.DataFrame]]) -> Tables:
    tables = {}
    for name, columns in schema.TABLES.items():
        table = pl.DataFrame({column: [row.get(column) for row in rows[name]] for column in columns}, schema=columns)
        tables[name] = pl.concat([table, *frames.get(name, [])])
    return tables


def _study(gathered: Gathered, workloads: _Workloads, entries: Sequence[CaseEntry]) -> StudyEntry:
    figures, summary = _figures(workloads, entries)
    return StudyEntry(
        name=gathered.tool,
        title=f"{gathered.title}: {gathered.name}",
        question=f"What {gathered.title} printed, as it was found in {format_count(len(gathered.files), 'file')}.",
        source=None,
        scale=None,
        settings=_all_settings(gathered.cases),
        text="",
        method=_method(gathered),
        workloads=[WorkloadEntry(name=name, title=title) for name, title in workloads.titles.items()],
        figures=figures,
        summary=summary,
        acceptance=[],
        scores="io500" if gathered.tool == "io500" else None,
    )


_MISSING_VALUE = "–"
"""Represents the cases without a setting among the values of that setting."""


_MOST_VALUES = 20
"""Values of a setting that are listed; the others are counted: thousands of files may each have their own path."""


def _all_settings(cases: Sequence[Case]) -> dict[str, str | list[str]]:
    """Every setting and fact with its value or values; the version is stored elsewhere."""
    values: dict[str, dict[str, None]] = {}
    for case in cases:
        for setting in (*case.settings, *case.facts):
            values.setdefault(setting.name, {})[setting.value] = None
    values.pop("version", None)
    for case in cases:
        for name in values.keys() - {setting.name for setting in (*case.settings, *case.facts)}:
            values[name][_MISSING_VALUE] = None
    return {
        name: next(iter(setting_values)) if len(setting_values) == 1 else _listed([*setting_values])
        for name, setting_values in values.items()
    }


def _listed(values: list[str]) -> list[str]:
    omitted = len(values) - _MOST_VALUES
    return [*values[:_MOST_VALUES], f"… and {omitted} more"] if omitted > 0 else values


def _figures(workloads: _Workloads, entries: Sequence[CaseEntry]) -> tuple[list[FigureEntry], list[SummaryRow]]:
    """Figures and peaks of workloads that were measured with several numbers of clients or ranks."""
    points: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    moves: dict[str, bool] = {}
    operations: defaultdict[str, dict[Operation, None]] = defaultdict(dict)
    for entry in entries:
        jobs = [job for phase in entry.phases for job in phase.jobs]
        points[entry.workload].add((entry.clients, entry.ranks_per_client))
        moves[entry.workload] = any(job.files or job.layout in ("N-N", "N-1") or job.planned_bytes for job in jobs)
        operations[entry.workload] |= dict.fromkeys(operation for job in jobs for operation in job.operations)
    swept = [name for name in workloads.titles if len(points[name]) > 1]
    figures, summary = [], []
    for name in swept:
        unit: RateUnit = "GB/s" if moves[name] else "kops/s"
        summary.append(SummaryRow(label=workloads.titles[name], workload=name, unit=unit))
        figures += [
            FigureEntry(
                title=f"{workloads.titles[name]}: {operation}", workloads=[name], operation=operation, unit=unit
            )
            for operation in operations[name]
        ]
    return figures, summary


def _method(gathered: Gathered) -> list[str]:
    """How the numbers were obtained, as far as an importer knows."""
    versions = _versions(gathered.cases)
    tool = f"{gathered.title} {', '.join(versions)}" if versions else f"{gathered.title} of an unknown version"
    return [
        f"The numbers were measured by {tool}; ioassay read them from its output and did not measure anything itself.",
        "Rates are as printed; what was not printed is calculated from amounts and times, or left empty.",
        "Timestamps carry no time zone.",
    ]


def _versions(cases: Iterable[Case]) -> list[str]:
    """The versions that cases name, ascending."""
    return sorted({case.tool_version for case in cases if case.tool_version})

"""`ioassay import`: results of other tools become run directories."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ioassay.errors import UsageError
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ioassay.analysis.printed_scores import RecomputedScore
    from ioassay.importers import Importer
    from ioassay.importers.stored import Gathered
    from ioassay.store.document import RunDocument
    from ioassay.store.loaded import LoadedRun
    from ioassay.store.origin import RefusedFile

    _Imported = tuple[Path, RunDocument, int, Sequence[RecomputedScore]]

_NOT_ALL = 1

_MOST_NAMED = 20
"""Files that are named one by one when they are refused; `--json` and run.json have all."""

_MOST_REASONS = 5
"""Reasons that are counted of the others."""


def import_(
    tool: Annotated[
        str,
        typer.Argument(
            metavar="TOOL", help="The tool that wrote the results; a wrong name lists all.", show_default=False
        ),
    ],
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, or directories (searched recursively).", show_default=False),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The run directory to create; with several IO500 submissions, the directory that gets one run for "
            "each.  [default: runs/TIME-TOOL-NAME]",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Store counters of servers beside this run of the same minutes: lustre, prometheus, gpfs.",
            show_default=False,
        ),
    ] = None,
    clock_ahead: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="With --beside: how far the servers' clock is ahead of the run's (negative: behind).",
        ),
    ] = 0.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was imported as one JSON document on standard output.")
    ] = False,
) -> int:
    """Import the results of other tools.

    They become run directories, which all other commands accept.
    A file that does not fit its tool's format is refused with the line that broke; the rest is imported, and the exit
    code is 1.
    """
    from ioassay.analysis.printed_scores import recomputed  # noqa: PLC0415
    from ioassay.importers import IMPORTERS  # noqa: PLC0415
    from ioassay.importers.stored import storable  # noqa: PLC0415
    from ioassay.store.loaded import LoadedRun  # noqa: PLC0415
    from ioassay.store.new_directory import refuse_occupied  # noqa: PLC0415
    from ioassay.store.run_writer import store  # noqa: PLC0415

    importer = _importer(tool, IMPORTERS.values())
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise UsageError(f"{missing[0]} does not exist.", "Use files or directories with results.")
    if beside is not None:
        if out is not None or as_json:
            raise UsageError("--beside makes no run of its own.", "Leave out --out and --json.")
        _print_skipped(paths)
        return _store_beside(importer, paths, beside, clock_ahead)
    if out is not None:
        refuse_occupied(out)
    _print_skipped(paths)
    imported: list[_Imported] = []
    refused: list[RefusedFile] = []
    last: LoadedRun | None = None
    for submission, place in _placed(importer.gather(paths), out):
        gathered, stored = storable(submission, sys.argv)
        refused += gathered.refused
        if stored is not None:
            document, tables = stored.document, stored.tables
            store(place, document, tables)
            measured = tables["measurements"].height
            loaded = LoadedRun(document=document, samples=tables.pop("samples").lazy(), watch=None, **tables)
            last = loaded
            scores = recomputed(loaded)
            imported.append((place, document, measured, scores))
            if not as_json:
                cases = format_count(len(document.cases), "case")
                parts = [cases, format_count(measured, "measurement"), *map(_total, scores)]
                print(f"{place}: {', '.join(filter(None, parts))}", flush=True)
    if as_json:
        _print_json(imported, refused)
    elif last is not None and len(imported) == 1:
        _print_rates(last)
    _print_refused(refused)
    if not imported:
        raise UsageError(
            f"Nothing was imported: none of {format_count(len(refused), 'file')} contains results of {importer.title}.",
            f"Results of {importer.title} are read from: {importer.reads}.",
        )
    return _NOT_ALL if refused else 0


def _store_beside(importer: Importer, paths: list[Path], run: Path, ahead_s: float) -> int:
    """Stores counters of servers beside a run."""
    from ioassay.analysis.watch.phases import moments  # noqa: PLC0415
    from ioassay.importers.servers.beside import MOST_AHEAD_S, gather, store  # noqa: PLC0415
    from ioassay.store.run_directory import load  # noqa: PLC0415

    if importer.counters is None:
        raise UsageError(
            f"Results of {importer.title} cannot stand beside a run.",
            "--beside takes counters of servers: use the tools lustre, prometheus or gpfs.",
        )
    if not abs(ahead_s) <= MOST_AHEAD_S:
        raise UsageError(f"--clock-ahead {ahead_s:g} is too much.", "Clocks differ by less than two days.")
    took_place = moments(load(run))
    if took_place is None:
        raise UsageError(
            f"{run} does not say when its phases were measured.",
            "Counters can stand beside runs of ioassay's own, and imported ones whose tool tells that: DLIO.",
        )
    hosts, refused = gather(importer.counters, paths, round(ahead_s * 1e9))
    if hosts:
        for entry in store(run, hosts, *took_place):
            print(f"{run}: counters of {entry.name}, read up to {entry.interval_s:,.3g} s apart", flush=True)
    _print_refused(refused)
    if hosts:
        print(f"Write its report anew: ioassay report {run}", flush=True)
    if not hosts:
        raise UsageError(
            f"Nothing was imported: none of {format_count(len(refused), 'file')} has counters of {importer.title} that "
            "were read twice or more.",
            f"Counters of {importer.title} are read from: {importer.reads}.",
        )
    return _NOT_ALL if refused else 0


def _importer(tool: str, known: Iterable[Importer]) -> Importer:
    by_name = {importer.tool: importer for importer in known}
    if tool not in by_name:
        raise UsageError(f'"{tool}" is not a supported tool.', f"Use one of {', '.join(by_name)}.")
    return by_name[tool]


def _placed(submissions: Iterable[Gathered], out: Path | None) -> Iterable[tuple[Gathered, Path]]:
    """Each run with its directory: the one that was named, or below it where there are several."""
    from datetime import UTC, datetime  # noqa: PLC0415

    runs = iter(submissions)
    first = next(runs, None)
    if first is None:
        return
    second = next(runs, None)
    name = first.name if second is None else first.tool
    top = out or Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
    if second is None:
        yield first, top
        return
    for gathered in itertools.chain((first, second), runs):
        yield gathered, top / gathered.name


def _print_json(imported: Iterable[_Imported], refused: Iterable[RefusedFile]) -> None:
    import json  # noqa: PLC0415

    runs: list[dict[str, Any]] = [
        {
            "run": str(place),
            "tool": document.study.name,
            "versions": document.imported.versions if document.imported else [],
            "files": len(document.imported.files) if document.imported else 0,
            "cases": len(document.cases),
            "measurements": measured,
            "scores": [_score(score) for score in scores],
        }
        for place, document, measured, scores in imported
    ]
    print(json.dumps({"runs": runs, "refused": [file.model_dump() for file in refused]}, indent=2))


def _score(score: RecomputedScore) -> dict[str, Any]:
    """A printed score, beside what follows from the phases that were printed with it."""
    return {
        "list": score.printed.list,
        "name": score.printed.name,
        "unit": score.printed.unit,
        "printed": score.printed.value,
        "recomputed": score.value,
        "lowest": score.lowest,
        "highest": score.highest,
        "follows": score.follows,
        "left_out": score.left_out,
        "missing": score.missing,
        "file": score.printed.file,
        "line": score.printed.line,
    }


def _total(score: RecomputedScore) -> str:
    """A printed total, and what it should be where it does not follow from its phases."""
    if score.printed.name != "total":
        return ""
    name = "score" if score.printed.list == "standard" else f"score of the {score.printed.list} list"
    doubt = "" if score.follows else f" (from its phases follows {score.value:.6g})"
    return f"{name} {score.printed.value:g}{doubt}"


def _print_rates(run: LoadedRun) -> None:
    """The rates that were imported, with the doubts about them: what the end of a run shows."""
    from ioassay.cli.output import show  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.reports.run import RunReport  # noqa: PLC0415

    show(rendered(RunReport(run).terminal()))


def _print_skipped(paths: list[Path]) -> None:
    """Prints in one line which files among the results are skipped."""
    from ioassay.importers.source import apple_doubles  # noqa: PLC0415

    if skipped := apple_doubles(paths):
        files = format_count(len(skipped), "file")
        print(f"{files} of macOS metadata skipped ({skipped[0].name}{', …' if skipped[1:] else ''}).", file=sys.stderr)


def _print_refused(refused: list[RefusedFile]) -> None:
    for file in refused[:_MOST_NAMED]:
        where = file.path if file.line is None else f"{file.path}:{file.line}"
        print(f"ioassay: {where}: {file.reason}", file=sys.stderr)
    reasons = Counter(file.reason for file in refused[_MOST_NAMED:])
    for reason, files in reasons.most_common(_MOST_REASONS):
        print(f"ioassay: {format_count(files, 'more file')}: {reason}", file=sys.stderr)
    if (others := sum(files for _, files in reasons.most_common()[_MOST_REASONS:])) > 0:
        print(f"ioassay: {format_count(others, 'more file')}, for other reasons", file=sys.stderr)
    if refused:
        print(f"{format_count(len(refused), 'file')} not imported.", file=sys.stderr)

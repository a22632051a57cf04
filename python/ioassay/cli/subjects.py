"""The arguments of comparisons: runs; a published system by its name; a YAML file of one or of a prediction."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.cli import built_in
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.reports.compare.content import Side
    from ioassay.reports.trend.content import Stored

_NAME = "Name a run directory, a built-in system or a YAML file."


def sides(typed: list[str]) -> list[Side]:
    """Loads each argument. Raises `UsageError` for an unknown name, `SourceError` with every problem of a file."""
    from ioassay.analysis.compare import measured_run  # noqa: PLC0415
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.reports.compare import configuration  # noqa: PLC0415
    from ioassay.reports.compare.content import Side  # noqa: PLC0415
    from ioassay.store.run_directory import load  # noqa: PLC0415
    from ioassay.store.short_names import short  # noqa: PLC0415

    published = built_in.names(built_in.SYSTEMS)
    compared = []
    for subject, name in zip(typed, short(typed), strict=True):
        if subject not in published and Path(subject).is_dir():
            run = doubted(load(Path(subject)))
            compared.append(Side(measured_run.subject(run, name), configuration.run_facts(run.document)))
        else:
            compared.append(_published(subject))
    return compared


def _published(subject: str) -> Side:
    """A published system or a prediction. Raises as `sides`."""
    from ioassay.analysis.compare import published_system  # noqa: PLC0415
    from ioassay.reports.compare import configuration  # noqa: PLC0415
    from ioassay.reports.compare.content import Side  # noqa: PLC0415
    from ioassay.systems.library import builtin_systems, find_system  # noqa: PLC0415
    from ioassay.yaml_models.source import SourceError  # noqa: PLC0415

    known = builtin_systems()
    try:
        system = find_system(subject, known)
    except UsageError as error:
        if Path(subject).exists():
            if isinstance(error, SourceError):
                raise
            raise UsageError(f"{subject} is neither a run directory nor a YAML file.", _NAME) from error
        if "/" in subject:
            raise UsageError(f"There is no {subject}.", _NAME) from error
        raise UsageError(f"{subject} is not a run directory. {error.message}", error.remedy) from error
    return Side(published_system.subject(system), configuration.system_facts(system, known))


def each(typed: list[str]) -> list[str]:
    """The arguments, with each folder of runs replaced by its runs, the oldest first. Raises `UsageError`."""
    from ioassay.store import index  # noqa: PLC0415

    published = built_in.names(built_in.SYSTEMS)
    names: list[str] = []
    for name in typed:
        names += [name] if name in published or not Path(name).is_dir() else map(str, index.runs([Path(name)]))
    return names


def stored(typed: list[Path]) -> tuple[list[Stored], list[str]]:
    """The runs in these directories or below these folders, each once, and the names of those that do not state when
    they were measured.

    Raises `UsageError` for a directory that is no run.
    """
    from ioassay.analysis.compare import measured_run  # noqa: PLC0415
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.analysis.trend.history import Run  # noqa: PLC0415
    from ioassay.reports.compare import configuration  # noqa: PLC0415
    from ioassay.reports.trend.content import Stored  # noqa: PLC0415
    from ioassay.store import index  # noqa: PLC0415
    from ioassay.store.run_directory import load  # noqa: PLC0415
    from ioassay.store.short_names import short  # noqa: PLC0415

    once = list({path.resolve(): str(path) for path in index.runs(typed)}.values())
    dated, undated = [], []
    for place, name in zip(once, short(once), strict=True):
        run = doubted(load(Path(place)))
        document = run.document
        if not document.started:
            undated.append(name)
            continue
        started = datetime.fromisoformat(document.started)
        seen = Run(measured_run.subject(run, name), document.study.name, document.where, started)
        dated.append(Stored(seen, configuration.run_facts(document)))
    return dated, undated

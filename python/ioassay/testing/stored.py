"""A run that was made up, as a run directory without logs."""

from __future__ import annotations

from pathlib import Path

from ioassay.results import schema
from ioassay.results.loaded import LoadedRun
from ioassay.results.run_directory import DOCUMENT, table_path


def store(run: LoadedRun, path: Path) -> Path:
    """Makes the run directory `path`, with `run.json` last, and returns it."""
    path.mkdir(parents=True, exist_ok=True)
    for name in schema.TABLES:
        getattr(run, name).lazy().collect().write_parquet(table_path(path, name))
    (path / DOCUMENT).write_text(run.document.model_dump_json())
    return path

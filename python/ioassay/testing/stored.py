"""A run that was made up, as a run directory without logs."""

from __future__ import annotations

from pathlib import Path

from ioassay.store import run_writer, schema
from ioassay.store.loaded import LoadedRun


def store(run: LoadedRun, path: Path) -> Path:
    """Makes the run directory `path` and returns it."""
    run_writer.store(path, run.document, {name: getattr(run, name).lazy().collect() for name in schema.TABLES})
    return path

"""Reports of experiments of `ioassay tune`: sweeps, and tunings of the IO500. Not: those of runs (`reports.run`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ioassay.reports import Report
from ioassay.store.kinds import SWEEP, TUNE_IO500, recognise
from ioassay.store.stored_directory import StoredDirectory


def experiment_report(path: Path) -> Report[Any] | None:
    """The report of the experiment at `path`; `None` where it is something else, or nothing.

    Raises `UsageError` for a document that is damaged, or of a newer version.
    """
    try:
        with StoredDirectory.open(path) as directory:
            kind = recognise(directory)
            if kind is SWEEP:
                from ioassay.reports.sweep import SweepReport  # noqa: PLC0415
                from ioassay.tuning.sweep.answer import answer  # noqa: PLC0415

                return SweepReport(answer(SWEEP.read(directory)))
            if kind is TUNE_IO500:
                from ioassay.reports.tune_io500 import TuneIo500Report  # noqa: PLC0415
                from ioassay.tuning.io500.answer import answer as answer_io500  # noqa: PLC0415

                return TuneIo500Report(answer_io500(TUNE_IO500.read(directory)))
    except OSError:  # which those who read a run say
        return None
    return None

"""DLIO 1 and 2, and MLPerf Storage 0.5 to 2.0, which runs it: what it writes into its output folder.

`gathering` finds the folders, `execution` reads the files of one, `training` makes cases of its epochs, `checkpoints`
of its checkpoints. An epoch is a repetition, and so is a checkpoint. Formats: argonne-lcf/dlio_benchmark
(`utils/statscounter.py`) 1.0 to 2.0.0 and at e1919d7. Not: `mlperf_storage_report.json`, which repeats the summaries;
what the rules of MLPerf Storage allow.
"""

from __future__ import annotations

from ioassay.importers.dlio.gathering import gather

__all__ = ["gather"]

"""ioassay: an HPC storage laboratory in one tool.

The control plane: studies become cases, the engine runs them, results become analysis, figures and reports.
No rank ever imports this package: the compute nodes run only the native engine.

In Python, `ioassay.load("runs/*")` gives the tables of stored runs as polars frames, and figures of them.
"""

from __future__ import annotations

from ioassay.version import __version__

TYPE_CHECKING = False  # typing itself takes some ms, in which nothing handles Ctrl-C yet
if TYPE_CHECKING:
    from pathlib import Path

    from ioassay.frames import Runs

__all__ = ["__version__", "load"]


def load(*patterns: str | Path) -> Runs:
    """The runs whose directories match `patterns`, shell patterns as `runs/*`; what else matches is passed over.

    Raises `UsageError` when nothing that matches a pattern is a run, or when a run is damaged.
    """
    from ioassay.frames import load_runs  # noqa: PLC0415  (what it needs takes a second, which `--help` must not)

    return load_runs(*patterns)

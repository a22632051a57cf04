"""The key of a measurement in the tables of a run, and of a point of its sweep. It loads no library of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Measurement(NamedTuple):
    """The key of a measurement: a phase has one for each of its jobs, and for each operation of a job."""

    case: str
    phase: str
    job: str
    operation: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Measurement:
        """The measurement that a row of any table is of."""
        return cls(row["case"], row["phase"], row["job"], row["operation"])


KEY = Measurement._fields
"""The columns of every table that name its measurement."""

POINT = ("workload", "phase", "job", "operation", "clients", "ranks", "files", "point")
"""The key of a point of a sweep: measurements that agree in all of it are repetitions of one another."""

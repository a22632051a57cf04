"""IO500 submissions of 2017 to 2026: `result_summary.txt`, `result.txt` and the files of the phases beside them.

`submission` finds what belongs together, `summary` and `result_ini` read the two files that have every phase, `cases`
joins these with what IOR and mdtest printed in each phase. Formats: VI4IO/io-500-dev (`[RESULT] BW   phase 1`, 2017 to
2020), IO500/io500 (`src/main.c`, from 2020 on). Not: recomputing a score (`ioassay.analysis`).
"""

from __future__ import annotations

from ioassay.importers.io500.submission import gather

__all__ = ["gather"]

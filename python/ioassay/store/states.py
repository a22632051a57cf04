"""How what is stored can have ended, by kind. It loads no models, so that the index need not."""

from __future__ import annotations

from typing import Literal

RunState = Literal["running", "complete", "failed", "interrupted"]

NetState = Literal["running", "complete", "failed", "interrupted"]

RecordState = Literal["running", "complete", "failed", "incomplete"]
"""`complete`: the command ended, whatever its exit status, or the recording was killed and completed later; there is no
exit status then. `failed`: it could not be started, which leaves no record today. `incomplete`: the tables could not be
brought into the record, most often because a disk is full; `ioassay-engine complete` does it later.
"""

ExperimentState = Literal["running", "complete", "failed", "interrupted"]

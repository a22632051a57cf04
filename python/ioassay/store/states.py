"""How what is stored can have ended, by kind. It loads no models, so that the index need not."""

from __future__ import annotations

from typing import Literal

RunState = Literal["running", "complete", "failed", "interrupted"]

NetState = Literal["running", "complete", "failed", "interrupted"]

ExperimentState = Literal["running", "complete", "failed", "interrupted"]

"""Waiting for a condition by polling, until a generous limit."""

from __future__ import annotations

import time
from collections.abc import Callable

from ioassay.errors import CannotRun

_EVERY_S = 0.02


def until(condition: Callable[[], object], what: str, limit_s: float = 60) -> None:
    """Returns once `condition` holds. Raises `CannotRun` if it does not within `limit_s` seconds."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise CannotRun(f"Timed out after {limit_s:g} s waiting for {what}.")
        time.sleep(_EVERY_S)

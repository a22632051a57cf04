"""The verdict of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "failed", "not checked"]
"""A run does not work after `failed`; after a `warning` it does, with worse numbers or less comfort."""


@dataclass(frozen=True)
class Verdict:
    """A status with the observation and a remedy."""

    status: Status
    seen: str
    remedy: str = ""
    """What to do; empty only if `ok`."""


@dataclass(frozen=True)
class Line:
    """A check with its verdict."""

    check: str
    verdict: Verdict


def ok(seen: str) -> Verdict:
    return Verdict("ok", seen)


def warning(seen: str, remedy: str) -> Verdict:
    """A run works, but not as well as it could."""
    return Verdict("warning", seen, remedy)


def failed(seen: str, remedy: str) -> Verdict:
    """A run would not work."""
    return Verdict("failed", seen, remedy)


def not_checked(reason: str, remedy: str) -> Verdict:
    """The check was impossible because something else is missing."""
    return Verdict("not checked", reason, remedy)

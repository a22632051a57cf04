"""What is said of something that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "failed", "not checked"]
"""A run does not work with what has `failed`; with a `warning` it does, and the numbers or the comfort suffer."""


@dataclass(frozen=True)
class Verdict:
    """How something is."""

    status: Status
    seen: str
    remedy: str = ""
    """What to do; empty only where all is well."""


@dataclass(frozen=True)
class Line:
    """The verdict of a check."""

    check: str
    verdict: Verdict


def ok(seen: str) -> Verdict:
    """All is well."""
    return Verdict("ok", seen)


def warning(seen: str, remedy: str) -> Verdict:
    """A run works, but not as well as it could."""
    return Verdict("warning", seen, remedy)


def failed(seen: str, remedy: str) -> Verdict:
    """A run would not work."""
    return Verdict("failed", seen, remedy)


def not_checked(why: str, remedy: str) -> Verdict:
    """Nothing is known of it, because something else is not there."""
    return Verdict("not checked", why, remedy)

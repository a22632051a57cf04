"""Moments as stored documents have them: ISO 8601, UTC, to the second."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(unix_ns: int) -> str:
    """A moment in nanoseconds since 1970."""
    return datetime.fromtimestamp(unix_ns // 1_000_000_000, UTC).isoformat()


def now() -> str:
    """This moment."""
    return datetime.now(UTC).isoformat(timespec="seconds")

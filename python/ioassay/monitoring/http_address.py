"""What the address of a server says of who can read along."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def sends_in_clear(url: str) -> bool:
    """Whether others on the network can read what is sent there."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in _LOOPBACK

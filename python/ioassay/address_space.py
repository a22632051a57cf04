"""Whether V8, which draws figures and prints PDFs, gets the addresses that it reserves when it starts."""

from __future__ import annotations

import resource

from ioassay.units import format_about_bytes

_NEEDED_BYTES = 68e9
"""Measured; next to nothing of it is ever used."""


def too_small() -> str:
    """What the limit of this process rules out, as a sentence without its full stop; empty where it is large enough."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= _NEEDED_BYTES:
        return ""
    return (
        f"the address space is limited to {format_about_bytes(limit)} (ulimit -v), and V8 reserves "
        f"{format_about_bytes(_NEEDED_BYTES)}"
    )

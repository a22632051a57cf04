"""Messages between the process that draws and the one that it draws for: their length, then their bytes."""

from __future__ import annotations

import struct
from typing import IO

_LENGTH = struct.Struct("<Q")

SVG, PNG = b"S", b"P"
"""The first byte of a request: a Vega-Lite specification follows, or the arguments of `svg_to_png`, both as JSON."""

DRAWN, REFUSED = b"+", b"-"
"""The first byte of an answer: the drawing follows, or why there is none."""


def send(stream: IO[bytes], message: bytes) -> None:
    """Writes a message."""
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message; `None` where the other process has ended."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = stream.read(length)
    return message if len(message) == length else None

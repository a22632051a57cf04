"""Messages through pipes between a process and its child: their length, then their bytes.

Not: their content (`figures.drawing_messages`, `sizing.search.solver`, `profiles.darshan.reader_process`).
"""

from __future__ import annotations

import struct
from typing import IO

_LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], message: bytes) -> None:
    """Writes a message. Raises `BrokenPipeError` if the other process has ended."""
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message; `None` if the other process has ended."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = stream.read(length)
    return message if len(message) == length else None

"""The lines of a trace, one after another: a trace may be long, cut, damaged, or packed to hide its size.

DFTracer writes gzip in pieces that each can be read alone; after a damaged one, reading goes on at the next.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

_CHUNK_BYTES = 1 << 18
_MOST_LINE_BYTES = 1 << 20
_MEMBER = b"\x1f\x8b\x08"
"""How a piece of gzip begins."""
_AROUND = (b"", b"[", b"]")
"""Lines around those of calls."""

_decode = json.JSONDecoder().raw_decode


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object of a line; `None` where it is none."""
    try:
        text = line.decode()
        document, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and end == len(text) else None


def _stripped(line: bytes) -> bytes:
    return line.strip().removesuffix(b",")


class Lines:
    """The objects of a trace. What cannot be read is counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.unread_bytes = 0
        """Of the file, or of what was packed in it, once all was read."""

    def raw(self) -> Iterator[bytes]:
        """The lines without what stands around them. Raises `OSError`."""
        self.unread_bytes = 0
        rest = b""
        with self._path.open("rb") as file:
            for chunk in self._content(file):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in map(_stripped, lines):
                    if line not in _AROUND:
                        yield line
                if len(rest) > _MOST_LINE_BYTES:
                    self.unread_bytes += len(rest)
                    rest = b""
        if (line := _stripped(rest)) not in _AROUND:
            yield line

    def objects(self) -> Iterator[dict[str, Any]]:
        """The objects of all lines. Raises `OSError`."""
        for line in self.raw():
            document = parsed(line)
            if document is not None:
                yield document
            else:
                self.unread_bytes += len(line)

    def _content(self, file: BinaryIO) -> Iterator[bytes]:
        beginning = file.read(len(_MEMBER))
        file.seek(0)
        if beginning != _MEMBER:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
            return
        yield from self._unpacked(file)

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        packed, is_within = b"", False
        unpack = zlib.decompressobj(31)
        while True:
            if not packed:
                packed = file.read(_CHUNK_BYTES)
                if not packed:
                    break
            if not is_within:
                begin = packed.find(_MEMBER)
                self.unread_bytes += len(packed) if begin < 0 else begin
                packed = b"" if begin < 0 else packed[begin:]
                if not packed:
                    continue
                unpack, is_within = zlib.decompressobj(31), True
            try:
                yield unpack.decompress(packed, _CHUNK_BYTES)
                packed = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
                is_within = not unpack.eof
            except zlib.error:
                self.unread_bytes += 1
                packed, is_within = packed[1:], False
                yield b"\n"  # what follows is another line
        if is_within:
            yield unpack.flush()

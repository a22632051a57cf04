"""Regions of a log whose content is not what was written: each is compressed with a checksum at its end.

Darshan's library stops where a record seems complete, before the checksum, and takes what damage made of it. Not: logs
that are compressed otherwise, or not at all, such as those of a process that was killed: these have no checksums.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ioassay.profiles.darshan.recognise import open_log
from ioassay.profiles.darshan.signatures import MAGIC

_ZLIB = 0
_PIECE_BYTES = 1 << 18
_MOST_CONTENT_BYTES = 1 << 34
"""Longest content of a region that is checked."""


class Region(NamedTuple):
    """Bytes of a log."""

    offset: int
    length: int


def damaged_regions(path: Path) -> list[Region]:
    """The regions whose checksum is wrong, or that were cut. Raises `OSError`."""
    with open_log(path) as file:
        return [region for region in _regions(file) if not _is_whole(file, region)]


def _regions(file: BinaryIO) -> Iterator[Region]:
    """The regions of job, names and modules, from the header of the log."""
    version = file.read(8).split(b"\0")[0]
    is_new = version == b"3.41"
    if not is_new and version not in (b"3.00", b"3.10", b"3.20", b"3.21"):
        return
    modules, flags = (64, "7xQ") if is_new else (16, "3xI")  # the flag of an incomplete module takes a bit of each
    for order in "<>":
        layout = struct.Struct(f"{order}8sqB{flags}{2 + 2 * modules}Q{modules}I")
        file.seek(0)
        header = file.read(layout.size)
        if len(header) < layout.size:
            return
        _, magic, compression, _, *rest = layout.unpack(header)
        if magic == MAGIC:
            break
    else:
        return
    if compression != _ZLIB:
        return
    regions = [Region(*rest[first : first + 2]) for first in range(0, 2 + 2 * modules, 2)]
    used = sorted(region for region in regions if region.length)
    end = used[0].offset if used else file.seek(0, 2)
    yield Region(layout.size, end - layout.size)
    yield from used


def _is_whole(file: BinaryIO, region: Region) -> bool:
    """True if all compressed streams of a region end with the checksum of their content."""
    if region.length < 0 or region.offset > file.seek(0, 2):
        return False
    file.seek(region.offset)
    left, content, rest = region.length, 0, b""
    stream = zlib.decompressobj()
    while left or rest:
        piece = rest or file.read(min(_PIECE_BYTES, left))
        left -= 0 if rest else len(piece)
        if not piece:
            return False
        try:
            content += len(stream.decompress(piece, _PIECE_BYTES))
        except zlib.error:
            return False
        if content > _MOST_CONTENT_BYTES:
            return False
        rest = stream.unconsumed_tail
        if stream.eof:
            rest, stream = stream.unused_data, zlib.decompressobj()
            if not rest and not left:
                return True
    return False

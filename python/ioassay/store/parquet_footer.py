"""The size of a Parquet file, before any of it is unpacked.

A few kilobytes can claim a billion rows, or unpack to more than the memory of the node; polars would begin to read.
Only the parts of the footer that tell sizes are read (Thrift's compact protocol, as in the Parquet format).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, BinaryIO

from msgspec import Struct

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_MOST_FOOTER_BYTES = 64 << 20
_MOST_DEPTH = 16

# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData in parquet.thrift.
_NUM_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _META_DATA, _UNPACKED_BYTES = 1, 3, 6


class _Kind(IntEnum):
    """Types of Thrift's compact protocol."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12


class Malformed(ValueError):
    """The file is no Parquet file."""


class Size(Struct, frozen=True):
    """The size of a table."""

    rows: int
    unpacked_bytes: int
    """The size of all pages once they are decompressed."""


def size(file: BinaryIO) -> Size:
    """Reads it off the footer. Raises `Malformed`."""
    file.seek(0, 2)
    end = file.tell()
    if end < _TAIL_BYTES + len(_MAGIC):
        raise Malformed("it is too short")
    file.seek(end - _TAIL_BYTES)
    tail = file.read(_TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > min(end - _TAIL_BYTES - len(_MAGIC), _MOST_FOOTER_BYTES):
        raise Malformed("it has no footer")
    file.seek(end - _TAIL_BYTES - length)
    try:
        footer = _Reader(file.read(length)).struct(_MOST_DEPTH)
        groups = footer.get(_ROW_GROUPS, [])
        unpacked = [column[_META_DATA][_UNPACKED_BYTES] for group in groups for column in group[_COLUMNS]]
        size = Size(footer[_NUM_ROWS], sum(unpacked))
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise Malformed("its footer is damaged") from error
    if size.rows < 0 or min(unpacked, default=0) < 0:
        raise Malformed("its footer is damaged")
    return size


class _Reader:
    """Thrift's compact protocol: values become Python's, structs dicts by the number of the field."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            if kind >> 4:
                number += kind >> 4
            else:
                number = self._integer()
            fields[number] = self._value(kind & 15, depth - 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:  # noqa: PLR0911
        if depth == 0:
            raise Malformed("its footer is nested too deeply")
        match kind:
            case _Kind.TRUE | _Kind.FALSE:
                return kind == _Kind.TRUE
            case _Kind.BYTE:
                return self._byte()
            case _Kind.I16 | _Kind.I32 | _Kind.I64:
                return self._integer()
            case _Kind.DOUBLE:
                return self._bytes(8)
            case _Kind.BINARY:
                return self._bytes(self._unsigned())
            case _Kind.LIST | _Kind.SET:
                head = self._byte()
                count = head >> 4 if head >> 4 < 15 else self._unsigned()
                # In a list even a boolean takes a byte.
                inner = _Kind.BYTE if head & 15 in (_Kind.TRUE, _Kind.FALSE) else head & 15
                return [self._value(inner, depth - 1) for _ in range(self._plausible(count))]
            case _Kind.MAP:
                count = self._plausible(self._unsigned())
                kinds = self._byte() if count else 0
                return [(self._value(kinds >> 4, depth - 1), self._value(kinds & 15, depth - 1)) for _ in range(count)]
            case _Kind.STRUCT:
                return self.struct(depth)
        raise Malformed("its footer is damaged")

    def _plausible(self, count: int) -> int:
        """Every element takes a byte at least."""
        if count > len(self._content) - self._at:
            raise Malformed("its footer is damaged")
        return count

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        self._at += self._plausible(count)
        return self._content[self._at - count : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise Malformed("its footer is damaged")

    def _integer(self) -> int:
        zigzag = self._unsigned()
        return (zigzag >> 1) ^ -(zigzag & 1)

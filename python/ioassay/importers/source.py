"""Finds and reads result files of other tools, as text.

People point at whole trees of results, which also contain scripts, archives, metadata of macOS, and files full of
zeros. Each of these is refused with a sentence that says what it is, before it is parsed.

Not: parsing (one module for each tool), run directories.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from ioassay.errors import IoassayError, UsageError
from ioassay.store.stored_directory import StoredDirectory
from ioassay.text.units import format_bytes

MOST_BYTES = 256 << 20
"""Limit on the size of a file; the largest are JSON documents of fio with every latency bin."""

_LOOKED_AT = 4096
"""Bytes at the beginning that identify most foreign files."""

_APPLE_DOUBLE = b"\x00\x05\x16\x07"
"""Magic of the files `._NAME` in which macOS keeps attributes beside a file NAME (RFC 1740, appendix A)."""

_FOREIGN = (
    (_APPLE_DOUBLE, "is metadata that macOS stores beside a file (AppleDouble), not the file itself"),
    (b"\x1f\x8b", "is compressed with gzip: unpack it first"),
    (b"BZh", "is compressed with bzip2: unpack it first"),
    (b"\xfd7zXZ", "is compressed with xz: unpack it first"),
    (b"(\xb5/\xfd", "is compressed with zstd: unpack it first"),
    (b"PK\x03\x04", "is a zip archive: unpack it first"),
    (b"%PDF", "is a PDF document"),
    (b"\x89PNG", "is an image"),
    (b"\x7fELF", "is a program"),
    (b"\xff\xfe", "is UTF-16 text; the tools write UTF-8"),
    (b"\xfe\xff", "is UTF-16 text; the tools write UTF-8"),
)
"""Magic of files that are not text, with the reason to refuse them."""


class Refused(IoassayError):
    """A file that cannot be imported, or not trusted. `line` is the offending one, from 1."""

    exit_code = 2

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class Source:
    """A file's text, with its hash and size."""

    path: Path
    text: str
    sha256: str
    bytes: int

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; `lines[0]` is line 1."""
        return self.text.replace("\r\n", "\n").split("\n")

    @classmethod
    def read(cls, path: Path, below: Path | None = None) -> Source:
        """Reads a regular file, which is opened only once: a file renamed over it is not read.

        A path that was typed may be a link. One found in a directory must not lead out of it, because any user may own
        it: with the directory as `below`, no link beneath it is followed.

        Raises `Refused` for a file that is not text of a tool, `OSError` for one that cannot be read.
        """
        with _open(path, below) as file:
            beginning = file.read(_LOOKED_AT)
            if not beginning:
                raise Refused("is empty")
            _refuse_foreign(beginning)
            content = beginning + file.read(MOST_BYTES + 1 - len(beginning))
        if len(content) > MOST_BYTES:
            raise Refused(f"is larger than {format_bytes(MOST_BYTES)}, more than any tool writes")
        zero = content.find(b"\0")
        if zero >= 0:
            raise Refused("contains NUL bytes: it is damaged, or not text", 1 + content.count(b"\n", 0, zero))
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")  # the encoding of old results
        return cls(path, text, hashlib.sha256(content).hexdigest(), len(content))


def _open(path: Path, below: Path | None) -> BinaryIO:
    """The regular file at `path`. Raises `Refused` for anything else, and for links beneath `below`."""
    if below is None:
        path = path.resolve(strict=True)
        below = path.parent
    with StoredDirectory.open(below) as directory:
        try:
            return directory.open_file(path.relative_to(below).as_posix(), most_bytes=sys.maxsize)
        except UsageError as error:
            raise Refused(error.message.removeprefix(f"{path} ").removesuffix(".")) from None


def _refuse_foreign(beginning: bytes) -> None:
    """Raises `Refused` for a file that cannot be a result, by its beginning."""
    for magic, reason in _FOREIGN:
        if beginning.startswith(magic):
            raise Refused(reason)
    if not beginning.strip(b"\0"):
        raise Refused("contains only NUL bytes")
    text = beginning.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<?xml")):
        raise Refused("is a web page or XML, not what the tool printed")
    if not text:
        raise Refused("contains only white space")


def below(paths: Iterable[Path]) -> Iterator[Path]:
    """Yields every file at or below `paths` once, in an order independent of the file system; links to directories are
    not followed, links to files are included. Metadata of macOS (`apple_doubles`) is left out.
    """
    yielded: set[Path] = set()
    for path in paths:
        for file in _files(path):
            if file not in yielded and not _is_apple_double(file, path):
                yielded.add(file)
                yield file


def apple_doubles(paths: Iterable[Path]) -> list[Path]:
    """Metadata of macOS (AppleDouble, `._NAME`) in the directories among `paths`, which `below` leaves out."""
    return [file for path in paths for file in _files(path) if _is_apple_double(file, path)]


def _is_apple_double(file: Path, within: Path) -> bool:
    """Checks the name and the first bytes. A file that the user named is never left out."""
    if file == within or not file.name.startswith("._"):
        return False
    try:
        with _open(file, within) as opened:
            return opened.read(len(_APPLE_DOUBLE)) == _APPLE_DOUBLE
    except (Refused, OSError):
        return False


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for directory, inner, files in os.walk(path):
        inner.sort()
        yield from (Path(directory) / name for name in sorted(files))

"""Files that are no profile: what each seems to be, by how it begins, so that its refusal says why.

Not: whether a file is one that is read (`darshan.signatures`, `records.directory`).
"""

from __future__ import annotations

import bz2
import zlib
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.profiles.darshan.signatures import form_of, old_version
from ioassay.store.kinds import KINDS

BEGINNING_BYTES = 4096
"""As much of a file tells what it is."""

TAKES = (
    "Name a record (`ioassay record`), a run that was recorded (`ioassay run --record`), a folder of these, a log of "
    "Darshan 3 (.darshan, or what darshan-parser prints of it), traces of DFTracer (.pfw, .pfw.gz), or a trace of "
    "Recorder that recorder2parquet has converted."
)

_SIGNATURES = (
    (b"\x7fELF", "a program or a library (ELF)"),
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"CDF", "a NetCDF file"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF file"),
)

_CONTROLS = {*range(32)} - {*b"\t\n\v\f\r\x1b"}


def not_a_profile(path: Path, beginning: bytes) -> UsageError:
    """The error for a file that begins so."""
    if kind := next((kind for kind in KINDS if kind.document == path.name), None):
        return UsageError(
            f"{path} is the document of a {kind.name}, not all of it.", f"Name its directory: {path.parent}"
        )
    packing, content = _unpacked(beginning)
    packed = f", compressed with {packing}" if packing else ""
    if version := old_version(content):
        return UsageError(
            f"{path} is a log of Darshan {version[0]} (format {version}){packed}. ioassay reads logs of Darshan 3.",
            f"Show it with the darshan-parser of Darshan {version[0]}, or record the application again.",
        )
    if packing and (form := form_of(content)):
        what = "a log of Darshan 3" if form == "log" else "what darshan-parser prints of a log"
        return UsageError(f"{path} is {what}{packed}.", f"Unpack it: {_UNPACKING[packing]} {path}")
    return UsageError(f"{path} is {_described(beginning)}, not a profile.", TAKES)


def content_of(beginning: bytes) -> bytes:
    """How a file begins, unpacked where it is compressed."""
    return _unpacked(beginning)[1]


_UNPACKING = {"gzip": "gunzip", "bzip2": "bunzip2"}


def _described(beginning: bytes) -> str:
    if not beginning:
        return "empty"
    if not beginning.strip(b"\0"):
        return "zeros from its beginning"
    if packing := _unpacked(beginning)[0]:
        return f"compressed with {packing}"
    for signature, name in _SIGNATURES:
        if beginning.startswith(signature):
            return name
    if not _is_text(beginning):
        return "binary data of an unknown kind"
    return "JSON" if beginning.lstrip().startswith((b"{", b"[")) else "text"


def _unpacked(beginning: bytes) -> tuple[str, bytes]:
    """How a file is compressed as a whole, empty if it is not, and how it begins in itself."""
    if beginning.startswith(b"\x1f\x8b"):
        try:
            return "gzip", zlib.decompressobj(wbits=31).decompress(beginning, BEGINNING_BYTES)
        except zlib.error:
            return "gzip", b""
    if beginning.startswith(b"BZh"):
        try:  # nothing comes before a block, of up to 900 kB, is whole
            return "bzip2", bz2.BZ2Decompressor().decompress(beginning, BEGINNING_BYTES)
        except OSError:
            return "bzip2", b""
    return "", beginning


def _is_text(beginning: bytes) -> bool:
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        if error.start < len(beginning) - 3:  # else a letter was cut at the end
            return False
    return _CONTROLS.isdisjoint(beginning)

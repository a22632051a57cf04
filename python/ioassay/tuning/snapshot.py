"""A snapshot: the files below /sys, /proc and /etc of one node, and what commands printed there, at one moment.

`ioassay-engine capture` makes one, of the node that it runs on; `collect` asks for it, `read` takes one that was made
elsewhere. Both are held in memory and never unpacked, so nothing in an archive can reach a path of this machine.

Of each file three things can be known: its text, that there is none, or that it could not be read and why. The first
two are what `text` returns; the third raises `Unreadable`, so that a rule that needs the value says so by itself. With
commands it is the same: what one printed, that the node does not have it, or that it failed and why.

Not: what the files mean (`tuning.system`).
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import subprocess
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ioassay import mounts
from ioassay.errors import CannotRun, UsageError
from ioassay.processes import engine
from ioassay.processes.garbage_collection import long_lived
from ioassay.store import json_head, protocol
from ioassay.store.versions import read_head

if TYPE_CHECKING:
    from ioassay.protocol.snapshot import CommandOutput, Environment
    from ioassay.protocol.snapshot import Snapshot as Document

VERSION = 1

_DOCUMENT = "snapshot.json"
_ROOT = "root/"
_MOST_BYTES = 256 << 20
"""The largest archive when it is unpacked; the engine writes at most a quarter of this."""
_MOST_MEMBERS = 200_000
_BLOCK = 512
_LINK, _DIRECTORY, _LONG_NAME = b"2", b"5", b"L"
_KINDS = (b"0", _LINK, _LONG_NAME, _DIRECTORY, b"\0")
"""Files, links, directories, and names of more than 100 bytes of the member that follows, as tar marks them."""
_POSIX = b"ustar\0"
_MAGICS = (b"ustar ", _POSIX)
_MOST_NAMES = 1 << 15
"""Kept from archive to archive, as nodes of one cluster have mostly the same files."""
_MOST_LINKS = 40
"""As many as the kernel follows on the way to a file."""
_LIMIT_S = 120.0


class Unreadable(Exception):
    """The node has a file, and the capture could not read it; or a command, and it failed."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.what = what
        """As it is shown: a path with its leading slash, a command line, the name of a parameter."""
        self.reason = reason


@dataclass(frozen=True)
class Snapshot:
    """The files of one node, by path without the leading slash; links as the text that they hold."""

    document: Document
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    """The output of commands, by the file that the document names."""

    @property
    def host(self) -> str:
        """The host's name."""
        return self.document["host"]

    @property
    def boot_id(self) -> str | None:
        """The kernel that ran: snapshots with the same one are of one machine between two boots."""
        return self.document.get("boot_id")

    @property
    def target(self) -> str | None:
        """The directory or block device that I/O goes to, where one was named."""
        return self.document.get("target")

    @property
    def environment(self) -> Environment:
        """The node as runs describe it."""
        return self.document["environment"]

    @property
    def taken(self) -> datetime:
        """When it was taken."""
        return datetime.fromtimestamp(self.document["taken_unix_ns"] / 1e9, UTC)

    @cached_property
    def _tree(self) -> _Tree:
        return _tree(tuple(self.files), tuple(self.links.items()), tuple(self.unreadable))

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """Files that exist and could not be read, or not whole: by path, why."""
        return {entry["path"]: entry["reason"] for entry in self.document["unreadable"]}

    def resolve(self, path: str) -> str:
        """The path of what `path` leads to, without links, whether or not it exists."""
        if path in self.files:  # below no link, or the capture had followed it
            return path
        return self._tree.resolve(path)

    def text(self, path: str) -> str | None:
        """The content of a file, without white space around it; `None` where there is none. Raises `Unreadable`."""
        resolved = self.resolve(path)
        content = self.files.get(resolved)
        if content is not None:
            return content.decode(errors="replace").strip()
        if (reason := self.unreadable.get(resolved)) is not None:
            raise Unreadable(f"/{resolved}", reason)
        return None

    def number(self, path: str) -> int | None:
        """The integer in the file; `None` where there is no file. Raises `Unreadable`, also where it is no integer."""
        text = self.text(path)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise Unreadable(f"/{path.lstrip('/')}", f"holds {text[:40]!r}, which is no integer") from None

    def names(self, path: str) -> list[str]:
        """The names in a directory, in alphabetical order; empty where there is none."""
        return sorted(self._tree.directories.get(self.resolve(path), ()))

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory, readable or not."""
        resolved = self.resolve(path)
        return resolved in self.files or resolved in self._tree.directories or resolved in self.unreadable

    def printed(self, *argv: str) -> str | None:
        """The output of the first command that begins with these words; `None` where it was not run.

        Raises `Unreadable` where it failed.
        """
        for command in self.document["commands"]:
            program, *rest = command["argv"]
            if (program.rpartition("/")[2], *rest)[: len(argv)] == argv:
                if command.get("exit_code") != 0:
                    raise Unreadable(" ".join(command["argv"]), _failure(command))
                # One that printed nothing has no file.
                return self.outputs.get(command.get("file") or "", b"").decode(errors="replace")
        return None


class _Tree:
    """The names in a snapshot without what the files say, which nodes of one kind share.

    So its directories are listed and its links followed once for all of them.
    """

    def __init__(self, files: tuple[str, ...], links: tuple[tuple[str, str], ...], unreadable: tuple[str, ...]) -> None:
        self._files, self._links = frozenset(files), dict(links)
        self._resolved: dict[str, str] = {}
        self.directories: dict[str, set[str]] = {"": set()}
        """The names in each directory."""
        for path in (*files, *self._links, *unreadable):
            above, _, name = path.rpartition("/")
            while (names := self.directories.get(above)) is None:
                self.directories[above] = {name}
                above, _, name = above.rpartition("/")
            names.add(name)

    def resolve(self, path: str) -> str:
        """As `Snapshot.resolve`."""
        known = self._resolved.get(path)
        if known is None:
            known = self._resolved[path] = path if path in self._files else self._resolve_below_root(path)
        return known

    def _resolve_below_root(self, path: str) -> str:
        """As `resolve`, from the directory on, which is asked for again and again."""
        above, _, name = path.rpartition("/")
        is_deep = path.count("/") > _MOST_LINKS
        done, to_come = ("", _parts(path)) if is_deep or not above else (self.resolve(above), _parts(name))
        links = 0
        while to_come:
            part = to_come.pop(0)
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            inner = f"{done}/{part}" if done else part
            link = self._links.get(inner)
            if link is None or links == _MOST_LINKS:
                done = inner
                continue
            links += 1
            if link.startswith("/"):
                done = ""
            to_come = [*_parts(link), *to_come]
        return done


@lru_cache(maxsize=16)
def _tree(files: tuple[str, ...], links: tuple[tuple[str, str], ...], unreadable: tuple[str, ...]) -> _Tree:
    return _Tree(files, links, unreadable)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _failure(command: CommandOutput) -> str:
    """Why a command failed: its exit status and what it wrote to standard error, as far as it came to either."""
    code, error = command.get("exit_code"), command.get("error")
    status = f"exit status {code}" if code is not None else ""
    return ": ".join(part for part in (status, error) if part) or "it did not end"


def collect(target: str | None) -> Snapshot:
    """A snapshot of this node, as it is now. `target`: a directory or block device. Raises as `collect_archive`."""
    return parse(collect_archive(target), "the engine's capture")


def collect_archive(target: str | None) -> bytes:
    """The archive of a snapshot of this node. Raises `UsageError` where there is no such target, `CannotRun`."""
    if target is not None:
        _refuse_unsuitable(target)
    program = str(engine.find_engine())
    try:
        done = subprocess.run(
            [program, *engine.capture_arguments(target)], capture_output=True, check=False, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRun(
            f"The engine did not finish looking at this node within {_LIMIT_S:.0f} s.",
            "Check whether a mount or a device hangs (dmesg), or leave the target out.",
        ) from error
    if done.returncode:
        raise CannotRun(
            f"The engine could not look at this node: {done.stderr.decode(errors='replace').strip()}",
            f"Try it alone: {program} capture --out snapshot.tar.gz",
        )
    return done.stdout


def _refuse_unsuitable(target: str) -> None:
    """Raises `UsageError` for what is neither a directory nor a block device of this node, `CannotRun`."""
    remedy = "Use an existing directory or block device of this node."
    try:
        mode = mounts.ask(target, lambda: os.stat(target).st_mode)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"{target} does not exist.", remedy) from error
    except OSError as error:
        raise CannotRun(f"{target}: {error.strerror}.", remedy) from error
    if not (stat.S_ISDIR(mode) or stat.S_ISBLK(mode)):
        raise UsageError(f"{target} is neither a directory nor a block device.", remedy)


def read(path: Path) -> Snapshot:
    """The snapshot in a file. Raises `UsageError` where it is none, `OSError`."""
    return _snapshot(*_read(path), str(path))


def read_all(paths: Sequence[Path]) -> list[Snapshot]:
    """The snapshots in files, of which a cluster has hundreds. Raises as `read`."""
    snapshots: list[Snapshot] = []
    # zlib releases the interpreter's lock, so the next archive is unpacked while one is parsed.
    with long_lived(), ThreadPoolExecutor(max_workers=1) as pool:
        coming = [pool.submit(_read, path) for path in paths[:1]]
        for path, following in zip_longest(paths, paths[1:]):
            content, text = coming.pop().result()
            if following is not None:
                coming.append(pool.submit(_read, following))
            snapshots.append(_snapshot(content, text, str(path)))
    return snapshots


def parse(content: bytes, name: str) -> Snapshot:
    """The snapshot in an archive that came from `name`. Raises `UsageError` for anything else."""
    return _snapshot(content, _unpacked(content), name)


def _read(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES)
    return content, _unpacked(content)


def _snapshot(content: bytes, text: bytes, name: str) -> Snapshot:
    """As `parse`. `text`: the content unpacked, nothing where that takes more than `_unpacked`."""
    remedy = "Make one with: ioassay tune capture"
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    outputs: dict[str, bytes] = {}
    document: Document | None = None
    try:
        for member, link, data in _plain_members(text) or _members(content):
            path = _path_below_root(member)
            if path is None:
                if member == _DOCUMENT:
                    document = _document(data, name)
                elif link is None:
                    outputs[member] = data
            elif link is None:
                files[path] = data
            else:
                links[path] = link
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        raise UsageError(f"{name} is no snapshot: {error}.", remedy) from error
    if document is None:
        raise UsageError(f"{name} is no snapshot: it has no {_DOCUMENT}.", remedy)
    return Snapshot(document, files, links, outputs)


_Member = tuple[str, str | None, bytes]
"""The name of a file or link of an archive, where a link leads, and the content of a file."""


def _unpacked(content: bytes) -> bytes:
    """The content of a gzip stream, its sum checked; empty if damaged, over `_MOST_BYTES` or of several streams."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(content, _MOST_BYTES)
    except zlib.error:
        return b""
    return text if unpacker.eof and not unpacker.unused_data else b""


_HEADER = struct.Struct("100s 24x 11s 21x c 100s 6s 82x 155s 12x")
"""The header of a member: name, size, kind, target of a link, format, prefix of the name."""


def _plain_members(text: bytes) -> list[_Member]:
    """The files and links of an unpacked archive as the engine writes it, in a twentieth of the time of `tarfile`.

    Nothing for any other archive, damaged or made by another program: `_members` reads it, or says what is wrong.
    Headers are not summed, because the sum that gzip keeps of all was checked.
    """
    members: list[_Member] = []
    offset, last, name = 0, len(text) - _BLOCK, ""
    while offset <= last and text[offset]:
        short, digits, kind, link, magic, prefix = _HEADER.unpack_from(text, offset)
        if kind not in _KINDS or magic not in _MAGICS or not digits.isdigit() or len(members) >= _MOST_MEMBERS:
            return []
        start = offset + _BLOCK
        end = start + _octal(digits)
        if end > len(text):
            return []
        if kind == _LONG_NAME:
            name = _until_zero(text[start:end])
        else:
            if not name:
                name = _until_zero(short)
                if prefix[0] and magic == _POSIX:
                    name = f"{_until_zero(prefix)}/{name}"
            if kind == _LINK:
                members.append((name, _until_zero(link), b""))
            elif kind != _DIRECTORY:
                members.append((name, None, text[start:end]))
            name = ""
        offset = (end + _BLOCK - 1) // _BLOCK * _BLOCK
    return members


@lru_cache(maxsize=_MOST_NAMES)
def _until_zero(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode(errors="surrogateescape")


@lru_cache(maxsize=_MOST_NAMES)
def _octal(digits: bytes) -> int:
    return int(digits, 8)


@lru_cache(maxsize=_MOST_NAMES)
def _path_below_root(member: str) -> str | None:
    """The path on the node of a member that is one of its files or links."""
    return member.removeprefix(_ROOT) if member.startswith(_ROOT) else None


def _members(content: bytes) -> Iterator[_Member]:
    """The files and links of an archive, within bounds. Raises `tarfile.TarError`, `ValueError`, errors of gzip."""
    total = 0
    with gzip.open(io.BytesIO(content)) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as archive:
        for number, member in enumerate(archive):
            total += member.size
            if total > _MOST_BYTES or number >= _MOST_MEMBERS:
                raise ValueError(f"it holds more than {_MOST_BYTES >> 20} MiB or {_MOST_MEMBERS} files")
            if member.issym():
                yield member.name, member.linkname, b""
            elif member.isfile() and (file := archive.extractfile(member)) is not None:
                yield member.name, None, file.read()


def _document(content: bytes, name: str) -> Document:
    try:
        version = read_head(json_head.whole(content)).version
        if version == VERSION:
            document: Document = protocol.validator("snapshot").validate_json(content)
            return document
    except ValidationError as error:
        raise ValueError(f"its {_DOCUMENT} is damaged: {protocol.reason(error)}") from None
    except ValueError as error:
        raise ValueError(f"its {_DOCUMENT} is damaged: {error}") from None
    raise UsageError(
        f"{name} is a snapshot of version {version}; this ioassay reads version {VERSION}.",
        "Capture it again with this version of ioassay-engine, or use the ioassay that made it.",
    )

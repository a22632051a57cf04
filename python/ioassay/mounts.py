"""Mounts, and system calls on paths that may lie on a mount that does not answer.

A system call on a dead mount cannot be ended, not even by SIGKILL. So the control plane asks about
paths that users name in a child process, which is left alone when it does not answer.

`crates/host/src/mounts.rs` reads the same list for the engine, and `room.rs` judges the same of statfs;
`crates/host/mounts.json` has answers that both give.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import re
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NoReturn, TypeVar

from ioassay.errors import CannotRun

ANSWER_S = 5.0
"""How long a path may take to answer: longer than any sound file system needs, short enough to wait for."""

_POLL_INTERVAL_S = 0.1
_UNLIMITED_BYTES = 1 << 63
_UNSIGNED = (1 << 64) - 1
_MOST_LINKS = 40
_NOTE_BYTES = 16384
_MOUNTS = Path("/proc/self/mountinfo")

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Mount:
    """A line of the kernel's list."""

    point: str
    source: str | None
    """`None` where the kernel has `none` or no text."""
    file_system: str


@dataclass(frozen=True)
class Statfs:
    """The result of statfs(2), in its own units: unsigned, and invented where a file system has no such number."""

    fuse: bool
    """The file system is a process of a user, which fills in what it likes."""
    fragment_bytes: int
    blocks: int
    blocks_free: int
    blocks_available: int
    inodes: int
    inodes_free: int
    inodes_available: int

    @classmethod
    def of(cls, about: os.statvfs_result, mount: Mount | None) -> Statfs:
        """From `os.statvfs`, which takes numbers from 2^63 on for negative ones."""
        fuse = mount is not None and mount.file_system.startswith("fuse")
        blocks = (about.f_frsize, about.f_blocks, about.f_bfree, about.f_bavail)
        inodes = (about.f_files, about.f_ffree, about.f_favail)
        return cls(fuse, *(number & _UNSIGNED for number in (*blocks, *inodes)))


@dataclass(frozen=True)
class Room:
    """The room on a file system. `None` where it reports no number, or an impossible one."""

    total_bytes: int | None
    free_bytes: int | None
    """What an unprivileged user may still write."""
    free_inodes: int | None
    notes: list[str]
    """Impossible numbers of the file system, each with what was therefore not checked."""

    @classmethod
    def of(cls, statfs: Statfs) -> Room:
        """The room, as far as the numbers of statfs are possible."""
        total_bytes = min(statfs.blocks * statfs.fragment_bytes, _UNSIGNED)
        free_bytes = min(statfs.blocks_available * statfs.fragment_bytes, _UNSIGNED)
        notes = []
        if wrong := _wrong_blocks(statfs, total_bytes):
            notes.append(f"the file system says that {wrong}: free space was not checked")
        if wrong_inodes := _wrong_inodes(statfs):
            notes.append(f"the file system says that {wrong_inodes}: inodes were not checked")
        return cls(
            total_bytes=None if wrong else total_bytes,
            free_bytes=None if wrong else free_bytes,
            free_inodes=None if wrong_inodes or not _counts_inodes(statfs) else statfs.inodes_available,
            notes=notes,
        )


def _wrong_blocks(statfs: Statfs, total_bytes: int) -> str | None:
    free = max(statfs.blocks_free, statfs.blocks_available)
    if statfs.blocks == 0:
        return "its size is 0"
    if free > statfs.blocks:
        return f"{free} of its {statfs.blocks} blocks are free"
    if total_bytes >= _UNLIMITED_BYTES:
        return f"it has {statfs.blocks} blocks of {statfs.fragment_bytes} bytes"
    return None


def _counts_inodes(statfs: Statfs) -> bool:
    return any((statfs.inodes, statfs.inodes_free, statfs.inodes_available))


def _wrong_inodes(statfs: Statfs) -> str | None:
    free = max(statfs.inodes_free, statfs.inodes_available)
    if free > statfs.inodes:
        return f"{free} of its {statfs.inodes} inodes are free"
    if statfs.fuse and _counts_inodes(statfs) and statfs.inodes_available == 0:
        return f"none of its {statfs.inodes} inodes is free, as FUSE file systems do that count none"
    return None


def mount_of(path: PurePath | str) -> Mount | None:
    """What is mounted at `path` or above, by the kernel's list; links are not followed, and nothing is asked of it."""
    return covering(os.fsdecode(_MOUNTS.read_bytes()), path)


def covering(mountinfo: str, path: PurePath | str) -> Mount | None:
    """The same by a list that has the form of the kernel's (proc_pid_mountinfo(5))."""
    mount = None
    for line in filter(None, mountinfo.split("\n")):
        fields, _, rest = line.partition(" - ")
        point, (file_system, source) = unescaped(fields.split(" ")[4]), rest.split(" ")[:2]
        # Of two at one point the later one lies on top.
        if PurePath(path).is_relative_to(point) and (mount is None or len(point) >= len(mount.point)):
            mount = Mount(point, None if source in ("", "none") else unescaped(source), file_system)
    return mount


def ask(
    path: PurePath | str,
    question: Callable[[], _Answer],
    limit_s: float = ANSWER_S,
    must_stop: Callable[[], bool] = lambda: False,
) -> _Answer:
    """What `question` returns or raises, which makes system calls on `path`.

    Raises `CannotRun` when there is no answer within `limit_s`, `KeyboardInterrupt` when `must_stop` is true before.
    """
    path = os.path.abspath(path)
    reader, writer = os.pipe()
    note = mmap.mmap(-1, _NOTE_BYTES)
    child = os.fork()
    if child == 0:
        _answer_in_child(path, question, note, writer)
    os.close(writer)
    try:
        answer = _read_answer(reader, limit_s, must_stop)
    finally:
        # A child that hangs stays until the mount answers: do not wait for it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.close(reader)
        _collect(child)
    if answer is None:
        raise _no_answer(path, os.fsdecode(note[:].rstrip(b"\0")) or path, limit_s)
    answered, value = pickle.loads(answer)
    if answered:
        return value  # type: ignore[no-any-return]
    raise value


def _answer_in_child(path: str, question: Callable[[], object], note: mmap.mmap, writer: int) -> NoReturn:
    """As the child: answers, and ends. It keeps nothing open: others may wait for the end of a pipe."""
    try:
        os.closerange(0, writer)
        os.closerange(writer + 1, os.sysconf("SC_OPEN_MAX"))
        _follow(path, note)
        try:
            answer = (True, question())
        except Exception as error:
            answer = (False, error)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
    finally:
        os._exit(0)


def _follow(path: str, note: mmap.mmap) -> None:
    """Notes how far it has come on the way to `path`, link by link: what hangs is noted last."""
    current, to_come, links = "/", PurePath(path).parts[1:], 0
    while to_come:
        name, to_come = to_come[0], to_come[1:]
        current = os.path.normpath(os.path.join(current, name))
        note[:] = os.fsencode(current)[:_NOTE_BYTES].ljust(_NOTE_BYTES, b"\0")
        with contextlib.suppress(OSError):
            link = os.readlink(current)
            if (links := links + 1) > _MOST_LINKS:
                return
            to_come = (*(part for part in PurePath(link).parts if part != "/"), *to_come)
            current = "/" if link.startswith("/") else os.path.dirname(current)


def _read_answer(reader: int, limit_s: float, must_stop: Callable[[], bool]) -> bytes | None:
    """All that the child writes; `None` if it has not ended within `limit_s`."""
    deadline, answer = time.monotonic() + limit_s, b""
    while time.monotonic() < deadline:
        if must_stop():
            raise KeyboardInterrupt
        if select.select([reader], [], [], _POLL_INTERVAL_S)[0]:
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                return answer
            answer += chunk
    return None


def _collect(child: int) -> None:
    """Reaps a child that was killed, unless it hangs."""
    deadline = time.monotonic() + _POLL_INTERVAL_S
    while os.waitpid(child, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.001)


def _no_answer(path: str, reached: str, limit_s: float) -> CannotRun:
    mount = mount_of(reached)
    of = f" of {mount.source}" if mount and mount.source else ""
    on = f" It is on {mount.point} ({mount.file_system}{of})." if mount else ""
    return CannotRun(
        f"{path} has not responded for {limit_s:.0f} s.{on}",
        "Check whether its server responds, and read the kernel log (dmesg); then try again.",
    )


def unescaped(text: str) -> str:
    """A path as the kernel's lists write it: spaces and the like are octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)

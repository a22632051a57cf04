"""A mount whose server does not answer chosen operations: what a dead NFS server or a lost OST is to those who use it.

It is a FUSE file system, kept in memory by a process of its own. A request that this process has read and does not
answer leaves the caller in an uninterruptible system call that not even SIGKILL ends, until it is answered or the mount
is aborted. Closing the mount aborts and detaches it, so that every such call fails; so does the death of its maker.

It takes root and /dev/fuse.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import selectors
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

SOURCE = "hung-server:/export"
"""The list of mounts in /proc/self/mountinfo."""

FILE_SYSTEM = "fuse"

OPERATIONS = {
    "lookup": 1,
    "getattr": 3,
    "setattr": 4,
    "mkdir": 9,
    "unlink": 10,
    "rmdir": 11,
    "rename": 12,
    "open": 14,
    "read": 15,
    "write": 16,
    "statfs": 17,
    "release": 18,
    "fsync": 20,
    "flush": 25,
    "opendir": 27,
    "readdir": 28,
    "releasedir": 29,
    "fsyncdir": 30,
    "create": 35,
    "rename2": 45,
}
"""The operations that may hang, with their numbers in the kernel's protocol (linux/fuse.h)."""

_NAMES = {number: name for name, number in OPERATIONS.items()}
_INIT, _DESTROY = 26, 38
_UNANSWERED = {2, 36, 42}
"""FORGET, INTERRUPT, BATCH_FORGET: the kernel wants no answer."""

_ROOT = 1
_BLOCK_BYTES = 4096
_MAX_WRITE_BYTES = 128 * 1024
_BLOCKS = 1 << 22
_DETACH = 2  # MNT_DETACH


class HungMount:
    """The mount, from the side of the test that made it."""

    def __init__(self, point: Path) -> None:
        self.point = point
        self._server = subprocess.Popen(
            [sys.executable, "-m", "ioassay.testing.hung_mount", str(point)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C in the terminal is for the tests
        )
        self._answer_of_server()

    def hang(self, *operations: str) -> None:
        """From now on these are read and not answered, besides those that hang already; without any, all of them."""
        self._tell("hang", *(operations or OPERATIONS))

    def answer(self) -> None:
        """Answers what has hung, in its order, and everything that comes."""
        self._tell("answer")

    def waiting(self) -> list[str]:
        """The operations that wait for an answer now."""
        return self._tell("waiting")

    def close(self) -> None:
        """Aborts everything that waits, and detaches the mount."""
        if self._server.stdin is not None:
            self._server.stdin.close()
        self._server.wait(timeout=60)

    def _tell(self, *words: str) -> list[str]:
        stdin = cast("IO[bytes]", self._server.stdin)
        stdin.write(f"{json.dumps(words)}\n".encode())
        stdin.flush()
        return self._answer_of_server()

    def _answer_of_server(self) -> list[str]:
        line = cast("IO[bytes]", self._server.stdout).readline()
        if not line:
            raise OSError(f"there is no mount at {self.point}: it takes root and /dev/fuse")
        return cast("list[str]", json.loads(line))


@contextmanager
def hung_mount(point: Path, *operations: str) -> Iterator[HungMount]:
    """A mount at `point`, an empty directory, on which `operations` hang from the beginning; gone at the end."""
    mount = HungMount(point)
    try:
        if operations:
            mount.hang(*operations)
        yield mount
    finally:
        mount.close()


@dataclass
class _Node:
    """A file or a directory."""

    mode: int
    uid: int
    gid: int
    content: bytearray = field(default_factory=bytearray)
    children: dict[bytes, int] = field(default_factory=dict)


class _Server:
    """Answers the kernel."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._nodes = {_ROOT: _Node(stat.S_IFDIR | 0o777, 0, 0)}
        self._next = _ROOT + 1
        self._hanging: set[str] = set()
        self._held: list[bytes] = []

    def run(self, command: str, *operations: str) -> list[str]:
        """Obeys a command of the test."""
        if command == "hang":
            self._hanging |= set(operations)
        elif command == "answer":
            self._hanging.clear()
            waiting, self._held = self._held, []
            for request in waiting:
                self._answer(request)
        return [_NAMES[_opcode(request)] for request in self._held]

    def serve_one(self) -> None:
        """Reads one request, and answers it unless it is to hang."""
        try:
            request = os.read(self._device, _MAX_WRITE_BYTES + _BLOCK_BYTES)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):  # ENOENT: the caller was interrupted
                return
            raise
        if _NAMES.get(_opcode(request)) in self._hanging:
            self._held.append(request)
        else:
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        _, opcode, unique, node, uid, gid, _, _ = struct.unpack_from("<IIQQIIII", request)
        body = request[40:]
        if opcode in _UNANSWERED:
            return
        error, answer = 0, b""
        try:
            if opcode == _INIT:
                answer = struct.pack(
                    "<IIIIHHIIHHI7I", 7, 31, 1 << 20, 1 << 5, 16, 12, _MAX_WRITE_BYTES, 1, 0, 0, 0, *[0] * 7
                )
            elif opcode != _DESTROY:
                do = getattr(self, f"_{_NAMES.get(opcode, 'unknown')}")
                answer = do(node, body, (uid, gid))
        except OSError as failed:
            error = -(failed.errno or errno.EIO)
        with contextlib.suppress(FileNotFoundError):  # the caller is gone
            os.write(self._device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)

    def _unknown(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        raise OSError(errno.ENOSYS, "")

    def _attributes(self, node: int) -> bytes:
        entry = self._nodes[node]
        size = len(entry.content)
        blocks = -(-size // 512)
        links = 2 if stat.S_ISDIR(entry.mode) else 1
        owner = (entry.mode, links, entry.uid, entry.gid, 0, _BLOCK_BYTES, 0)
        return struct.pack("<6Q10I", node, size, blocks, 0, 0, 0, 0, 0, 0, *owner)

    def _entry(self, node: int) -> bytes:
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self._attributes(node)

    def _child(self, node: int, name: bytes) -> int:
        try:
            return self._nodes[node].children[name]
        except KeyError:
            raise OSError(errno.ENOENT, "") from None

    def _new(self, parent: int, name: bytes, mode: int, who: tuple[int, int]) -> int:
        if name in self._nodes[parent].children:
            raise OSError(errno.EEXIST, "")
        node, self._next = self._next, self._next + 1
        self._nodes[node] = _Node(mode, *who)
        self._nodes[parent].children[name] = node
        return node

    def _lookup(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        return self._entry(self._child(node, body.rstrip(b"\0")))

    def _getattr(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._attributes(node)

    def _setattr(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        (mode,) = struct.unpack_from("<I", body, 68)
        entry = self._nodes[node]
        if valid & 1:
            entry.mode = stat.S_IFMT(entry.mode) | stat.S_IMODE(mode)
        if valid & 8:
            _resize(entry.content, size)
        return self._getattr(node, body, who)

    def _mkdir(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        mode, umask = struct.unpack_from("<II", body)
        return self._entry(self._new(node, body[8:].rstrip(b"\0"), stat.S_IFDIR | (mode & ~umask), who))

    def _create(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        _, mode, umask, _ = struct.unpack_from("<IIII", body)
        created = self._new(node, body[16:].rstrip(b"\0"), stat.S_IFREG | (mode & ~umask & 0o7777), who)
        return self._entry(created) + self._open(created, body, who)

    def _unlink(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        self._child(node, name := body.rstrip(b"\0"))
        del self._nodes[node].children[name]  # the node stays for those that have it open
        return b""

    def _rmdir(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        if self._nodes[self._child(node, body.rstrip(b"\0"))].children:
            raise OSError(errno.ENOTEMPTY, "")
        return self._unlink(node, body, who)

    def _rename(self, node: int, body: bytes, who: tuple[int, int], names_at: int = 8) -> bytes:
        (to,) = struct.unpack_from("<Q", body)
        old, new = body[names_at:].rstrip(b"\0").split(b"\0")
        self._nodes[to].children[new] = self._child(node, old)
        if (to, new) != (node, old):
            del self._nodes[node].children[old]
        return b""

    def _rename2(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        return self._rename(node, body, who, names_at=16)

    def _open(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    _opendir = _open

    def _read(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(self._nodes[node].content[offset : offset + size])

    def _write(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        content = self._nodes[node].content
        _resize(content, max(len(content), offset + size))
        content[offset : offset + size] = body[40 : 40 + size]
        return struct.pack("<II", size, 0)

    def _readdir(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        entries = [(b".", node), (b"..", _ROOT), *self._nodes[node].children.items()]
        answer = b""
        for number, (name, child) in enumerate(entries[offset:], start=offset + 1):
            kind = stat.S_IFMT(self._nodes[child].mode) >> 12
            entry = struct.pack("<QQII", child, number, len(name), kind) + name
            entry += b"\0" * (-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer

    def _statfs(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        room = (_BLOCKS, _BLOCKS, _BLOCKS, 1 << 20, 1 << 20)
        return struct.pack("<5Q10I", *room, _BLOCK_BYTES, 255, _BLOCK_BYTES, *[0] * 7)

    def _nothing(self, node: int, body: bytes, who: tuple[int, int]) -> bytes:
        return b""

    _release = _releasedir = _fsync = _fsyncdir = _flush = _nothing


def _opcode(request: bytes) -> int:
    return cast("int", struct.unpack_from("<I", request, 4)[0])


def _resize(content: bytearray, size: int) -> None:
    content.extend(b"\0" * (size - len(content)))
    del content[size:]


def _main(point: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(SOURCE.encode(), point.encode(), FILE_SYSTEM.encode(), 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), point)
    try:
        _serve(_Server(device), device)
    finally:
        # Nobody is left to answer, so all that waits fails.
        os.close(device)
        libc.umount2(point.encode(), _DETACH)


def _serve(server: _Server, device: int) -> None:
    def say(answer: Any) -> None:
        os.write(1, f"{json.dumps(answer)}\n".encode())

    commands = os.fdopen(0, "rb", buffering=0)
    with selectors.DefaultSelector() as ready:
        ready.register(device, selectors.EVENT_READ)
        ready.register(commands, selectors.EVENT_READ)
        say([])
        while True:
            for key, _ in ready.select():
                if key.fileobj == device:
                    server.serve_one()
                elif line := commands.readline():
                    say(server.run(*json.loads(line)))
                else:
                    return


if __name__ == "__main__":
    _main(sys.argv[1])

"""Other people's files around what is attacked, and whether any of them was changed.

The names are those that front ends use themselves, and the contents those that are easily taken for theirs.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from pathlib import Path

BESIDE = "beside"
"""A directory that no command names."""

NAMED = "named"
"""A directory whose entries commands name."""

CONTENTS = {
    "ascending": b"".join(struct.pack("<Q", word) for word in range(8192)),
    "constant": struct.pack("<d", 1.5) * 8192,
    "white": b"\xff" * 65536,
    "spaces": b" " * 65536,
    "zeros": bytes(65536),
    "words": b"what other people wrote\n" * 100,
    "short": b"x",
}
_LIKE_OURS = (
    "testfile.00000000",
    "testfile.00000001",
    "iozone.DUMMY.0",
    ".ioassay-workspace",
    "ioassay-20260101-000000-tiny-0000",
)


def plant(place: Path) -> None:
    """Puts other people's files into the directory of an attempt."""
    beside, named = place / BESIDE, place / NAMED
    for directory in (beside, named, beside / "deep/deeper", named / "tree/test-dir.0-0/mdtest_tree.0"):
        directory.mkdir(parents=True)
    for name, content in CONTENTS.items():
        (beside / name).write_bytes(content)
        (named / name).write_bytes(content)
    for name in _LIKE_OURS:
        (named / name).write_bytes(CONTENTS["ascending"])
    (named / "tree/test-dir.0-0/mdtest_tree.0/report.txt").write_bytes(CONTENTS["words"])
    (beside / "deep/deeper/file").write_bytes(CONTENTS["words"])
    (named / "link").symlink_to(beside / "words")
    (named / "directory-link").symlink_to(beside / "deep")
    os.link(beside / "short", named / "hard-link")
    os.mkfifo(named / "fifo")
    for directory in (beside, named):
        for path in (directory, *directory.rglob("*")):
            os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)


def snapshot(*directories: Path) -> dict[str, tuple[object, ...]]:
    """The entries of the directories: type, inode, owner, time of change and content of each."""
    entries = {}
    for directory in directories:
        for path in (directory, *directory.rglob("*")):
            entries[str(path)] = _entry(path)
    return entries


def not_named(entries: dict[str, tuple[object, ...]], place: Path) -> dict[str, tuple[object, ...]]:
    """A snapshot without the entries that commands name, and without other names of the same files."""
    named = {path: entry for path, entry in entries.items() if Path(path).is_relative_to(place / NAMED)}
    return {path: entry for path, entry in entries.items() if path not in named and entry not in named.values()}


def _entry(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content: object = None
    if stat.S_ISREG(status.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    # Commands may create files in a directory, which changes its time: only its existence is compared.
    changed = None if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
    return status.st_mode, status.st_ino, status.st_uid, changed, content


def changes(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    """The entries that changed or disappeared."""
    return sorted(path for path, entry in before.items() if after.get(path) != entry)

"""Parameters of Lustre, by the names of `lctl get_param`, from wherever the version in use keeps them.

Sources: the Lustre manual, chapters "Managing Lustre File System Tuning" and "Lustre Parameters".
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping

from ioassay.tuning.snapshot import Snapshot

_PLACES = ("sys/fs/lustre", "sys/kernel/debug/lustre", "proc/fs/lustre")
_MOST_LEVELS = 5


def parameters(snapshot: Snapshot) -> Mapping[str, str]:
    """Every parameter with its text: `ost.OSS.ost_io.threads_max`. What cannot be read is left out."""
    found: dict[str, str] = {}
    for place in _PLACES:
        for name, path in _files(snapshot, place, "", _MOST_LEVELS):
            content = snapshot.files.get(snapshot.resolve(path))
            if content is not None:
                found.setdefault(name, content.decode(errors="replace").strip())
    return found


def _files(snapshot: Snapshot, directory: str, name: str, levels: int) -> Iterator[tuple[str, str]]:
    for entry in snapshot.names(directory):
        path, inner = f"{directory}/{entry}", f"{name}.{entry}" if name else entry
        below = snapshot.names(path)
        if below and levels:
            yield from _files(snapshot, path, inner, levels - 1)
        elif not below:
            yield inner, path


def matching(known: Mapping[str, str], pattern: str) -> dict[str, str]:
    """The parameters whose names match a pattern of `lctl`: `osc.*.max_dirty_mb`."""
    return {name: text for name, text in known.items() if fnmatch.fnmatchcase(name, pattern)}

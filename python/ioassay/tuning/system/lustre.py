"""Parameters of Lustre, by the names of `lctl get_param`, from wherever the version in use keeps them.

Sources: the Lustre manual, chapters "Managing Lustre File System Tuning" and "Lustre Parameters"; for histograms
`lprocfs_oh_tally_log2` of its source: a bucket of sizes holds what is larger than half of its number, up to its number.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ioassay.tuning.snapshot import Snapshot, Unreadable

PLACES = ("sys/fs/lustre", "sys/kernel/debug/lustre", "proc/fs/lustre")
"""Where versions of Lustre keep parameters."""
_MOST_LEVELS = 5
_OF_SERVERS = ("ost.", "mds.", "mdt.", "mgs.", "obdfilter.", "osd-")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_BUCKET = re.compile(r"\s*(\d{1,15})([KMG]?):\s+(\d{1,18})(?:\s+\d+){2}\s+\|\s+(\d{1,18})(?:\s+\d+){2}\s*$")
_TITLE = re.compile(r"([A-Za-z].*?)\s+(?:rpcs|ios|count)\s+% cum %")

Pair = tuple[int, int]
"""The counts of reads and of writes."""
Histogram = Mapping[int, Pair]
"""By the number of a bucket, how many reads and writes."""


@dataclass(frozen=True)
class Bucket:
    """A row of a histogram: how many reads and writes were of a size, or took so many parts."""

    value: int
    reads: int
    writes: int


def parameters(snapshot: Snapshot) -> Mapping[str, str]:
    """Every parameter with its text: `ost.OSS.ost_io.threads_max`. What cannot be read is left out."""
    parameters: dict[str, str] = {}
    for name, path in _all_files(snapshot):
        content = snapshot.files.get(snapshot.resolve(path))
        if content is not None:
            parameters.setdefault(name, content.decode(errors="replace").strip())
    return parameters


def unreadable(snapshot: Snapshot) -> Mapping[str, Unreadable]:
    """The parameters that exist and could not be read."""
    reasons = snapshot.unreadable
    failures: dict[str, Unreadable] = {}
    if reasons:
        for name, path in _all_files(snapshot):
            if (reason := reasons.get(snapshot.resolve(path))) is not None:
                failures.setdefault(name, Unreadable(f"/{path}", reason))
    return failures


def _all_files(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for place in PLACES:
        yield from _files(snapshot, place, "", _MOST_LEVELS)


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


def is_server(known: Mapping[str, str]) -> bool:
    """Whether the node serves targets of Lustre."""
    return any(name.startswith(_OF_SERVERS) for name in known)


def file_system(name: str) -> str:
    """The file system that a parameter's instance belongs to: `scratch` of `osc.scratch-OST0000-osc-ffff.checksums`."""
    instance = name.split(".")[1] if "." in name else name
    match = re.match(r"(.+?)-(?:OST|MDT)[0-9a-f]{4}\b|(.+)-[0-9a-f]{8,}$", instance)
    return next(part for part in match.groups() if part) if match else instance


def histograms(text: str) -> dict[str, Histogram]:
    """The histograms of `rpc_stats` or `brw_stats` by their titles, those of reads and writes alone."""
    histograms: dict[str, dict[int, Pair]] = {}
    into: dict[int, Pair] | None = None
    for line in text.splitlines():
        if row := _BUCKET.match(line):
            if into is not None:
                into[int(row[1]) * _SCALE[row[2]]] = int(row[3]), int(row[4])
        else:
            title = _TITLE.match(line)
            into = histograms.setdefault(title[1], {}) if title and "|" in line else None
    return dict(histograms)


def histogram(text: str, title: str) -> list[Bucket]:
    """The rows of one of them; none where nothing was counted."""
    return [Bucket(value, *counted) for value, counted in histograms(text).get(title, {}).items()]

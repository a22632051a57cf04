"""The programs that ran, and those that work on whole trees of files of any kind.

The tree slows `cp -r` or `rm -r` down, not the program: users cannot make it keep files open. Findings have other
remedies for these.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Literal

import polars as pl

from ioassay.analysis.profile.totals import SPENT
from ioassay.profiles.model import Profile

FileTool = Literal["copy", "archive", "remove", "list", "search", "version control"]
"""Programs for trees of files with a common remedy."""

_FILE_TOOLS: Mapping[FileTool, re.Pattern[str]] = {
    "copy": re.compile(r"cp|mv|rsync|scp|install|rclone"),
    "archive": re.compile(r"(bsd|gnu)?tar|cpio|(un)?zip|7z[ar]?|mksquashfs|unsquashfs"),
    "remove": re.compile(r"rm|rmdir"),
    "list": re.compile(r"ls|v?dir|find|fd|du|tree|stat|file|updatedb|chmod|chown|chgrp|touch"),
    "search": re.compile(r"[ef]?grep|rg|cat|head|tail|wc|cmp|diff|(md5|sha\d+|b2)sum|cksum"),
    "version control": re.compile(r"git(-.+)?|hg|svn"),
}

_STREAM_TOOLS = re.compile(r"ln|mkdir|truncate|sed|[gm]?awk|sort|gzip|gunzip|zcat|pigz|zstd|xz|bzip2|dd|ior|mdtest|fio")

_NEARLY_ALL = 0.9
"""The least share of the time in I/O that programs of a kind must take."""

REMEDIES: Mapping[FileTool, str] = {
    "copy": "Pack the tree into one file and copy that (tar, squashfs), or copy parts of it at the same time (dcp of "
    "mpiFileUtils, fpsync).",
    "archive": "Keep the tree as this one file: read from it where it lies (squashfs, ratarmount), or unpack it on a "
    "node-local disk; pack and unpack parts at the same time (dtar of mpiFileUtils).",
    "remove": "Remove parts of the tree at the same time (drm of mpiFileUtils, find with xargs -P), or keep such trees "
    "as one packed file (tar, squashfs).",
    "list": "Ask the file system's own catalogue instead of walking the tree (lfs find, mmapplypolicy, Robinhood, "
    "quotas), list names alone (ls without -l, find without tests of size and time), or walk parts of the tree at the "
    "same time (dwalk of mpiFileUtils).",
    "search": "Pack the tree into one file (tar, squashfs) and work on that, or copy that to a node-local disk; or "
    "work on parts of the tree at the same time (xargs -P).",
    "version control": "Keep the work tree on a node-local disk, or have fewer files in it (git clone --depth 1, git "
    "sparse-checkout, git gc); let git remember what it saw (core.untrackedCache, core.fsmonitor).",
}
"""Remedies for users of such programs, who cannot change them."""


def program_names(profile: Profile) -> pl.DataFrame:
    """The name of the program that each process ran: process, program."""
    rows = profile.processes.select("process", "executable", "command").iter_rows()
    names = [(process, _name(executable, command)) for process, executable, command in rows]
    return pl.DataFrame(names, schema={"process": pl.Int64, "program": pl.String}, orient="row")


def _name(executable: str | None, command: str | None) -> str:
    first = (command or "").split(maxsplit=1)
    return posixpath.basename(executable or (first[0] if first else ""))


def is_for_any_file(program: str) -> bool:
    """True for programs to which any file is data, even libraries. Version control runs programs, like a shell."""
    if _STREAM_TOOLS.fullmatch(program):
        return True
    return any(pattern.fullmatch(program) for tool, pattern in _FILE_TOOLS.items() if tool != "version control")


def file_tool(profile: Profile, files: pl.Series | None = None) -> FileTool | None:
    """The kind of programs that spent nearly all time in I/O (with `files`: in transfers on these files). `None`: other
    programs, or several kinds.
    """
    names = program_names(profile)
    if files is None:
        rows, spent = profile.processes, list(SPENT.values())
    else:
        rows = profile.file_processes.filter(pl.col("file").is_in(files.implode()))
        spent = ["read_ns", "write_ns"]
    # Every row counts 1 ns, so programs are known even if times are not.
    times = (
        rows.join(names, on="process")
        .group_by("program")
        .agg(spent=pl.sum_horizontal(pl.col(name).fill_null(0).sum() for name in spent) + pl.len())
    )
    every = int(times["spent"].sum())
    for tool, pattern in _FILE_TOOLS.items():
        matching_ns = sum(ns for program, ns in times.iter_rows() if pattern.fullmatch(program))
        if matching_ns > _NEARLY_ALL * every:
            return tool
    return None

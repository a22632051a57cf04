"""Which files make a submission, and what it is called.

A submission lies in the directory that has its `result_summary.txt` or `result.txt`; below and above it people keep job
scripts, configurations and whatever else. Only files that are called as results are opened.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ioassay.importers import transcript
from ioassay.importers.gather import Files
from ioassay.importers.io500 import cases, described, result_ini, summary
from ioassay.importers.io500.described import Description
from ioassay.importers.io500.summary import PHASES
from ioassay.importers.source import Refused, below
from ioassay.importers.stored import Gathered

SUMMARY, RESULT = "result_summary.txt", "result.txt"

_TITLE = "IO500"
_APPLE_DOUBLE = "._"
_WITHOUT_NAME = re.compile(r"results?|\d{4}\.\d\d\.\d\d-\d\d\.\d\d\.\d\d.*|\.|")
"""Directories that every submission has: they do not tell one from another."""

_COLLECTED = re.compile(r"(?:^|/)([^/]+)/([^/]+)/[^/]+/\d{4}/(submission-\d+)(?:/|$)")
"""Where a submission lies in the collection of them all (IO500/submission-data): institution, system, file system,
year, number."""


def gather(paths: Sequence[Path]) -> Iterator[Gathered]:
    """A run for each submission at or below `paths`; at the end one without cases, if files belong to none."""
    directories: defaultdict[Path, set[Path]] = defaultdict(set)
    stray = Files(paths)
    for path in below(paths):
        if path.name in (SUMMARY, RESULT) or path in paths:
            directories[path.parent].add(path)
        elif path.name.startswith(_APPLE_DOUBLE) and _is_result(path.name.removeprefix(_APPLE_DOUBLE)):
            stray.open(path)
    taken: Counter[str] = Counter()
    for directory in sorted(directories):
        # Of a file that was named itself, nothing beside it was meant.
        found = _submission(directory, paths, alone=sorted(path for path in directories[directory] if path in paths))
        taken[found.name] += 1
        times = taken[found.name]
        yield replace(found, name=f"{found.name}-{times}") if times > 1 else found
    if not directories and not stray.refused:
        for path in paths:
            stray.refuse(path, Refused(f"has neither {SUMMARY} nor {RESULT}"))
    if stray.refused:
        yield Gathered(tool="io500", title=_TITLE, name="", cases=[], files=[], refused=stray.refused)


def _is_result(name: str) -> bool:
    """True if a file of this name would be read."""
    return name in (SUMMARY, RESULT) or name.rpartition(".")[0].replace("_", "-") in PHASES


def _name(directory: Path, institution: str | None, system: str | None) -> str:
    """Institution and system, as the submission describes itself or as its place in the collection says; of any other
    the last directory that tells it from others.
    """
    place = directory.resolve()
    collected = _COLLECTED.search(place.as_posix())
    if collected:
        institution, system = institution or collected[1], system or collected[2]
    parts = [part for part in (institution, system, collected and collected[3]) if part]
    if not parts:
        parts = [part for part in place.parts if not _WITHOUT_NAME.fullmatch(part)][-1:]
    words = (re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip("-") for part in parts)
    return "-".join(word for word in words if word) or "submission"


def _submission(directory: Path, typed: Sequence[Path], alone: Sequence[Path]) -> Gathered:
    """What one directory tells. A file of it that is refused leaves the others."""
    files = Files(typed)
    found = cases.Parsed()
    for path in alone or (directory / SUMMARY, directory / RESULT):
        if not path.exists() or (source := files.open(path)) is None:
            continue
        try:
            if path.name == RESULT or "[SCORE]\n" in source.text.replace("\r\n", "\n"):
                found.sections = transcript.read(source, result_ini.read)
                found.sections_in = path
            else:
                found.summary = transcript.read(source, summary.read)
                found.summary_in = path
        except Refused as error:
            files.refuse(path, error)
    description = Description()
    if not alone and not found.is_empty:
        cases.read_phases(directory, files, found)
        description = described.read(directory, files)
        found.description = description
    return Gathered(
        tool="io500",
        title=_TITLE,
        name=_name(directory, description.institution, description.system),
        cases=[] if found.is_empty else [cases.case(found)],
        files=list(files.read.values()),
        refused=files.refused,
        printed=cases.printed(found),
    )

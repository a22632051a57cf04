"""Finds the files of each submission, and names it.

A submission lies in the directory that has its `result_summary.txt` or `result.txt`; below and above it people keep job
scripts, configurations and other files. Only files with the name of a result are opened.
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
"""Directories that every submission has: they do not distinguish submissions."""

_COLLECTED = re.compile(r"(?:^|/)([^/]+)/([^/]+)/[^/]+/\d{4}/(submission-\d+)(?:/|$)")
"""The path of a submission in the collection IO500/submission-data: institution, system, file system,
year, number."""


def gather(paths: Sequence[Path]) -> Iterator[Gathered]:
    """A run for each submission at or below `paths`; then one without cases if files belong to no submission."""
    directories: defaultdict[Path, set[Path]] = defaultdict(set)
    stray = Files(paths)
    for path in below(paths):
        if path.name in (SUMMARY, RESULT) or path in paths:
            directories[path.parent].add(path)
        elif path.name.startswith(_APPLE_DOUBLE) and _is_result(path.name.removeprefix(_APPLE_DOUBLE)):
            stray.open(path)
    name_counts: Counter[str] = Counter()
    for directory in sorted(directories):
        # A file that was named itself is read alone, without the files beside it.
        submission = _submission(
            directory, paths, alone=sorted(path for path in directories[directory] if path in paths)
        )
        name_counts[submission.name] += 1
        count = name_counts[submission.name]
        yield replace(submission, name=f"{submission.name}-{count}") if count > 1 else submission
    if not directories and not stray.refused:
        for path in paths:
            stray.refuse(path, Refused(f"has neither {SUMMARY} nor {RESULT}"))
    if stray.refused:
        yield Gathered(tool="io500", title=_TITLE, name="", cases=[], files=[], refused=stray.refused)


def _is_result(name: str) -> bool:
    """True if a file with this name would be read."""
    return name in (SUMMARY, RESULT) or name.rpartition(".")[0].replace("_", "-") in PHASES


def _name(directory: Path, institution: str | None, system: str | None) -> str:
    """Institution and system, from the submission's description or its path in the collection; otherwise the last
    directory that distinguishes it.
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
    """The submission in one directory. A refused file does not affect the others."""
    files = Files(typed)
    parsed = cases.Parsed()
    for path in alone or (directory / SUMMARY, directory / RESULT):
        if not path.exists() or (source := files.open(path)) is None:
            continue
        try:
            if path.name == RESULT or "[SCORE]\n" in source.text.replace("\r\n", "\n"):
                parsed.sections = transcript.read(source, result_ini.read)
                parsed.sections_in = path
            else:
                parsed.summary = transcript.read(source, summary.read)
                parsed.summary_in = path
        except Refused as error:
            files.refuse(path, error)
    description = Description()
    if not alone and not parsed.is_empty:
        cases.read_phases(directory, files, parsed)
        description = described.read(directory, files)
        parsed.description = description
    return Gathered(
        tool="io500",
        title=_TITLE,
        name=_name(directory, description.institution, description.system),
        cases=[] if parsed.is_empty else [cases.case(parsed)],
        files=list(files.read.values()),
        refused=files.refused,
        printed=cases.printed(parsed),
    )

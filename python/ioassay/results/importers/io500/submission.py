"""Which files make a submission, and what it is called.

A submission lies in the directory that has its `result_summary.txt` or `result.txt`; below and above it people keep job
scripts, configurations and whatever else. Only files that are called as results are opened.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from ioassay.results.importers.gather import Files
from ioassay.results.importers.io500 import cases, described, result_ini, summary
from ioassay.results.importers.io500.summary import PHASES
from ioassay.results.importers.source import Refused, below
from ioassay.results.importers.stored import Gathered

SUMMARY, RESULT = "result_summary.txt", "result.txt"

_TITLE = "IO500"
_APPLE_DOUBLE = "._"
_WITHOUT_NAME = re.compile(r"results?|\d{4}\.\d\d\.\d\d-\d\d\.\d\d\.\d\d.*|\.|")
"""Directories that every submission has: they do not tell one from another."""


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
        name = _name(directory)
        taken[name] += 1
        yield _submission(
            directory,
            paths,
            f"{name}-{taken[name]}" if taken[name] > 1 else name,
            # Of a file that was named itself, nothing beside it was meant.
            alone=sorted(path for path in directories[directory] if path in paths),
        )
    if not directories and not stray.refused:
        for path in paths:
            stray.refuse(path, Refused(f"has neither {SUMMARY} nor {RESULT}"))
    if stray.refused:
        yield Gathered(tool="io500", title=_TITLE, name="", cases=[], files=[], refused=stray.refused)


def _is_result(name: str) -> bool:
    """True if a file of this name would be read."""
    return name in (SUMMARY, RESULT) or name.rpartition(".")[0].replace("_", "-") in PHASES


def _name(directory: Path) -> str:
    parts = [part for part in directory.resolve().parts if not _WITHOUT_NAME.fullmatch(part)]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", parts[-1]).strip("-") if parts else "submission"


def _submission(directory: Path, typed: Sequence[Path], name: str, alone: Sequence[Path]) -> Gathered:
    """What one directory tells. A file of it that is refused leaves the others."""
    files = Files(typed)
    found = cases.Told()
    for path in alone or (directory / SUMMARY, directory / RESULT):
        if not path.exists() or (source := files.open(path)) is None:
            continue
        try:
            if path.name == RESULT or "\n[SCORE]\n" in source.text:
                found.sections = result_ini.read(source)
                found.sections_in = path
            else:
                found.summary = summary.read(source)
                found.summary_in = path
        except Refused as error:
            files.refuse(path, error)
    if not alone and not found.is_empty:
        cases.read_phases(directory, files, found)
        found.facts = described.facts(directory, files)
    return Gathered(
        tool="io500",
        title=_TITLE,
        name=name,
        cases=[] if found.is_empty else [cases.case(found)],
        files=list(files.read.values()),
        refused=files.refused,
        printed=cases.printed(found),
    )

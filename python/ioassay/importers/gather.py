"""Reads all files that were named, and keeps going where one is refused.

Not: which forms a tool has (its module), what becomes of the cases (`stored`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ioassay.importers import transcript
from ioassay.importers.model import Beside, Case
from ioassay.importers.source import Refused, Source, below
from ioassay.importers.stored import Gathered
from ioassay.store.origin import ImportedFile, RefusedFile

Reader = Callable[[Source, Beside], list[Case]]
"""Reads the cases of a file. Raises `Refused`."""


class Files:
    """The files of one run: what was read of each, and of those that are refused the reason. Not their text: a tree of
    results may be larger than memory.

    `typed` are the files and directories that the user named.
    """

    def __init__(self, typed: Sequence[Path]) -> None:
        self._typed = typed
        self.read: dict[Path, ImportedFile] = {}
        self._refused: dict[Path, RefusedFile] = {}

    @property
    def refused(self) -> list[RefusedFile]:
        """What cannot be imported."""
        return list(self._refused.values())

    def open(self, path: Path) -> Source | None:
        """The file's text, `None` where it is refused."""
        try:
            source = Source.read(path, self._directory(path))
        except (Refused, OSError) as error:
            self.refuse(path, error)
            return None
        self.read[path] = ImportedFile(path=str(path), sha256=source.sha256, bytes=source.bytes)
        return source

    def _directory(self, path: Path) -> Path | None:
        """The directory that was typed and holds `path`, or the one of a file that lies beside or above what was typed;
        `None` for what was typed itself.
        """
        if path in self._typed:
            return None
        around = [typed for typed in self._typed if path.is_relative_to(typed)]
        return max(around, key=lambda typed: len(typed.parts), default=path.parent)

    def refuse(self, path: Path, error: Refused | OSError) -> None:
        """Keeps why a file cannot be imported, unless that is known."""
        self.read.pop(path, None)
        told = (error.line, error.reason) if isinstance(error, Refused) else (None, error.strerror or str(error))
        self._refused.setdefault(path, RefusedFile(path=str(path), line=told[0], reason=told[1]))


def one_run(tool: str, title: str, read: Reader, paths: Sequence[Path]) -> Iterator[Gathered]:
    """All files at and below `paths` as one run."""
    files = Files(paths)
    cases: dict[Path, list[Case]] = {}
    belong: set[Path] = set()
    by_content: dict[str, Path] = {}
    found = list(below(paths))
    # Tables that another file names come last, and are read with it alone.
    for path in sorted(found, key=lambda path: path.suffix == ".csv"):
        if path in belong:
            continue
        source = files.open(path)
        if source is None:
            continue
        if (same := by_content.get(source.sha256)) is not None:
            files.refuse(path, Refused(f"is a copy of {same}: repetitions would be counted twice"))
            continue

        def beside(name: str, at: Path = path) -> Source | None:
            other = at.parent / name
            if not other.is_file() or (found := files.open(other)) is None:
                return None
            belong.add(other)
            return found

        try:
            cases[path] = read_cases(read, source, beside)
            by_content[source.sha256] = path
        except Refused as error:
            files.refuse(path, error)
    yield Gathered(
        tool=tool,
        title=title,
        name=run_name(tool, [path for path in paths if any(own.is_relative_to(path) for own in cases)] or paths),
        # What belongs to another file is told there.
        cases=[case for path in found if path not in belong for case in cases.get(path, ())],
        files=list(files.read.values()),
        refused=files.refused,
    )


def read_cases(read: Reader, source: Source, beside: Beside) -> list[Case]:
    """The cases of a file whose lines may have a launcher's or a log's prefix, or be wrapped. Raises `Refused`."""
    return transcript.read(source, lambda lines: read(lines, beside), _measurements, _renumbered)


def _measurements(cases: Sequence[Case]) -> int:
    return sum(len(case.measured) for case in cases)


def _renumbered(cases: list[Case], path: Path, numbers: Sequence[int]) -> list[Case]:
    """The cases, the lines of what was measured in the file at `path` as `numbers` has them."""
    return [
        replace(
            case,
            measured=[replace(one, line=numbers[one.line - 1]) if one.file == path else one for one in case.measured],
        )
        for case in cases
    ]


def run_name(tool: str, paths: Sequence[Path]) -> str:
    """The name of a run of results: the tool and the first of `paths`."""
    first = paths[0].resolve().name if paths else ""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{tool}-{first}").strip("-") or tool

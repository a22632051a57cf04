"""Reads all named files, and continues when one is refused.

Not: the formats of a tool (its module), making runs of cases (`stored`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ioassay.importers import transcript
from ioassay.importers.model import Case, OpenSibling
from ioassay.importers.source import Refused, Source, below
from ioassay.importers.stored import Gathered
from ioassay.store.origin import ImportedFile, RefusedFile

Reader = Callable[[Source, OpenSibling], list[Case]]
"""Reads the cases of a file. Raises `Refused`."""


class Files:
    """The files of one run: those that were read, and those refused, with the reason. Not their text: a tree of
    results may be larger than memory.

    `typed` are the files and directories that the user named.
    """

    def __init__(self, typed: Sequence[Path]) -> None:
        self._typed = typed
        self.read: dict[Path, ImportedFile] = {}
        self._refused: dict[Path, RefusedFile] = {}

    @property
    def refused(self) -> list[RefusedFile]:
        return list(self._refused.values())

    def open(self, path: Path) -> Source | None:
        """The file's text; `None` if it is refused."""
        try:
            source = Source.read(path, self._directory(path))
        except (Refused, OSError) as error:
            self.refuse(path, error)
            return None
        self.read[path] = ImportedFile(path=str(path), sha256=source.sha256, bytes=source.bytes)
        return source

    def _directory(self, path: Path) -> Path | None:
        """The typed directory that holds `path`, or the parent of a file beside or above what was typed; `None` for a
        path that was typed itself.
        """
        if path in self._typed:
            return None
        around = [typed for typed in self._typed if path.is_relative_to(typed)]
        return max(around, key=lambda typed: len(typed.parts), default=path.parent)

    def refuse(self, path: Path, error: Refused | OSError) -> None:
        """Records why a file cannot be imported, unless a reason is recorded already."""
        self.read.pop(path, None)
        line_and_reason = (
            (error.line, error.reason) if isinstance(error, Refused) else (None, error.strerror or str(error))
        )
        self._refused.setdefault(path, RefusedFile(path=str(path), line=line_and_reason[0], reason=line_and_reason[1]))


def one_run(tool: str, title: str, read: Reader, paths: Sequence[Path]) -> Iterator[Gathered]:
    """All files at and below `paths` as one run."""
    files = Files(paths)
    cases: dict[Path, list[Case]] = {}
    sibling_paths: set[Path] = set()
    by_content: dict[str, Path] = {}
    paths_found = list(below(paths))
    # Tables that another file names come last, and are read with it alone.
    for path in sorted(paths_found, key=lambda path: path.suffix == ".csv"):
        if path in sibling_paths:
            continue
        source = files.open(path)
        if source is None:
            continue
        if (same := by_content.get(source.sha256)) is not None:
            files.refuse(path, Refused(f"is a copy of {same}: repetitions would be counted twice"))
            continue

        def open_sibling(name: str, read_path: Path = path) -> Source | None:
            sibling_path = read_path.parent / name
            if not sibling_path.is_file() or (paths_found := files.open(sibling_path)) is None:
                return None
            sibling_paths.add(sibling_path)
            return paths_found

        try:
            cases[path] = read_cases(read, source, open_sibling)
            by_content[source.sha256] = path
        except Refused as error:
            files.refuse(path, error)
    yield Gathered(
        tool=tool,
        title=title,
        name=run_name(
            tool, [path for path in paths if any(path_read.is_relative_to(path) for path_read in cases)] or paths
        ),
        # Cases of a sibling file are among those of the file that names it.
        cases=[case for path in paths_found if path not in sibling_paths for case in cases.get(path, ())],
        files=list(files.read.values()),
        refused=files.refused,
    )


def read_cases(read: Reader, source: Source, open_sibling: OpenSibling) -> list[Case]:
    """The cases of a file whose lines may be wrapped or have a prefix of a launcher or log. Raises `Refused`."""
    return transcript.read(source, lambda lines: read(lines, open_sibling), _measurements, _renumbered)


def _measurements(cases: Sequence[Case]) -> int:
    return sum(len(case.measured) for case in cases)


def _renumbered(cases: list[Case], path: Path, numbers: Sequence[int]) -> list[Case]:
    """The cases; lines of measurements from the file at `path` are mapped by `numbers`."""
    return [
        replace(
            case,
            measured=[
                replace(measured, line=numbers[measured.line - 1]) if measured.file == path else measured
                for measured in case.measured
            ],
        )
        for case in cases
    ]


def run_name(tool: str, paths: Sequence[Path]) -> str:
    """The name of an imported run: the tool and the first of `paths`."""
    first = paths[0].resolve().name if paths else ""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{tool}-{first}").strip("-") or tool

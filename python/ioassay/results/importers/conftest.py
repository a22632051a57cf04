"""What the tests of importers share: the files that tools of several versions printed, and cut copies of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

import ioassay.testing
from ioassay.results.importers.model import Beside, Case
from ioassay.results.importers.source import Refused, Source

FILES = Path(ioassay.testing.__file__).parent / "imports"

Numbers = list[tuple[int, str, str, float | None, float | None, int | None]]
"""Of each measurement its line, phase, operation, rates and bytes."""


@pytest.fixture
def printed() -> Callable[[str], Source]:
    """Reads a file below `testing/imports` by its path there."""
    return lambda name: Source.read(FILES / name)


def beside_of(source: Source) -> Beside:
    """Gives the files that lie beside one."""

    def beside(name: str) -> Source | None:
        path = source.path.parent / name
        return Source.read(path) if path.is_file() else None

    return beside


def numbers(cases: list[Case]) -> Numbers:
    """What an importer took for results."""
    return [
        (one.line, one.phase, one.operation, one.rate_bytes_per_s, one.rate_operations_per_s, one.bytes)
        for case in cases
        for one in case.measured
    ]


def changed(source: Source, text: str) -> Source:
    """The file with another text."""
    return Source(source.path, text, hashlib.sha256(text.encode()).hexdigest(), len(text))


def read_or_refused(read: Callable[[Source, Beside], list[Case]], source: Source) -> Numbers | None:
    """The numbers, `None` where the file is refused. Any other exception is a failure."""
    try:
        return numbers(read(source, lambda _: None))
    except Refused:
        return None

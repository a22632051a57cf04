"""Results of other tools for the tests of their importers: samples, and ways to damage them.

The samples below `imports` were printed by the tools themselves on a small machine, called `node001` in them. What no
importer reads was taken out of the large ones. They show formats, not performance.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hypothesis import strategies as st

from ioassay.importers.gather import Reader
from ioassay.importers.model import Case, Measurement, OpenSibling
from ioassay.importers.source import Refused, Source

FILES = Path(__file__).parent / "imports"
"""The output of the tools, by tool."""
_WORD = re.compile(r"[^\s,]*[\s,]?")


def sample(name: str) -> str:
    """The text of a sample."""
    return (FILES / name).read_text(encoding="utf-8")


def samples(tool: str) -> list[str]:
    """The texts of all samples of a tool."""
    return [path.read_text(encoding="utf-8") for path in sorted((FILES / tool).iterdir())]


def source(text: str) -> Source:
    """A file with this text."""
    content = text.encode()
    return Source(Path("out.txt"), text, hashlib.sha256(content).hexdigest(), len(content))


def cases(read: Reader, text: str) -> list[Case]:
    """The results that a reader parses from a text."""
    return read(source(text), lambda _: None)


def measured(read: Reader, text: str) -> list[Measurement]:
    """The measurements of all cases."""
    return [measurement for case in cases(read, text) for measurement in case.measured]


def refused(read: Reader, text: str) -> Refused:
    """Why a text is refused. Raises `AssertionError` if it is not."""
    try:
        imported = cases(read, text)
    except Refused as error:
        return error
    raise AssertionError(f"it was imported: {imported}")


@st.composite
def damages(draw: st.DrawFn, texts: Sequence[str]) -> tuple[str, str]:
    """A text, and what is left of it: cut off at any place, or with a line or a word of it missing or doubled."""
    original = draw(st.sampled_from(texts))
    if draw(st.booleans()):
        return original, original[: draw(st.integers(0, len(original) - 1))]
    parts = list(_parts(original, draw(st.booleans())))
    position = draw(st.integers(0, len(parts) - 1))
    parts[position] *= draw(st.sampled_from([0, 2]))
    return original, "".join(parts)


def _parts(text: str, by_word: bool) -> Iterable[str]:
    return [part for part in _WORD.findall(text) if part] if by_word else text.splitlines(keepends=True)


def assert_same_or_refused(read: Reader, original: str, damaged: str) -> None:
    """Whatever a reader still takes from a damaged text says the same as the whole."""
    try:
        measurements = measured(read, damaged)
    except Refused:
        return
    original_measurements = measured(read, original)
    for measurement in measurements:
        assert any(_agrees(measurement, other) for other in original_measurements), (
            f"{measurement} is not in the whole text"
        )


def _agrees(measurement: Measurement, other: Measurement) -> bool:
    same = (measurement.phase, measurement.operation) == (other.phase, other.operation)
    return same and all(
        a is None or (b is not None and math.isclose(a, b, rel_tol=1e-6)) for a, b in _numbers(measurement, other)
    )


def _numbers(measurement: Measurement, other: Measurement) -> Iterator[tuple[float | None, float | None]]:
    for name in ("bytes", "operations", "duration_ns", "rate_bytes_per_s", "rate_operations_per_s"):
        number, other_number = getattr(measurement, name), getattr(other, name)
        if number is not None and other_number is None and name == "rate_operations_per_s":
            other_number = other.operations and other.duration_ns and other.operations * 1e9 / other.duration_ns
        yield number, other_number


Numbers = list[tuple[int, str, str, float | None, float | None, int | None]]
"""The line, phase, operation, rates and bytes of each measurement."""


def printed(name: str) -> Source:
    """The file with this path below `imports`."""
    return Source.read(FILES / name)


def beside_of(source: Source) -> OpenSibling:
    """Gives the files that lie beside one."""

    def beside(name: str) -> Source | None:
        path = source.path.parent / name
        return Source.read(path) if path.is_file() else None

    return beside


def numbers(cases: list[Case]) -> Numbers:
    """The results that an importer read."""
    return [
        (
            measurement.line,
            measurement.phase,
            measurement.operation,
            measurement.rate_bytes_per_s,
            measurement.rate_operations_per_s,
            measurement.bytes,
        )
        for case in cases
        for measurement in case.measured
    ]


def changed(source: Source, text: str) -> Source:
    """The file with another text."""
    return Source(source.path, text, hashlib.sha256(text.encode()).hexdigest(), len(text))


def read_or_refused(read: Reader, source: Source) -> Numbers | None:
    """The numbers, `None` where the file is refused. Any other exception is a failure."""
    try:
        return numbers(read(source, lambda _: None))
    except Refused:
        return None

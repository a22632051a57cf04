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
"""What the tools printed, by tool."""
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
    """What a reader makes of a text."""
    return read(source(text), lambda _: None)


def measured(read: Reader, text: str) -> list[Measurement]:
    """The measurements of all cases."""
    return [one for case in cases(read, text) for one in case.measured]


def refused(read: Reader, text: str) -> Refused:
    """Why a text is refused. Raises `AssertionError` if it is not."""
    try:
        found = cases(read, text)
    except Refused as error:
        return error
    raise AssertionError(f"it was imported: {found}")


@st.composite
def damages(draw: st.DrawFn, texts: Sequence[str]) -> tuple[str, str]:
    """A text, and what is left of it: cut off at any place, or with a line or a word of it missing or doubled."""
    whole = draw(st.sampled_from(texts))
    if draw(st.booleans()):
        return whole, whole[: draw(st.integers(0, len(whole) - 1))]
    parts = list(_parts(whole, draw(st.booleans())))
    at = draw(st.integers(0, len(parts) - 1))
    parts[at] *= draw(st.sampled_from([0, 2]))
    return whole, "".join(parts)


def _parts(text: str, by_word: bool) -> Iterable[str]:
    return [part for part in _WORD.findall(text) if part] if by_word else text.splitlines(keepends=True)


def assert_same_or_refused(read: Reader, whole: str, damaged: str) -> None:
    """Whatever a reader still takes from a damaged text says the same as the whole."""
    try:
        found = measured(read, damaged)
    except Refused:
        return
    known = measured(read, whole)
    for one in found:
        assert any(_agrees(one, other) for other in known), f"{one} is not in the whole text"


def _agrees(one: Measurement, other: Measurement) -> bool:
    same = (one.phase, one.operation) == (other.phase, other.operation)
    return same and all(
        a is None or (b is not None and math.isclose(a, b, rel_tol=1e-6)) for a, b in _numbers(one, other)
    )


def _numbers(one: Measurement, other: Measurement) -> Iterator[tuple[float | None, float | None]]:
    for name in ("bytes", "operations", "duration_ns", "rate_bytes_per_s", "rate_operations_per_s"):
        mine, known = getattr(one, name), getattr(other, name)
        if mine is not None and known is None and name == "rate_operations_per_s":
            known = other.operations and other.duration_ns and other.operations * 1e9 / other.duration_ns
        yield mine, known


Numbers = list[tuple[int, str, str, float | None, float | None, int | None]]
"""Of each measurement its line, phase, operation, rates and bytes."""


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
    """What an importer took for results."""
    return [
        (one.line, one.phase, one.operation, one.rate_bytes_per_s, one.rate_operations_per_s, one.bytes)
        for case in cases
        for one in case.measured
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

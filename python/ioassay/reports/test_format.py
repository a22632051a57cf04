"""How numbers stand in reports."""

from __future__ import annotations

import pytest

from ioassay.reports import format


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (1, ("file",), "1 file"),
        (0, ("file",), "0 files"),
        (2700, ("process", "processes"), "2,700 processes"),
        (64_000, (), "64,000"),
        (599.6, ("call",), "600 calls"),
        (None, ("call",), "–"),
    ],
)
def test_a_count_has_its_noun_in_the_singular_or_the_plural(
    number: float | None, nouns: tuple[str, ...], text: str
) -> None:
    assert format.count(number, *nouns) == text

"""How numbers stand in reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.text import format


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


@given(st.floats(1, 9e9))
def test_a_rate_that_stands_alone_has_a_unit_that_fits(per_s: float) -> None:
    for formatted in (format.rate(per_s * 1e3), format.operations_rate(per_s), format.count_rate(per_s, "creates")):
        number = formatted.split(" ")[0]
        assert 1 <= float(number) <= 9999
        assert "e" not in number
        assert len(number.replace(".", "")) <= 4


@pytest.mark.parametrize(
    ("formatted", "text"),
    [
        (format.count_rate(43.2, "creates"), "43.2 creates/s"),
        (format.count_rate(12_345), "12.3 k/s"),
        (format.rate(1.047e9), "1.05 GB/s"),
        (format.rate_in("kops/s", 43.2, "creates"), "0.0432 k creates/s"),
        (format.kept("998 IOPS", "1000 IOPS"), "998 of 1000 IOPS"),
        (format.kept("998 IOPS", "1.00 kIOPS"), "998 IOPS of 1.00 kIOPS"),
    ],
)
def test_rates_have_the_words_of_what_they_count(formatted: str, text: str) -> None:
    assert formatted == text

from __future__ import annotations

from fractions import Fraction

import pytest

from ioassay.systems.amounts import Interval, parse_amount
from ioassay.systems.model import Qualifier
from ioassay.systems.printed import Rounding, agrees


def _exactly(number: str) -> Interval:
    value = Fraction(number) * 10**9
    return Interval(value, value, value)


@pytest.mark.parametrize(
    ("qualifier", "agreeing", "differing"),
    [
        ("exact", "12.44", "12.46"),
        ("up-to", "12.35", "12.34"),
        ("about", "13.0", "13.1"),
        ("almost", "11.2", "11.1"),
        ("almost", "12.3", "12.5"),
        ("at-least", "99", "12.3"),
    ],
)
def test_a_qualifier_decides_which_numbers_agree(qualifier: Qualifier, agreeing: str, differing: str) -> None:
    printed = parse_amount("12.4 GB/s")
    assert agrees(printed, qualifier, _exactly(agreeing))
    assert not agrees(printed, qualifier, _exactly(differing))


@pytest.mark.parametrize(
    ("rounding", "agreeing", "differing"),
    [("nearest", "12.44", "12.46"), ("down", "12.49", "12.5"), ("down", "12.4", "12.39"), ("up", "12.31", "12.41")],
)
def test_rounding_decides_which_numbers_agree(rounding: Rounding, agreeing: str, differing: str) -> None:
    printed = parse_amount("12.4 GB/s")
    assert agrees(printed, "exact", _exactly(agreeing), rounding)
    assert not agrees(printed, "exact", _exactly(differing), rounding)


def test_an_interval_agrees_where_one_of_its_numbers_does() -> None:
    low, nominal, high = (_exactly(number).nominal for number in ("11", "12", "12.36"))
    assert agrees(parse_amount("12.4 GB/s"), "exact", Interval(low, nominal, high))
    assert not agrees(parse_amount("12.5 GB/s"), "exact", Interval(low, nominal, high))

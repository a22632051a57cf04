"""The results that `ioassay.text.units` and `crates/units` must share, and properties of every number."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.text import units

VECTORS = json.loads((Path(__file__).parents[3] / "crates/units/vectors.json").read_text())
PARSERS: dict[str, Callable[[str], int]] = {"bytes": units.parse_bytes, "durations": units.parse_duration_ns}
PRINTERS: dict[str, Callable[[int], str]] = {"bytes": units.format_bytes, "durations": units.format_duration}
ANY_PARSER = [
    units.parse_bytes,
    units.parse_duration_ns,
    units.parse_rate,
    units.parse_operations_rate,
    units.parse_share,
    units.parse_count,
]

sizes = st.integers(min_value=0, max_value=units.LARGEST)


def vectors(action: str, *kinds: str) -> list[Any]:
    return [pytest.param(kind, *vector, id=str(vector[0])) for kind in kinds for vector in VECTORS[kind][action]]


@pytest.mark.parametrize(("kind", "text", "value"), vectors("parse", "bytes", "durations"))
def test_texts_parse_as_agreed(kind: str, text: str, value: int) -> None:
    assert PARSERS[kind](text) == value


@pytest.mark.parametrize(("kind", "text", "advice"), vectors("refuse", "bytes", "durations"))
def test_texts_are_refused_with_the_agreed_advice(kind: str, text: str, advice: str) -> None:
    with pytest.raises(units.UnitError) as refusal:
        PARSERS[kind](text)
    assert advice in refusal.value.message


@pytest.mark.parametrize(("kind", "value", "text"), vectors("print", "bytes", "durations"))
def test_numbers_print_as_agreed(kind: str, value: int, text: str) -> None:
    assert PRINTERS[kind](value) == text


@pytest.mark.parametrize(("kind", "per_second", "unit", "text"), vectors("print", "rates"))
def test_rates_print_as_agreed(kind: str, per_second: float, unit: units.RateUnit, text: str) -> None:
    assert units.format_rate(per_second, unit) == text


@given(sizes)
def test_every_number_parses_back_from_its_print(value: int) -> None:
    assert units.parse_bytes(units.format_bytes(value)) == value
    assert units.parse_duration_ns(units.format_duration(value)) == value


@pytest.mark.parametrize("parse", ANY_PARSER)
@given(text=st.text() | st.from_regex(r"[0-9]{1,30}(\.[0-9]{1,30})? ?[A-Za-z%/]{0,4}") | st.just("9" * 5000))
def test_any_text_is_parsed_or_refused_with_advice(parse: Callable[[str], float], text: str) -> None:
    advice = ""
    try:
        parse(text)
    except units.UnitError as refusal:
        advice = refusal.message
    assert not advice or "; write " in advice or "; use " in advice


def test_limits_are_typed_with_their_unit() -> None:
    assert units.parse_rate("20MB/s") == 20_000_000
    assert units.parse_rate("1 GiB/s") == 2**30
    assert units.parse_operations_rate("2kIOPS") == 2000
    assert units.parse_share("25%") == 0.25
    assert units.parse_share("2.5%") == 0.025
    assert units.parse_count("64") == 64


@pytest.mark.parametrize(
    ("parse", "text", "advice"),
    [
        (units.parse_rate, "20MB", "write 20MB/s"),
        (units.parse_rate, "20mb/s", "KB MB GB"),
        (units.parse_rate, "1.5GB/s", "write 1500MB"),
        (units.parse_operations_rate, "2000", "write 500IOPS"),
        (units.parse_share, "0.25", "for example 25%"),
        (units.parse_count, "4.0", "digits only"),
        (units.parse_count, "9" * 5000, "does not fit 64 bits"),
    ],
)
def test_limits_without_their_unit_are_refused(parse: Callable[[str], float], text: str, advice: str) -> None:
    with pytest.raises(units.UnitError, match=advice):
        parse(text)


def test_one_of_something_has_no_plural() -> None:
    assert [units.format_count(number, "case") for number in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]


def test_a_size_for_reading_has_three_digits() -> None:
    assert units.format_about_bytes(3_758_096_384) == "3.50 GiB"
    assert units.format_about_bytes(47_008) == "45.9 KiB"
    assert units.format_about_bytes(512) == "512 B"
    assert units.format_about_bytes(0) == "0 B"


def test_a_short_size_is_exact() -> None:
    assert [units.format_size(size) for size in (2**30, 3 * 2**19, 60 * 2**30)] == ["1 GiB", "1536 KiB", "60 GiB"]
    assert [units.format_size(size) for size in (131_841_024 * 2**10, 2**33 + 1)] == ["126 GiB", "8.00 GiB"]


@pytest.mark.parametrize(("bits", "text"), [(0, "0 bit/s"), (9600, "9600 bit/s"), (10**9, "1 Gbit/s")])
def test_the_rate_of_a_link_is_printed_exactly(bits: int, text: str) -> None:
    assert units.format_link_rate(bits) == text


def digits(number: str) -> str:
    """The significant digits of a printed number, without zeros at its end."""
    return number.replace(",", "").replace(".", "").strip("0")


@given(st.floats(1e-9, 1e15))
def test_a_number_has_three_or_four_significant_digits_and_no_exponent(value: float) -> None:
    text = units.format_number(value)
    assert "e" not in text
    assert len(digits(text)) <= 4
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.005 * 1.01)


@given(st.floats(1e-9, 1e6))
def test_a_share_is_written_without_an_exponent(value: float) -> None:
    text = units.format_share(value)
    assert "e" not in text
    assert text.endswith(" %")


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.0005, "<0.1 %"), (0.082, "8.2 %"), (0.0997, "10 %"), (1.1, "110 %")]
)
def test_a_share_is_written_in_percent(share: float, text: str) -> None:
    assert units.format_share(share) == text

from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.tuning.system.array import Array, parse_array


def test_everything_that_can_be_said_of_an_array() -> None:
    text = "segment=128k,data=8,parity=2,cache-block=32k,cache-flush=98%,write-cache=on,mirroring=on,read-cache=off"
    array = parse_array(text)
    assert array == Array(8, 128 << 10, 2, 32 << 10, 98, True, True, False)
    assert array.stripe_bytes == 1 << 20


def test_settings_that_are_not_given_stay_unknown() -> None:
    assert parse_array(" data = 4 , segment = 64KiB ") == Array(4, 64 << 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'unknown key ""'),
        ("8+2x128k", 'unknown key "8+2x128k"'),
        ("segment=128k", "data missing"),
        ("parity=2", "segment and data missing"),
        ("segment=128k,data=8,strip=1", 'unknown key "strip"'),
        ("segment=128k,data=8,data=9", "data is given twice"),
        ("segment=100k,data=8", "power of two"),
        ("segment=1.5m,data=8", "fraction"),
        ("segment=128k,data=0", "between 1 and 256"),
        ("segment=128k,data=eight", "whole number"),
        ("segment=128k,data=8,cache-flush=101", "between 0 and 100"),
        ("segment=128k,data=8,write-cache=yes", "neither on nor off"),
        ("segment=128k,data=8,", 'unknown key ""'),
    ],
)
def test_other_text_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(UsageError, match="RAID geometry") as error:
        parse_array(text)
    assert message in error.value.message
    assert "segment=128k,data=8,parity=2" in error.value.remedy

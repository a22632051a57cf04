from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.text.node_sets import folded


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ([f"n{number:03}" for number in range(1, 301)], "n[001-300]"),
        ([f"n{number}" for number in range(8, 12)], "n[8-11]"),
        (["n001", "n002", "n004"], "n[001-002,004]"),
        (["n099", "n100", "n101"], "n[099-101]"),
        (["oss1"], "oss1"),
        (["login"], "login"),
        (["a1.site2.org", "a2.site2.org", "b1"], "a[1-2].site2.org,b1"),
        (["n1-ib0", "n1-ib1"], "n1-ib[0-1]"),
        (["n2", "n2"], "n2"),
        ([], ""),
    ],
)
def test_names_that_differ_in_one_number_are_one_word(names: list[str], word: str) -> None:
    assert folded(names) == word


def _unfolded(word: str) -> set[str]:
    names = set()
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)?", word):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if match is None:
            names.add(part)
            continue
        for span in match[2].split(","):
            first, _, last = span.partition("-")
            for number in range(int(first), int(last or first) + 1):
                names.add(f"{match[1]}{number:0{len(first) if first.startswith('0') else 0}}{match[3]}")
    return names


@given(st.sets(st.from_regex(r"[a-z]{1,2}[0-9]{0,3}[a-z]?", fullmatch=True), max_size=30))
def test_no_name_is_lost_or_invented(names: set[str]) -> None:
    assert _unfolded(folded(sorted(names))) == names

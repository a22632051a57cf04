"""How often a sweep is repeated, as it is typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.store.document import StopRule
from ioassay.studies.repetitions import LEAST, MOST, Repetitions, repetitions


def test_a_number_of_repetitions_has_no_stop_rule() -> None:
    assert repetitions("3") == Repetitions(3)


@pytest.mark.parametrize("text", ["until 5 %, at most 10", "until 5%, at most 10", "until  5 %,  at most  10"])
def test_a_stop_rule_is_read_with_or_without_a_space_before_the_percent(text: str) -> None:
    assert repetitions(text) == Repetitions(10, StopRule(share=0.05, at_least=LEAST, at_most=10))


@given(st.integers(1, 10**6), st.integers(LEAST, MOST))
def test_a_stop_rule_is_shown_as_it_can_be_typed(hundredths: int, most: int) -> None:
    typed = repetitions(f"until {hundredths / 100:.2f} %, at most {most}")
    again = repetitions(f"until {100 * typed.until.share:.2f} %, at most {most}") if typed.until else None
    assert again == typed


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("often", "write for example 3, or until 5 %, at most 10"),
        ("until 5 %", "write for example 3, or until 5 %, at most 10"),
        ("until 5, at most 10", "write for example 3, or until 5 %, at most 10"),
        ("until x %, at most 10", "write it in percent, for example 25%"),
        ("until 0 %, at most 10", "write for example until 5 %, at most 10"),
        ("until 5 %, at most 2", "use 3 to 1000"),
        ("until 5 %, at most 1001", "use 3 to 1000"),
        ("0", "use 1 to 1000"),
        ("-1", "write for example 3"),
    ],
)
def test_an_impossible_study_is_refused_with_a_remedy(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        repetitions(text)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.scalability import Law
from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Origin
from ioassay.sizing.components import Scaling
from ioassay.sizing.rates.scaling import multiple, words
from ioassay.testing.brick_catalogue import as_yaml, figure

LINEAR = {"by": "linear", "because": "The paper multiplies one brick."}


def scaling(by: str, **rates: str) -> Scaling:
    """A scaling of writes: rates by count, as `n4="30GB/s"`."""
    points = [{"count": name.removeprefix("n"), "rate": figure(rate)} for name, rate in rates.items()]
    return Scaling.model_validate({"by": by, "points": {"write": points}})


def of_law(law: Law, counts: tuple[int, ...]) -> Scaling:
    return scaling("law", **{f"n{count}": f"{law.rate(count) / 1e6:.3f}MB/s" for count in counts})


TABLE = scaling("table", n1="4GB/s", n4="14GB/s", n8="20GB/s")


def test_linear_is_an_assumption_with_its_reason() -> None:
    value = multiple(Scaling.model_validate(as_yaml(LINEAR)), "write", 8)
    assert value.nominal == 8
    assert value.origin == Origin("assumed", "Linear: The paper multiplies one brick.")


def test_a_table_gives_measured_multiples_and_interpolates_between_them() -> None:
    assert multiple(TABLE, "write", 4).nominal == 3.5
    between = multiple(TABLE, "write", 6)
    assert between.nominal == pytest.approx((14 + 20) / 2 / 4)
    assert between.note == "Interpolated between the measured 4 and 8."


def test_beyond_its_table_nothing_is_invented() -> None:
    with pytest.raises(UsageError, match="measured for 8 together at most, and 9 are configured") as error:
        multiple(TABLE, "write", 9)
    assert "`law`" in error.value.remedy


def test_a_table_without_a_single_brick_is_refused() -> None:
    with pytest.raises(UsageError, match="does not say what one does"):
        multiple(scaling("table", n2="8GB/s", n4="14GB/s"), "write", 2)


def test_a_kind_that_was_not_measured_is_refused() -> None:
    with pytest.raises(UsageError, match="no points of the random read rate"):
        multiple(TABLE, "random_read", 2)


def test_the_law_is_found_again_and_says_where_it_extrapolates() -> None:
    law = Law(4.5e9, 0.03, 0.0005)
    law_found = of_law(law, (1, 2, 4, 8))
    inside, beyond = multiple(law_found, "write", 6), multiple(law_found, "write", 16)
    assert inside.nominal == pytest.approx(law.rate(6) / law.rate(1), rel=1e-4)
    assert beyond.nominal == pytest.approx(law.rate(16) / law.rate(1), rel=1e-3)
    assert inside.note == ""
    assert beyond.note == "Extrapolated: at most 8 were measured together."


def test_points_off_the_law_leave_its_multiple_uncertain() -> None:
    value = multiple(scaling("law", n1="4GB/s", n2="7.2GB/s", n4="14.5GB/s", n8="22GB/s"), "write", 16)
    assert value.interval.low < value.interval.nominal < value.interval.high


def test_three_points_are_too_few_for_the_law() -> None:
    with pytest.raises(UsageError, match="takes at least 4"):
        multiple(of_law(Law(1e9, 0.1, 0), (1, 2, 4)), "write", 8)


def test_points_that_do_not_follow_the_law_are_refused() -> None:
    with pytest.raises(UsageError, match="do not follow the law"):
        multiple(scaling("law", n1="4GB/s", n2="20GB/s", n4="6GB/s", n8="40GB/s"), "write", 8)


def test_one_brick_needs_no_scaling_to_be_one() -> None:
    assert multiple(TABLE, "random_read", 1).is_exact
    assert multiple(TABLE, "random_read", 1).nominal == 1


def test_each_scaling_has_its_words() -> None:
    assert words(Scaling.model_validate(LINEAR)) == "linear, because the paper multiplies one brick"
    assert words(TABLE) == "table of measured multiples for 1 to 8, interpolated between them"
    assert words(of_law(Law(1e9, 0.1, 0), (1, 2, 4, 8))).startswith("Universal Scalability Law")


@given(st.integers(1, 8), st.lists(st.integers(1, 99), min_size=3, max_size=3))
def test_an_interpolated_multiple_lies_between_its_neighbours(count: int, rates: list[int]) -> None:
    table = scaling("table", n1=f"{rates[0]}GB/s", n4=f"{rates[1]}GB/s", n8=f"{rates[2]}GB/s")
    below, above = (1, 4) if count < 4 else (4, 8)
    ends = sorted(multiple(table, "write", end).nominal for end in (below, above))
    assert ends[0] - 1e-9 <= multiple(table, "write", count).nominal <= ends[1] + 1e-9

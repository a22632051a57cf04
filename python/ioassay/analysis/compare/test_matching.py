from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.compare import matching
from ioassay.analysis.compare.subject import AxisValue, Conditions, Point

place = st.one_of(st.none(), st.integers(1, 4))
points = st.lists(
    st.builds(
        lambda clients, ranks, files: Point(clients, Conditions(ranks=ranks, files=files), (1e9,)), place, place, place
    ),
    max_size=8,
)


def at(clients: int | None, ranks: int | None = None, files: int | None = None) -> Point:
    return Point(clients, Conditions(ranks=ranks, files=files), (1e9,))


@given(points, points)
def test_every_point_is_compared_once_or_told_to_be_alone(reference: list[Point], other: list[Point]) -> None:
    pairs, alone = matching.points(reference, other)
    seen = [id(point) for pair in pairs for point in pair] + [id(point) for point in alone]
    assert sorted(seen) == sorted(map(id, [*reference, *other]))
    assert all(one.clients is not None and one.clients == another.clients for one, another in pairs)


def test_the_same_ranks_go_together_where_a_number_of_clients_has_several() -> None:
    reference, other = [at(1, 1), at(1, 4)], [at(1, 4), at(1, 1)]
    pairs, alone = matching.points(reference, other)
    assert pairs == [(reference[0], other[1]), (reference[1], other[0])]
    assert alone == []


def test_other_ranks_go_together_only_where_the_clients_tell_the_points_apart() -> None:
    assert matching.points([at(8, 8)], [at(8, 16)])[0] == [(at(8, 8), at(8, 16))]
    assert matching.points([at(8, 8), at(8, 32)], [at(8, 16)])[0] == []


def test_a_published_figure_that_tells_only_its_clients_finds_its_point() -> None:
    pairs, alone = matching.points([at(2, 2, 2), at(64, 64, 64)], [at(64)])
    assert pairs == [(at(64, 64, 64), at(64))]
    assert alone == [at(2, 2, 2)]


def moving(transfer: int, *, swept: bool) -> Point:
    others = (AxisValue("transfer", transfer, "bytes"),) if swept else ()
    return Point(1, Conditions(ranks=1, files=1, transfer_bytes=transfer), (1e9,), others=others)


def test_points_of_a_sweep_over_another_axis_go_together_by_their_values_on_it() -> None:
    reference = [moving(4096, swept=True), moving(65536, swept=True)]
    pairs, alone = matching.points(reference, [moving(65536, swept=True), moving(1 << 20, swept=True)])
    assert [(one.value("transfer"), other.value("transfer")) for one, other in pairs] == [(65536, 65536)]
    assert [point.value("transfer") for point in alone] == [4096, 1 << 20]


def test_a_point_that_was_measured_with_a_value_that_the_other_side_sweeps_finds_it() -> None:
    pairs, alone = matching.points([moving(4096, swept=True), moving(65536, swept=True)], [moving(65536, swept=False)])
    assert [one.value("transfer") for one, _ in pairs] == [65536]
    assert [point.value("transfer") for point in alone] == [4096]

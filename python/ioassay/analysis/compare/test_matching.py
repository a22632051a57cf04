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


def point(clients: int | None, ranks: int | None = None, files: int | None = None) -> Point:
    return Point(clients, Conditions(ranks=ranks, files=files), (1e9,))


@given(points, points)
def test_every_point_is_compared_once_or_unmatched(reference: list[Point], other: list[Point]) -> None:
    pairs, alone = matching.points(reference, other)
    seen = [id(point) for pair in pairs for point in pair] + [id(point) for point in alone]
    assert sorted(seen) == sorted(map(id, [*reference, *other]))
    assert all(first.clients is not None and first.clients == second.clients for first, second in pairs)


def test_points_with_the_same_clients_match_by_their_ranks() -> None:
    reference, other = [point(1, 1), point(1, 4)], [point(1, 4), point(1, 1)]
    pairs, alone = matching.points(reference, other)
    assert pairs == [(reference[0], other[1]), (reference[1], other[0])]
    assert alone == []


def test_points_with_other_ranks_match_only_if_their_clients_are_unique() -> None:
    assert matching.points([point(8, 8)], [point(8, 16)])[0] == [(point(8, 8), point(8, 16))]
    assert matching.points([point(8, 8), point(8, 32)], [point(8, 16)])[0] == []


def test_a_published_figure_that_states_only_its_clients_matches_a_point() -> None:
    pairs, alone = matching.points([point(2, 2, 2), point(64, 64, 64)], [point(64)])
    assert pairs == [(point(64, 64, 64), point(64))]
    assert alone == [point(2, 2, 2)]


def point_of_transfer(transfer: int, *, swept: bool) -> Point:
    others = (AxisValue("transfer", transfer, "bytes"),) if swept else ()
    return Point(1, Conditions(ranks=1, files=1, transfer_bytes=transfer), (1e9,), others=others)


def test_points_of_a_sweep_over_another_axis_match_by_their_values_on_it() -> None:
    reference = [point_of_transfer(4096, swept=True), point_of_transfer(65536, swept=True)]
    pairs, alone = matching.points(
        reference, [point_of_transfer(65536, swept=True), point_of_transfer(1 << 20, swept=True)]
    )
    assert [(first.value("transfer"), second.value("transfer")) for first, second in pairs] == [(65536, 65536)]
    assert [point.value("transfer") for point in alone] == [4096, 1 << 20]


def test_a_point_of_an_unswept_axis_matches_the_swept_point_of_its_value() -> None:
    pairs, alone = matching.points(
        [point_of_transfer(4096, swept=True), point_of_transfer(65536, swept=True)],
        [point_of_transfer(65536, swept=False)],
    )
    assert [first.value("transfer") for first, _ in pairs] == [65536]
    assert [point.value("transfer") for point in alone] == [4096]

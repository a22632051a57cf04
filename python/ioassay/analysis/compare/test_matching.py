from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.compare import matching
from ioassay.analysis.compare.subject import Conditions, Point

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

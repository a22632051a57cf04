from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ioassay.reports.sizing import racks
from ioassay.sizing.catalogue import load
from ioassay.sizing.packing import Item, PackedRack

BRICK = Item("md3460-performance", 5, (("md3460", 4), ("r620", 1)))
SERVER = Item("r620", 1, (("r620", 1),))


def test_racks_that_are_alike_stand_there_once() -> None:
    full, rest = PackedRack(42, (BRICK,) * 8), PackedRack(42, (BRICK, SERVER))
    rows = racks.table([full, full, full, rest]).rows
    assert [row[0] for row in rows] == ["Racks 1 to 3", "Rack 4"]
    assert rows[0][1] == "8 × md3460-performance"
    assert rows[1] == ["Rack 4", "1 × md3460-performance, 1 × r620", "6 of 42 U", "36 U"]


@given(st.lists(st.sampled_from([BRICK, SERVER]), max_size=8))
def test_the_boxes_of_a_drawn_rack_fill_it_without_gap_or_overlap(items: list[Item]) -> None:
    drawn = racks.drawn(load(), "Rack 1", PackedRack(42, tuple(items)))
    filled = [unit for box in drawn.boxes for unit in range(box.low, box.low + box.units)]
    assert filled == list(range(1, 43))
    assert sum(group.count for group in drawn.groups) == len(items)


def test_components_have_the_colour_of_what_they_are() -> None:
    kinds = {box.label: box.kind for box in racks.drawn(load(), "Rack 1", PackedRack(42, (BRICK,))).boxes}
    assert kinds == {"md3460": "drives", "r620": "servers", "37 U free": "free"}

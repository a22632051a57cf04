from __future__ import annotations

import xml.etree.ElementTree as ET

from ioassay.figures import render
from ioassay.figures.sizing.racks import MOST_RACKS, Box, Group, Rack, chart, data


def _rack(title: str, units: int = 42) -> Rack:
    return Rack(
        title,
        units,
        (
            Box(1, 4, "drives", "md3460"),
            Box(5, 1, "servers", "r620"),
            Box(6, 1, "servers", "a-component-with-a-very-long-name"),
            Box(7, units - 6, "free", f"{units - 6} U free"),
        ),
        (Group(1, 5, 1, "brick"), Group(6, 1, 1, "other")),
    )


def _svg(*racks: Rack) -> ET.Element:
    return ET.fromstring(render.svg(chart(racks), "racks"))


def _texts(svg: ET.Element) -> list[str]:
    return [element.text or "" for element in svg.iter("{http://www.w3.org/2000/svg}text")]


def test_a_rack_has_every_unit_numbered_its_components_and_its_free_units() -> None:
    texts = _texts(_svg(_rack("Rack 1")))
    assert {str(unit) for unit in range(1, 43)} <= set(texts)
    assert {"Rack 1", "md3460", "r620", "36 U free", "brick", "drives", "servers", "free"} <= set(texts)


def test_names_that_are_too_long_for_their_box_are_shortened_and_whole_in_the_data() -> None:
    rack = _rack("Rack 1")
    assert max(map(len, _texts(_svg(rack)))) <= 20
    assert "a-component-with-a-very-long-name" in data([rack])["component"].to_list()


def test_as_many_racks_as_a_figure_may_have_fit_on_a_page() -> None:
    racks = [_rack(f"Rack {number}", 42 + number) for number in range(MOST_RACKS)]
    assert float(_svg(*racks).attrib["width"]) <= 705


def test_racks_of_different_heights_stand_on_one_floor() -> None:
    one_rack, two_racks = _svg(_rack("a", 48)), _svg(_rack("a", 48), _rack("b", 12))
    assert one_rack.attrib["height"] == two_racks.attrib["height"]

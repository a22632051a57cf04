"""Steps as boxes, and the arrows between them."""

from __future__ import annotations

import re

import polars as pl
import pytest

from ioassay.figures import render
from ioassay.figures.profile.workflow import MOST_IN_A_ROW, WIDTH, Arrow, Box, chart, weightiest
from ioassay.figures.vega_lite import Specification


def drawn(boxes: list[Box], arrows: list[Arrow]) -> str:
    return render.svg(chart(boxes, arrows), "t")


_CURVES, _FRAMES, _LABELS = 0, 2, -1
"""Layers of the figure."""


def layer(figure: Specification, index: int) -> pl.DataFrame:
    """The data that a layer draws."""
    return pl.DataFrame(figure["layer"][index]["data"]["values"])


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def layered(rows: int, of_each: int) -> tuple[list[Box], list[Arrow]]:
    boxes = [Box(row, f"step {row}.{index}", "1 s to 2 s") for row in range(rows) for index in range(of_each)]
    arrows = [
        Arrow(
            row * of_each + index,
            (row + 1) * of_each + (index * 2) % of_each,
            10.0 + index,
            f"{row}-{index}",
            row % 2 == 0,
        )
        for row in range(rows - 1)
        for index in range(of_each)
    ]
    return boxes, arrows


@pytest.mark.parametrize(("rows", "of_each"), [(3, 1), (8, MOST_IN_A_ROW), (40, 1)])
def test_every_step_has_a_box_with_its_name(rows: int, of_each: int) -> None:
    svg = drawn(*layered(rows, of_each))
    assert {f"step {row}.{index}" for row in range(rows) for index in range(of_each)} <= set(words(svg))


def test_boxes_of_a_row_do_not_touch_each_other_or_arrows_that_pass() -> None:
    boxes, arrows = layered(3, MOST_IN_A_ROW)
    figure = chart(boxes, [*arrows, *(Arrow(index, 2 * MOST_IN_A_ROW + index, 5.0, "x", False) for index in range(3))])
    frames = layer(figure, _FRAMES).sort("y", "x")
    for (row,), row_frames in frames.group_by("y", maintain_order=True):
        assert (row_frames["x"][1:] > row_frames["x2"][:-1]).all(), row
    assert (frames["x"] >= 0).all()
    assert (frames["x2"] <= WIDTH).all()
    middle = frames.filter(y=sorted(set(frames["y"]))[1])
    points = layer(figure, _CURVES).filter(arrow=len(arrows))
    passing = points.filter(points["y"].is_between(middle["y"][0] + 1, middle["y2"][0] - 1))
    for x in passing["x"]:
        assert not any(left < x < right for left, right in zip(middle["x"], middle["x2"], strict=True))


def test_an_arrow_to_an_earlier_step_runs_around_the_boxes() -> None:
    boxes = [Box(0, "driver", ""), Box(1, "workers", "")]
    figure = chart(boxes, [Arrow(0, 1, 9.0, "9 B", False), Arrow(1, 0, 3.0, "3 B", True)])
    back = layer(figure, _CURVES).filter(arrow=1)
    assert max(back["x"]) > max(layer(figure, _FRAMES)["x2"])
    assert back["y"][0] > back["y"][-1]


def test_labels_do_not_lie_on_each_other() -> None:
    boxes = [Box(0, "a", ""), Box(0, "b", ""), Box(1, "c", "")]
    arrows = [Arrow(0, 2, 9.0, "a long label", False), Arrow(1, 2, 3.0, "b label", False)]
    labels = layer(chart(boxes, [*arrows, *[Arrow(0, 2, 1.0, "no room", False)] * 5]), _LABELS)
    assert "a long label" in labels["text"].to_list()
    assert labels.height < 7


def test_the_thickest_of_very_many_arrows_are_drawn() -> None:
    boxes = [Box(row, f"step {row}", "") for row in range(40)]
    arrows = [Arrow(begin, end, float(end), "1 B", False) for end in range(40) for begin in range(end)]
    few = weightiest(boxes, arrows)
    assert 1 < len(few) < len(arrows)
    assert min(arrow.weight for arrow in few) >= max(
        {arrow.weight for arrow in arrows} - {arrow.weight for arrow in few}
    )
    assert "step 39" in words(drawn(boxes, few))

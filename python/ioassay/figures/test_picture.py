"""A picture as a file and in a notebook."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest

from ioassay.errors import UsageError
from ioassay.figures.picture import Picture
from ioassay.reports.run import pictures
from ioassay.reports.run.content import assemble
from ioassay.testing.builder import RunBuilder


@pytest.fixture(scope="module")
def picture() -> Picture:
    return next(pictures.rates(assemble(RunBuilder().workload("w", "Big").clients(1, 2).build())))


def test_a_picture_is_saved_as_its_suffix_says(picture: Picture, tmp_path: Path) -> None:
    for suffix in ("svg", "png", "csv"):
        picture.save(tmp_path / f"figure.{suffix}")
    assert ET.parse(tmp_path / "figure.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert pl.read_csv(tmp_path / "figure.csv")["rate_MB/s"].to_list() == picture.data["rate_MB/s"].to_list()
    with pytest.raises(UsageError, match=r'"\.jpg"') as error:
        picture.save(str(tmp_path / "figure.jpg"))
    assert error.value.remedy == "Use one of .svg, .png, .csv."
    assert not (tmp_path / "figure.jpg").exists()


def test_a_png_has_the_pixels_for_print_or_as_many_as_are_asked_for(picture: Picture) -> None:
    width = float(ET.fromstring(picture.svg).attrib["width"])
    assert _width(picture.png()) == pytest.approx(width * 300 / 96, abs=1)
    assert _width(picture.png(scale=1)) == pytest.approx(width, abs=1)
    assert picture.png() == picture.png()


def test_a_notebook_shows_the_figure_and_a_terminal_its_title(picture: Picture) -> None:
    shown = picture._repr_mimebundle_()
    assert shown["image/svg+xml"] == picture.svg
    assert picture.title in shown["text/plain"]


def test_a_picture_without_anything_to_draw_says_why() -> None:
    empty = Picture("rate", "Write", "", pl.DataFrame(), "Nothing was measured for this figure.", "Write rate.")
    assert empty._repr_mimebundle_() == {"text/plain": "Write. Nothing was measured for this figure."}
    with pytest.raises(UsageError, match="Nothing was measured"):
        empty.png()


def _width(png: bytes) -> int:
    """Of the header chunk, which comes first."""
    (width,) = struct.unpack(">I", png[16:20])
    return int(width)

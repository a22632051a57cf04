"""A catalogue with one brick `brick` of one drive `drive`, for tests of what follows from a geometry."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.model import BrickChoice

CHOICE = BrickChoice("brick", "drive")


def catalogue(redundancy: str, drives: int, capacity: str = "4TB", more: str = "", components: str = "") -> Catalogue:
    """The built-in catalogue and the brick.

    `redundancy` and `more` are keys in YAML: of its redundancy, and of the brick besides; `components` whole lines of
    a catalogue besides.
    """
    text = f"""
name: tested
title: One brick
drives:
  drive: {{title: Drive, assumed: Test., media: hdd, capacity: {{value: {capacity}, assumed: Test.}}}}
{components}
bricks:
  brick:
    {{title: Brick, assumed: Test., drives: [drive], drive_count: {drives}, redundancy: {{{redundancy}}}, {more}}}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tested.yaml"
        path.write_text(text)
        return load([path])

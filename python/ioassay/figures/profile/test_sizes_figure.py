"""How many requests were of which size."""

from __future__ import annotations

import itertools
import re

import polars as pl

from ioassay.figures import render
from ioassay.figures.profile.sizes import chart
from ioassay.text import format

WIDEST = 7
"""Characters of a label: `512 KiB`."""


def test_labels_of_many_sizes_do_not_touch_each_other() -> None:
    sizes = [0, *[1 << power for power in range(27)]]
    rows = [("read", size, format.size(size), 10) for size in sizes]
    svg = render.svg(chart(pl.DataFrame(rows, schema=["direction", "begin_bytes", "size", "calls"], orient="row")), "t")
    texts = re.findall(r'<text text-anchor="middle" transform="translate\(([\d.]+),[^>]*>([^<]*B)</text>', svg)
    hidden = re.findall(r'opacity="0">([^<]*B)</text>', svg)
    places = [float(x) for x, label in texts if label not in hidden]
    assert len(texts) == len(sizes)
    assert len(places) > 4
    assert all(after - before > 5 * WIDEST for before, after in itertools.pairwise(places))

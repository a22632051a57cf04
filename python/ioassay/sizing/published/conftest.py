"""Configuration tables for tests: of published systems, and invented ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.published.check import check
from ioassay.sizing.published.model import Published

Row = tuple[str, Mapping[str, str]]
"""`6 md3460-performance nl-sas-4tb`, and what is stated of it: `write` or, of a further statement, `write again`."""


def published(rows: Mapping[str, Row], catalogue: Catalogue | None = None) -> Published:
    """What holding a table against the arithmetic finds. A price is written `0.65 of NAME`."""
    known = catalogue or load()
    file = ConfigurationFile.model_validate(
        {
            "name": "table",
            "title": "A table",
            "sources": {"paper": {"title": "A paper", "file": "paper.txt"}},
            "configurations": {
                name: {
                    "bricks": [dict(zip(("count", "brick", "drive"), bricks.split(), strict=True))],
                    "scaling": {"by": "linear", "because": "The table multiplies one brick."},
                    "stated": [_stated(what, value, line) for line, (what, value) in enumerate(stated.items(), 1)],
                }
                for name, (bricks, stated) in rows.items()
            },
        }
    )
    sizes = {name: evaluate(known, name, one) for name, one in file.configurations.items()}
    return check(known, file, sizes)


def _stated(what: str, printed: str, line: int) -> dict[str, str]:
    value, _, reference = printed.partition(" of ")
    stated = {"what": what.split(maxsplit=1)[0], "value": value, "at": f"paper:{line}"}
    return stated | ({"relative_to": reference} if reference else {})


@pytest.fixture
def check_table() -> Callable[[Mapping[str, Row]], Published]:
    return published


RACKS: Mapping[str, Row] = {
    "capacity-2": (
        "2 md3460-capacity nl-sas-4tb",
        {"usable": "1PB", "write": "9 GB/s", "price": "0.65 of performance-6"},
    ),
    "performance-6": (
        "6 md3460-performance nl-sas-4tb",
        {"usable": "1PB", "write": "26 GB/s", "write again": "29 GB/s"},
    ),
    "capacity-3": (
        "3 md3460-capacity nl-sas-4tb",
        {"usable": "1.5PB", "write": "13.5 GB/s", "price": "0.65 of performance-8"},
    ),
    "performance-8": ("8 md3460-performance nl-sas-4tb", {"usable": "1.4PB", "write": "36 GB/s"}),
    "capacity-3-6tb": (
        "3 md3460-capacity nl-sas-6tb",
        {"usable": "2.3 PB", "write": "13.5 GB/s", "price": "0.65 of performance-8-6tb"},
    ),
    "performance-8-6tb": ("8 md3460-performance nl-sas-6tb", {"usable": "2.1 PB", "write": "36 GB/s"}),
}

"""Tables of configurations for tests: a published one, and a way to invent others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pytest

from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.published.check import check
from ioassay.sizing.published.model import Published

Row = tuple[str, Mapping[str, str]]
"""`6 md3460-performance nl-sas-4tb`, perhaps followed by a metadata module, and what is stated: under `write again` a
second time, and prices as `0.65 of REFERENCE`."""


class CheckTable(Protocol):
    """Holds a table against the arithmetic."""

    def __call__(self, rows: Mapping[str, Row], catalogue: Catalogue | None = None) -> Published: ...


def _check_table(rows: Mapping[str, Row], catalogue: Catalogue | None = None) -> Published:
    known = catalogue or load()
    file = ConfigurationFile.model_validate(
        {
            "name": "table",
            "title": "A table",
            "sources": {"paper": {"title": "A paper", "file": "paper.txt"}},
            "configurations": {name: _configuration(*row) for name, row in rows.items()},
        }
    )
    sizes = {name: evaluate(known, name, configuration) for name, configuration in file.configurations.items()}
    return check(known, file, sizes)


def _configuration(parts: str, stated: Mapping[str, str]) -> dict[str, object]:
    count, brick, drive, *modules = parts.split()
    return {
        "bricks": [{"brick": brick, "count": count, "drive": drive}],
        "metadata": dict.fromkeys(modules, "1"),
        "scaling": {"by": "linear", "because": "The table multiplies one brick."},
        "stated": [_stated(what, printed, line) for line, (what, printed) in enumerate(stated.items(), 1)],
    }


def _stated(what: str, printed: str, line: int) -> dict[str, str]:
    value, _, reference = printed.partition(" of ")
    stated = {"what": what.removesuffix(" again"), "value": value, "at": f"paper:{line}"}
    return stated | ({"relative_to": reference} if reference else {})


@pytest.fixture(scope="session")
def check_table() -> CheckTable:
    return _check_table


@pytest.fixture(scope="session")
def racks() -> Mapping[str, Row]:
    """The racks that end the MD3460 paper."""
    return {
        "performance-6": (
            "6 md3460-performance nl-sas-4tb",
            {"usable": "1PB", "write": "26 GB/s", "write again": "29 GB/s"},
        ),
        "capacity-2": (
            "2 md3460-capacity nl-sas-4tb",
            {"usable": "1PB", "write": "9 GB/s", "price": "0.65 of performance-6"},
        ),
        "performance-8": ("8 md3460-performance nl-sas-4tb", {"usable": "1.4PB", "write": "36 GB/s"}),
        "capacity-3": (
            "3 md3460-capacity nl-sas-4tb",
            {"usable": "1.5PB", "write": "13.5 GB/s", "price": "0.65 of performance-8"},
        ),
        "performance-8-6tb": ("8 md3460-performance nl-sas-6tb", {"usable": "2.1 PB", "write": "36 GB/s"}),
        "capacity-3-6tb": (
            "3 md3460-capacity nl-sas-6tb",
            {"usable": "2.3 PB", "write": "13.5 GB/s", "price": "0.65 of performance-8-6tb"},
        ),
    }

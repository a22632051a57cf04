"""What findings rest on, as documents show it: its name, and the anchor where the document has it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from pathlib import Path
from typing import NamedTuple

from ioassay.analysis.finding import FileLine, Reference
from ioassay.reports.names import Names
from ioassay.results.schema import Measurement


class ShownReference(NamedTuple):
    """The anchor of a reference in the document, empty where it has none, and its name."""

    anchor: str
    name: str


@singledispatch
def shown(reference: Reference, names: Names, anchors: Mapping[Measurement, str]) -> ShownReference | None:
    """How a reference is shown; `None` for a measurement that has no row in the document. `anchors` has the others."""
    raise TypeError(f"nothing shows {type(reference).__name__}")


@shown.register
def _(reference: Measurement, names: Names, anchors: Mapping[Measurement, str]) -> ShownReference | None:
    return ShownReference(anchors[reference], names.place(reference)) if reference in anchors else None


@shown.register
def _(reference: FileLine, names: Names, anchors: Mapping[Measurement, str]) -> ShownReference | None:
    return ShownReference("", f"{Path(reference.file).name}, line {reference.line}")

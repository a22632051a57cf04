"""The figures of a configuration: the ceilings along the path, and its racks. Not: drawing (`figures.sizing`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import polars as pl

from ioassay.figures.picture import Picture, draw
from ioassay.figures.sizing import ceilings
from ioassay.reports.sizing import racks, wording
from ioassay.reports.sizing.explanation.explained import Content, Explained
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import MetadataKind
from ioassay.sizing.model import Rate, Size
from ioassay.systems.amounts import BYTES_PER_S


@dataclass(frozen=True)
class Pictures:
    """`None`, or none, where there is nothing to draw."""

    ceilings: Picture | None
    racks: Sequence[Picture]


def pictures(content: Content) -> list[Pictures]:
    """The figures of each configuration, in their order."""
    return [_of(content.catalogue, explanation) for explanation in content.explained]


def _of(catalogue: Catalogue, explanation: Explained) -> Pictures:
    return Pictures(
        ceilings_picture(explanation.size, f"ceilings-{explanation.size.name}"),
        racks.pictures(catalogue, explanation.racks, f"racks-{explanation.size.name}"),
    )


def ceilings_picture(size: Size, identifier: str) -> Picture | None:
    """The ceilings along the path; `None` where no kind of I/O has two known ceilings."""
    rates = [rate for rate in size.rates["healthy"].values() if len(rate.ceilings) > 1]
    if not rates:
        return None
    data = pl.DataFrame([row for rate in rates for row in _rows(rate)])
    limits = "; ".join(f"{wording.kind(rate.kind)} is limited by the {wording.limited_by(rate)}" for rate in rates)
    return draw(
        ceilings.chart(data),
        identifier,
        title="Ceilings along the path of each kind of I/O",
        data=data,
        caption="What each place would carry if nothing else limited it, all bricks together.",
        description=f"Bars for each place on the path: {limits}.",
    )


def _rows(rate: Rate) -> Iterator[dict[str, object]]:
    is_bytes = rate.value.dimension == BYTES_PER_S
    unit = "GB/s" if is_bytes else "kops/s" if rate.kind in get_args(MetadataKind) else "kIOPS"
    for ceiling in rate.ceilings:
        yield {
            "panel": f"{wording.head(rate.kind)} ({unit})",
            "place": ceiling.place,
            "rate": ceiling.value.nominal / (1e9 if is_bytes else 1e3),
            "label": wording.amount(ceiling.value, rate.kind),
            "role": ceilings.LIMITS if ceiling.value.nominal == rate.limit.value.nominal else ceilings.OTHERS,
        }

"""The figures of a tuning of the IO500: ior-easy, and score, bandwidth and metadata, by ranks per node.

Not: drawing (`figures.io500_by_ranks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from ioassay.analysis.spread import Spread
from ioassay.figures import io500_by_ranks as figure
from ioassay.figures.picture import Picture, draw
from ioassay.store.tune_io500_document import TuneIo500Document
from ioassay.text.rate_units import suited
from ioassay.tuning.io500 import facts, history
from ioassay.tuning.io500.answer import Answer
from ioassay.tuning.io500.ramp import Rates

_SERIES: Mapping[str, Callable[[Rates], float]] = {"write": lambda rates: rates.write, "read": lambda rates: rates.read}


@dataclass(frozen=True)
class Pictures:
    """`None` where there is nothing to draw."""

    easy: Picture | None
    scores: Picture | None


def pictures(answer: Answer) -> Pictures:
    return Pictures(_easy(answer), _scores(answer))


def _easy(answer: Answer) -> Picture | None:
    document = answer.document
    counts = sorted({measurement.ranks for measurement in history.easy(document)})
    measured = {ranks: history.easy_rates(document, ranks) for ranks in counts}
    values = [value for rates in measured.values() for rate in rates for value in (rate.write, rate.read)]
    if not values:
        return None
    unit = suited("rate_bytes_per_s", "write", values)
    rows = [
        {"series": series, "ranks": ranks, **Spread([of(rate) for rate in rates]).ends(unit.divisor)}
        for series, of in _SERIES.items()
        for ranks, rates in measured.items()
        if rates
    ]
    data = pl.DataFrame(rows)
    ceilings = _ceilings(document, unit.divisor)
    caption = "Median of all runs with a rank count, with its interval."
    if ceilings.height:
        caption += f" Dashed: the ceiling, {facts.ceiling_text(document.ceiling)}." if document.ceiling else ""
    return draw(
        figure.easy(data, ceilings, unit.name, answer.ramp.ranks),
        "tune-io500-ior-easy",
        title="ior-easy by ranks per node",
        data=data.rename({name: f"{name}_{unit.name}" for name in ("median", "low", "high")}),
        caption=f"{caption} Ringed: where step 4 ended.",
        description=f"Rates of ior-easy in {unit.name} against ranks per node; the table has the numbers.",
    )


def _ceilings(document: TuneIo500Document, divisor: float) -> pl.DataFrame:
    known = document.ceiling
    rates = {known.write_bytes_per_s, known.read_bytes_per_s} if known else set()
    return pl.DataFrame({"ceiling": sorted(rate / divisor for rate in rates)}, schema={"ceiling": pl.Float64})


def _scores(answer: Answer) -> Picture | None:
    rows = [
        {"quantity": quantity, "ranks": rank_count.ranks, **spread.ends()}
        for rank_count in answer.rank_counts
        for quantity, spread in zip(
            figure.QUANTITIES, (rank_count.score, rank_count.bandwidth, rank_count.metadata), strict=True
        )
        if spread.values
    ]
    if not rows:
        return None
    data = pl.DataFrame(rows)
    return draw(
        figure.scores(data, answer.balance.best),
        "tune-io500-scores",
        title="Score, bandwidth and metadata by ranks per node",
        data=data,
        caption="Median of all rounds with its interval. Ringed: the recommended number of ranks.",
        description="Score, bandwidth and metadata against ranks per node; the table has the numbers.",
    )

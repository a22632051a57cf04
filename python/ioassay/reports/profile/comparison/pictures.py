"""The figures of a comparison of two profiles. Not: drawing (`figures.profile.overlaid`), numbers."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ioassay.analysis.profile import comparison, steps
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.figures.picture import Picture, draw
from ioassay.figures.profile import overlaid
from ioassay.figures.profile.overlaid import Panel
from ioassay.profiles.model import Profile
from ioassay.reports.profile.comparison.content import TRANSFERS, Content
from ioassay.text import format
from ioassay.text.rate_units import suited


def pictures(content: Content) -> dict[str, Picture]:
    """Every figure that there is something to draw for, by what it shows."""
    pictures_drawn = (*_over_time(content), *_sizes(content))
    return {picture.id.removeprefix("profiles-"): picture for picture in pictures_drawn}


def _over_time(content: Content) -> Iterator[Picture]:
    panels, frames, widths = [], [], []
    moved, called = ([rates(side.profile) for side in content.sides] for rates in (steps.rates, steps.operation_rates))
    for line in (*TRANSFERS, "metadata"):
        of_sides = zip(content.sides, called if line == "metadata" else moved, strict=True)
        courses = [_course(side.profile, line, *rates) for side, rates in of_sides]
        rows = [
            rates.with_columns(series=pl.lit(side.name))
            for side, (rates, _) in zip(content.sides, courses, strict=True)
        ]
        data = pl.concat(rows)
        if data.is_empty():
            continue
        column = "rate_operations_per_s" if line == "metadata" else "rate_bytes_per_s"
        unit = suited(column, "stat" if line == "metadata" else line, data["rate"])  # type: ignore[arg-type]
        title = f"{line.capitalize()} ({unit.name})"
        panels.append(Panel(title, data.with_columns(pl.col("rate") / unit.divisor)))
        frames.append(data.with_columns(line=pl.lit(line)))
        widths += [step_s for _, step_s in courses]
    if not panels:
        return
    names = [side.name for side in content.sides]
    steps_s = " and ".join(format.duration(step_s * 1e9) for step_s in dict.fromkeys(widths))
    yield draw(
        overlaid.over_time(panels, names),
        "profiles-over-time",
        title="Both over time",
        data=pl.concat(frames).rename({"rate": "rate_per_s"}),
        caption=f"From the first I/O of each. Steps of {steps_s}. Grey: {names[0]}.",
        description=f"Rates of reads, writes and metadata operations of {names[1]} over those of {names[0]}.",
    )


def _course(profile: Profile, line: str, rates: pl.DataFrame, step_s: float) -> tuple[pl.DataFrame, float]:
    """start_s from the first I/O, rate, of a direction (`rates` as `steps` has them); with a row at the end. And how
    long a step is.
    """
    line_rates = rates if line == "metadata" else rates.filter(pl.col("line") == line)
    summed = line_rates.group_by("start_s").agg(pl.col("rate").sum()).sort("start_s")
    begin_s = comparison.begin_s(profile)
    if begin_s is None or not summed["rate"].sum():
        return summed.clear(), step_s
    from_first = summed.with_columns(pl.col("start_s") - begin_s // step_s * step_s).filter(pl.col("start_s") >= 0)
    end_s = float(from_first["start_s"].max()) + step_s  # type: ignore[arg-type]
    return pl.concat([from_first, pl.DataFrame({"start_s": [end_s], "rate": [0.0]})]), step_s


def _sizes(content: Content) -> Iterator[Picture]:
    panels, frames = [], []
    sizes = {side.name: comparison.Sizes(side.profile) for side in content.sides}
    for direction in TRANSFERS:
        spreads = [(side.name, sizes[side.name].spread(REQUESTS[direction])) for side in content.sides]
        known = [(name, spread) for name, spread in spreads if spread is not None]
        if not known:
            continue
        data = pl.concat(
            comparison.cumulated(spread)
            .filter(pl.col("at") > 0)
            .select(size_bytes="at", share="share", series=pl.lit(name))
            for name, spread in known
        )
        panels.append(Panel(direction.capitalize(), data))
        frames.append(data.with_columns(direction=pl.lit(direction)))
    if panels:
        names = [side.name for side in content.sides]
        yield draw(
            overlaid.sizes(panels, names),
            "profiles-sizes",
            title="Sizes of requests",
            data=pl.concat(frames),
            caption=f"The share of requests below each size, as far as it is known. Grey: {names[0]}.",
            description=f"Cumulative shares of the sizes of requests of {names[1]} and of {names[0]}.",
        )

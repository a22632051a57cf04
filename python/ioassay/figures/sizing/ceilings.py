"""What each place on the path of an I/O would carry: a bar per place, the lowest of them marked.

Not: the ceilings (`ioassay.sizing.rates`).
"""

from __future__ import annotations

import altair as alt
import polars as pl

from ioassay.figures import theme

WIDTH, ROW = 360, 21
CUT_OFF = 6
"""Bars of so many times the limit are cut off: next to them, those that matter would have no length."""
LETTER = 6
"""About the width of a letter of a label; panels begin at one place."""
LIMITS, OTHERS = "limits", "would carry more"
"""What a bar may be."""


def chart(data: pl.DataFrame) -> theme.Chart:
    """A panel for each kind of I/O. `data` has a row per kind and place, in the order of the path.

    Columns: panel (its title, with the unit), place, rate (in that unit), label, role (`LIMITS` or `OTHERS`).
    """
    longest = max(len(place) for place in data["place"])
    panels = [_panel(part, str(title), longest) for (title,), part in data.group_by("panel", maintain_order=True)]
    made: alt.VConcatChart = alt.vconcat(*panels, spacing=14).resolve_scale(color="shared")
    return made


def _panel(data: pl.DataFrame, title: str, longest: int) -> theme.Chart:
    cut = CUT_OFF * (data.select(pl.col("rate").min()).item() or 1.0)
    is_cut = pl.col("rate") > cut
    label = pl.when(is_cut).then(pl.col("label") + " (cut off)").otherwise("label")
    shown = data.with_columns(rate=pl.min_horizontal("rate", pl.lit(cut)), label=label)
    highest = shown.select(pl.col("rate").max()).item() or 1.0
    y = alt.Y(
        "place:N",
        sort=data["place"].to_list(),
        title=None,
        axis=alt.Axis(labelLimit=230, ticks=False, domain=False, minExtent=min(LETTER * longest, 230)),
    )
    x = alt.X("rate:Q", title=title, scale=alt.Scale(domain=[0, 1.02 * highest]), axis=alt.Axis(tickCount=5))
    colour = alt.Color(
        "role:N",
        scale=alt.Scale(domain=[LIMITS, OTHERS], range=[theme.VERMILION, theme.SKY]),
        legend=alt.Legend(title=None, orient="bottom", symbolType="square"),
    )
    bars = alt.Chart(shown).mark_bar(height=13).encode(x, y, colour)
    labels = alt.Chart(shown).mark_text(align="left", dx=4, fontSize=10.5, color=theme.INK).encode(x, y, text="label:N")
    return alt.layer(bars, labels).properties(width=WIDTH, height=ROW * data.height)

"""How the ranks spent the time of a phase: open, fill (generating data), transfer, fsync, close; and processor time."""

from __future__ import annotations

import polars as pl

from ioassay.store.measurement import KEY

PARTS = ("open", "fill", "transfer", "fsync", "close")


def shares(ranks: pl.DataFrame) -> pl.DataFrame:
    """Each part's share of all ranks' time between start and end, 0 to 1; the rest is waiting in between.

    Columns: those of `measurement.KEY`, open_share, fill_share, transfer_share, fsync_share, close_share; null if no
    time passed.
    """
    at_work = (pl.col("end_ns") - pl.col("start_ns")).sum()
    return (
        ranks.group_by(*KEY)
        .agg(pl.when(at_work > 0).then(pl.col(f"{part}_ns").sum() / at_work).alias(f"{part}_share") for part in PARTS)
        .sort(*KEY)
    )


def costs(ranks: pl.DataFrame) -> pl.DataFrame:
    """Processor time and related costs of the clients.

    Columns: those of `measurement.KEY`, processor_ns (user and kernel, all ranks), context_switches,
    device_read_bytes and device_write_bytes (each null unless every rank reports it), processor_ns_per_gib
    (null if no byte moved), processor_ns_per_operation (null without operations). Both operations of a mix carry
    the cost of the whole mix.
    """
    spent = _known(pl.col("user_ns") + pl.col("system_ns"))
    gib, operations = pl.col("bytes").sum() / 2**30, pl.col("operations").sum()
    return (
        ranks.group_by(*KEY)
        .agg(
            spent.alias("processor_ns"),
            _known(pl.col("voluntary_switches") + pl.col("involuntary_switches")).alias("context_switches"),
            _known(pl.col("device_read_bytes")),
            _known(pl.col("device_write_bytes")),
            pl.when(gib > 0).then(spent / gib).alias("processor_ns_per_gib"),
            pl.when(operations > 0).then(spent / operations).alias("processor_ns_per_operation"),
        )
        .sort(*KEY)
    )


def _known(amount: pl.Expr) -> pl.Expr:
    """The sum, if every rank has a value."""
    return pl.when(amount.null_count() == 0).then(amount.sum())

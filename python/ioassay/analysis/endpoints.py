"""Rates of the endpoints of an object store, if ranks were distributed over several."""

from __future__ import annotations

import polars as pl

from ioassay.store.measurement import KEY, POINT

_NS_PER_S = 1e9


def by_sweep_point(measurements: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """The median rate of each endpoint over the valid repetitions: bytes of its ranks until the last of them ended.

    Columns: `schema.POINT`, endpoint, endpoint_ranks, bytes_per_s and operations_per_s, ascending by point and
    endpoint. Empty if there is only one endpoint.
    """
    valid = measurements.filter("valid").select("case", *POINT)
    each = (
        ranks.drop_nulls("endpoint")
        .group_by(*KEY, "endpoint")
        .agg(
            pl.len().cast(pl.Int64).alias("endpoint_ranks"),
            (pl.col("bytes").sum() * _NS_PER_S / pl.col("end_ns").max()).alias("bytes_per_s"),
            (pl.col("operations").sum() * _NS_PER_S / pl.col("end_ns").max()).alias("operations_per_s"),
        )
    )
    return (
        each.join(valid, on=list(KEY))
        .group_by(*POINT, "endpoint")
        .agg(pl.col("endpoint_ranks").max(), pl.col("bytes_per_s", "operations_per_s").median())
        .sort(*POINT, "endpoint")
    )

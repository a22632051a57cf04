"""Points of a sweep over axes other than clients and ranks."""

import polars as pl

from ioassay.analysis import axes, peak_sustained, rates, scalability
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder


def swept(*values: int | str, clients: tuple[int, ...] = (1,)) -> LoadedRun:
    builder = RunBuilder().workload("w").clients(*clients).repetitions(3)
    return builder.over("transfer", "bytes" if isinstance(values[0], int) else "word", *values).build()


def points(run: LoadedRun) -> pl.DataFrame:
    return rates.of(rates.points(run.measurements), "w", "write")


def test_points_that_differ_in_another_axis_are_no_repetitions() -> None:
    medians = rates.medians(points(swept(4096, 65536)), "rate_bytes_per_s")
    assert medians["repetitions"].to_list() == [3, 3]
    assert medians["median"][0] > 1.5 * medians["median"][1]


def test_points_ascend_by_number_and_not_by_text() -> None:
    rows = axes.with_column(rates.medians(points(swept(1 << 20, 4096, 65536)), "rate_bytes_per_s"), "transfer")
    assert rows["transfer"].to_list() == [4096, 65536, 1 << 20]


def test_points_are_drawn_against_another_axis_only_if_clients_and_ranks_do_not_differ() -> None:
    assert axes.axis(points(swept(4096, 65536))) == "transfer"
    assert axes.axis(points(swept(4096, 65536, clients=(1, 2)))) == "clients"
    assert axes.axis(points(RunBuilder().workload("w").clients(1).build())) == "clients"


def test_parts_have_all_points_once_by_their_values() -> None:
    all_points = points(swept(65536, 4096, clients=(1, 2)))
    parts = axes.parts(all_points, "clients")
    assert [values for values, _ in parts] == [(("transfer", 4096),), (("transfer", 65536),)]
    assert sum(part.height for _, part in parts) == all_points.height
    ((values, part),) = axes.parts(all_points.filter(clients=1), "transfer")
    assert (values, part.height) == ((), all_points.height // 2)


def test_the_law_of_scaling_is_fitted_for_each_value_of_another_axis() -> None:
    run = swept(4096, 65536, clients=(1, 2, 4, 8))
    sweeps = scalability.sweeps(run.document, rates.points(run.measurements))
    assert [(sweep.series.operation, sweep.others, len(sweep.medians)) for sweep in sweeps] == [
        ("write", (("transfer", 4096),), 4),
        ("write", (("transfer", 65536),), 4),
        ("read", (("transfer", 4096),), 4),
        ("read", (("transfer", 65536),), 4),
    ]
    alone = swept(4096, 65536)
    assert scalability.sweeps(alone.document, rates.points(alone.measurements)) == []


def test_peaks_and_sustained_rates_are_of_the_axis_that_is_swept() -> None:
    run = swept(4096, 65536, 1 << 20)
    (row,) = peak_sustained.table(run.document, rates.points(run.measurements))
    both = row.of("write")
    assert both is not None
    assert (both.peak.axis, both.peak.points, both.sustained.points) == ("transfer", (4096,), (4096, 65536, 1 << 20))


def test_a_peak_states_its_values_on_the_other_axes() -> None:
    run = swept(4096, 65536, clients=(1, 2))
    (row,) = peak_sustained.table(run.document, rates.points(run.measurements))
    both = row.of("write")
    assert both is not None
    assert (both.peak.points, both.peak.others) == ((2,), (("transfer", 4096),))


def test_words_do_not_ascend_so_all_of_them_are_sustained() -> None:
    run = swept("posix", "uring")
    (row,) = peak_sustained.table(run.document, rates.points(run.measurements))
    both = row.of("write")
    assert both is not None
    assert (both.peak.points, both.sustained.points) == (("posix",), ("posix", "uring"))

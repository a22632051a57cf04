"""The tables of a run as frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis import latency
from ioassay.analysis.acceptance import judge
from ioassay.criteria.model import Criterion
from ioassay.criteria.verdicts import check
from ioassay.figures import latency as figure
from ioassay.importers import IMPORTERS
from ioassay.importers.stored import run as imported
from ioassay.reports.document import Section
from ioassay.reports.run.content import assemble
from ioassay.reports.run.results import results
from ioassay.reports.run.tables import (
    TABLES,
    criteria,
    environment,
    findings,
    first_byte_percentiles,
    latency_percentiles,
    medians,
    peaks_and_sustained,
    scores,
)
from ioassay.store import schema
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.store.run_directory import load
from ioassay.store.run_writer import store
from ioassay.testing.builder import RunBuilder
from ioassay.testing.faulty_run import faulty_run
from ioassay.testing.importer_samples import FILES
from ioassay.text import format


def test_every_table_of_a_run_becomes_csv(run: LoadedRun) -> None:
    for name, table in TABLES.items():
        frame = table.of(run)
        assert frame.is_empty() == (
            name in ("sources", "scores", "first-byte-percentiles") or name.startswith("watched")
        ), name
        assert pl.read_csv(frame.write_csv().encode(), infer_schema=False).columns == frame.columns


def test_medians_are_of_bytes_and_of_operations_with_one_confidence() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(3)
    row = medians(builder.rates("w", "write", 1, 1e9, 3e9, 2e9).build()).filter(phase="write").row(0, named=True)
    assert row["repetitions"] == 3
    assert (row["lowest_bytes_per_s"], row["median_bytes_per_s"], row["highest_bytes_per_s"]) == pytest.approx(
        (1e9, 2e9, 3e9)
    )
    assert row["median_operations_per_s"] == pytest.approx(2e9 / 2**20)
    assert (row["low_bytes_per_s"], row["high_bytes_per_s"]) == pytest.approx((1e9, 3e9))
    assert 0.5 < row["confidence"] < 1


def test_peak_and_sustained_have_the_clients_that_they_rest_on() -> None:
    builder = RunBuilder().workload("w").clients(1, 2, 4)
    for clients, rate in ((1, 1e9), (2, 3e9), (4, 2.9e9)):
        builder.rates("w", "write", clients, rate)
    write = peaks_and_sustained(builder.build()).row(0, named=True)
    assert (write["operation"], write["axis"], write["peak_at"], write["sustained_at"]) == (
        "write",
        "clients",
        "2",
        "2;4",
    )
    assert (write["peak_bytes_per_s"], write["sustained_bytes_per_s"]) == pytest.approx((3e9, 2.95e9))
    assert write["peak_operations_per_s"] is None
    assert write["confidence"] is None  # of one repetition nothing is known


def test_percentiles_of_too_few_operations_are_null() -> None:
    run = RunBuilder().workload("w", transfer_bytes=16 << 20).clients(1).build()
    row = latency_percentiles(run).row(0, named=True)
    assert row["operations"] == 64
    assert row["p99_9_ns"] is None
    assert row["p50_ns"] <= row["p90_ns"] <= row["max_ns"]


def test_first_bytes_have_percentiles_of_their_own_beside_the_whole_latency(tmp_path: Path) -> None:
    run = RunBuilder().workload("w", transfer_bytes=16 << 20).clients(1).build()
    reads = run.latencies.filter(operation="read")
    run = replace(run, first_bytes=reads.with_columns(pl.col("lowest_ns", "highest_ns") // 2))
    whole = latency_percentiles(run).filter(operation="read")
    first = first_byte_percentiles(run)
    assert first["operation"].to_list() == ["read"]
    assert first["p50_ns"].item() == whole["p50_ns"].item() // 2
    store(tmp_path / "run", run.document, {name: getattr(run, name).lazy().collect() for name in schema.TABLES})
    rows = {row["operation"]: row["percentiles"] for row in assemble(load(tmp_path / "run")).workloads[0].latencies}
    assert rows["read, first byte"][0] == format.duration(first["p50_ns"].item())
    assert rows["read"][0] == format.duration(whole["p50_ns"].item())
    # A run of an older version has no such table.
    (tmp_path / "run" / "first_bytes.parquet").unlink()
    assert load(tmp_path / "run").first_bytes.is_empty()


def test_the_rates_of_several_endpoints_are_reported_and_that_of_an_only_one_is_not() -> None:
    run = RunBuilder().workload("w").clients(4).build()
    assert assemble(run).workloads[0].endpoints == []
    turns = pl.when(pl.col("rank") % 2 == 0).then(pl.lit("http://a:1")).otherwise(pl.lit("http://b:1"))
    content = assemble(replace(run, ranks=run.ranks.with_columns(endpoint=turns)))
    rows = [(row["operation"], row["endpoint"], row["ranks"]) for row in content.workloads[0].endpoints]
    assert rows == [(name, address, "2") for name in ("write", "read") for address in ("http://a:1", "http://b:1")]
    titles = [block.title for block in results(content, None) if isinstance(block, Section)]
    assert "Rates by endpoint" in titles


@pytest.mark.parametrize("exact", [True, False])
def test_tables_figures_and_verdicts_have_the_same_slowest_operation(exact: bool) -> None:
    builder = RunBuilder().workload("w").clients(1).criterion("slowest_operation", unit="s", at_most=1e-9)
    run = builder.build()
    last = run.latencies.group_by(*KEY).agg(pl.col("lowest_ns", "highest_ns").max())
    exact_ranks = run.ranks.drop("slowest_ns").join(last, on=list(KEY)).with_columns(slowest_ns=pl.col("lowest_ns") + 1)
    ranks = exact_ranks if exact else exact_ranks.with_columns(slowest_ns=pl.lit(None, pl.Int64))
    run = replace(run, ranks=ranks.select(schema.RANKS.names()))
    slowest_ns: int = last.select(pl.col("lowest_ns") + 1 if exact else "highest_ns").max().item()
    assert slowest_ns not in (last["highest_ns"] if exact else last["lowest_ns"])
    assert latency_percentiles(run)["max_ns"].max() == slowest_ns
    drawn = figure.data(latency.by_sweep_point(run.measurements, run.latencies, run.ranks))
    assert drawn.filter(percentile="slowest")["latency_ns"].max() == slowest_ns
    (verdict,) = judge(run)
    assert verdict.value == slowest_ns / 1e9
    limits = ({"name": name, "operation": name, "slowest_operation": "1s"} for name in ("write", "read"))
    of_file = list(map(Criterion.model_validate, limits))
    assert max(criterion_check.value or 0 for criterion_check in check(run, of_file)) == slowest_ns / 1e9


def test_findings_are_sentences_and_criteria_have_their_verdict() -> None:
    frame = findings(faulty_run())
    assert frame["kind"].n_unique() > 3
    assert frame["sentence"].str.ends_with(".").all()
    judged = criteria(RunBuilder().workload("w").clients(1).criterion("rate", unit="bytes/s", at_least=1e15).build())
    assert judged.select("measure", "at_least", "unit", "judgement").row(0) == ("rate", 1e15, "bytes/s", "failed")


def test_scores_are_those_of_the_phases_and_of_the_whole(tmp_path: Path) -> None:
    submission = next(
        candidate for candidate in IMPORTERS["io500"].gather([FILES / "io500"]) if candidate.name == "program-2025"
    )
    store(tmp_path / "run", *imported(submission, ["ioassay"]))
    by_name = {row["name"]: row for row in scores(load(tmp_path / "run")).iter_rows(named=True)}
    assert {"ior-easy-write", "mdtest-hard-stat", "find", "bandwidth", "metadata", "total"} <= set(by_name)
    assert by_name["total"]["score"] == pytest.approx(
        (by_name["bandwidth"]["score"] * by_name["metadata"]["score"]) ** 0.5
    )
    assert (by_name["ior-easy-write"]["unit"], by_name["find"]["unit"], by_name["total"]["unit"]) == (
        "GiB/s",
        "kIOPS",
        None,
    )


def test_facts_of_a_node_have_their_place_in_the_name(run: LoadedRun) -> None:
    facts = environment(run)
    assert facts.filter(fact="memory_bytes")["value"].str.contains(r"^\d+$").all()
    assert facts.filter(pl.col("fact").str.starts_with("mount."))["fact"].n_unique() > 2

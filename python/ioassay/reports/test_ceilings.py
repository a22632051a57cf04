from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from ioassay import reports
from ioassay.analysis.ceilings import doubted
from ioassay.reports import ceilings
from ioassay.reports.document.terminal import rendered
from ioassay.reports.run import RunReport
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.testing.isilon import isilon, paper_figures
from ioassay.testing.net_measurement import net

NET = net(
    4,
    (1, 4, "to-servers", 9.9),
    (1, 4, "to-clients", 5.0),
    (20, 4, "to-servers", 12.0, "processor-bound"),
    (20, 4, "to-clients", 154.0),
)


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    """The whole study behind a network whose single client reads more than its link carries."""
    built = paper_figures(isilon().build())
    built.document.ceilings = NET
    return doubted(built)


def test_the_page_has_the_ceilings_the_shares_and_a_dashed_line(run: LoadedRun) -> None:
    page = reports.build(RunReport(run), "html").decode()
    assert "20 clients → 4 servers" in page
    assert "of the ceiling" in page
    assert "it was busy" in page
    assert 'stroke-dasharray="5,3"' in page
    assert "network: " in page
    without = reports.build(RunReport(RunBuilder().workload("w").clients(1, 2).build()), "html").decode()
    assert 'stroke-dasharray="5,3"' not in without
    assert "ceiling" not in without


def test_every_format_gives_each_rate_its_share(run: LoadedRun) -> None:
    rows = list(csv.DictReader(io.StringIO(reports.build(RunReport(run), "csv").decode())))
    for row in rows:
        share = float(row["rate_bytes_per_s"]) / float(row["ceiling_bytes_per_s"])
        assert float(row["ceiling_share"]) == pytest.approx(share)
    document = json.loads(reports.build(RunReport(run), "json"))
    assert document["run"]["ceilings"]["measurements"][0]["rate_bits_per_s"] == 9.9e9
    assert {row["ceiling_share"] for row in document["measurements"]} == {float(row["ceiling_share"]) for row in rows}
    text = reports.build(RunReport(run), "md").decode()
    assert "| Of the lowest ceiling |" in text
    assert "of 1.24 GB/s, 1 client → 4 servers |" in text
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(rendered(RunReport(run).terminal()))
    assert "% of the ceiling" in console.export_text()


def test_a_rate_above_its_ceiling_is_shown_as_any_doubt(run: LoadedRun) -> None:
    text = reports.build(RunReport(run, is_full=True), "md").decode()
    assert "above-network-ceiling" in text
    assert "of the network (4 servers → 1 client)" in text
    assert "read (invalid)" in text


def test_nodes_that_the_network_was_not_measured_from_are_named() -> None:
    built = isilon().build()
    (host, *_) = [node["host"] for node in built.document.environment]
    assert any(host in sentence for sentence in ceilings.meaning(built.document, NET))
    known = NET.model_copy(update={"clients": [NET.clients[0].model_copy(update={"hostname": host})]})
    assert not any(host in sentence for sentence in ceilings.meaning(built.document, known))

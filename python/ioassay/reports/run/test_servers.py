"""The section about servers and devices, in every format."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

from ioassay import reports
from ioassay.analysis.watch.phases import activity
from ioassay.analysis.watch.timeline import timeline
from ioassay.figures import render
from ioassay.figures import servers as figure
from ioassay.frames import Runs
from ioassay.reports.run import RunReport, servers
from ioassay.reports.run.tables import TABLES
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.store.watch_document import WatchDocument, WatchedHost
from ioassay.store.watched import Watch, WatchTables
from ioassay.testing.builder import RunBuilder
from ioassay.testing.faulty_run import faulty_run


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    return faulty_run()


@pytest.fixture(scope="module")
def markdown(run: LoadedRun) -> str:
    text = reports.build(RunReport(replace(run, samples=run.samples.clear())), "md").decode()
    return text[text.index("## Servers and devices") : text.index("## Findings")]


@pytest.mark.parametrize(
    "line",
    [
        "| rising, 2 clients, repetition 1, write | 200 MB/s | 400 MB/s | 2.00 | – |",
        "| rising, 4 clients, repetition 2, read | 162 MB/s | 16.2 MB/s | 0.10 | – |",
        "| uneven, 2 clients, repetition 5, write | 199 MB/s | 39.8 MB/s | 0.20 | 819 MiB within 8 s |",
        "| Phase | Host | Disks (MB/s), Reads |",
        "| oss1 (server) |",
        "Counted: oss1: sda, eth0;",
    ],
)
def test_each_phase_has_clients_and_disks_side_by_side(markdown: str, line: str) -> None:
    assert line in markdown


def test_a_phase_has_the_doubts_of_what_was_measured_in_it(run: LoadedRun) -> None:
    first = run.measurements.filter(case="rising-c1-r1", phase="write").select(KEY).row(0, named=True)
    doubt = {"kind": "short-phase", "message": "it was short", "remedy": "move more", "invalidates": False}
    doubts = pl.DataFrame([{**first, **doubt}], schema=run.doubts.schema)
    markdown = reports.build(RunReport(replace(run, samples=run.samples.clear(), doubts=doubts)), "md").decode()
    assert "| rising, 1 client, repetition 1, write | 100 MB/s | 202 MB/s | 2.02 | – | [a] |" in markdown
    assert "| rising, 2 clients, repetition 1, write | 200 MB/s | 400 MB/s | 2.00 | – |  |" in markdown


def test_a_run_that_was_not_watched_has_no_section() -> None:
    run = RunBuilder().workload("w").clients(1).build()
    assert servers.TITLE not in reports.build(RunReport(run), "md").decode()
    assert "watched" not in json.loads(reports.build(RunReport(run), "json"))


def test_hosts_that_were_not_watched_are_named() -> None:
    lost = WatchedHost(name="oss1", role="server", file="oss1.jsonl", remark="no route to host")
    run = RunBuilder().workload("w").clients(1).build()
    watch = Watch(WatchDocument(hosts=[lost]), lambda: WatchTables({}, damaged_lines=2, unknown_lines=1))
    text = reports.build(RunReport(replace(run, watch=watch)), "md").decode()
    assert "No host reported anything." in text
    assert "oss1 was not watched: no route to host" in text
    assert "2 damaged lines of the hosts' documents left out." in text
    assert "1 document of another version of the agent left out." in text


def test_typical_phases_of_very_many_are_shown(run: LoadedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MOST_PHASES", 10)
    watched = activity(run)
    assert watched is not None
    shown = servers._shown(watched)
    points = watched.run.measurements.select("workload", "phase", "clients").unique().height
    assert 10 < shown.height <= points < watched.phases.height


def test_the_figure_has_a_panel_for_the_clients_and_for_each_server(run: LoadedRun) -> None:
    watched = activity(run)
    assert watched is not None
    line = timeline(watched)
    assert line is not None
    svg = render.svg(figure.chart(line), "f")
    for text in ("Clients", "oss1: disks and network", "oss4: disks and network", "network in", "MB/s"):
        assert text in svg
    assert "client01" not in svg
    data = figure.data(line)
    assert data["host"].unique(maintain_order=True).to_list() == ["", "oss1", "oss2", "oss3", "oss4"]
    assert "disk_write_bytes_per_s" in data.columns


def test_programs_get_all_of_it(run: LoadedRun) -> None:
    watched = json.loads(reports.build(RunReport(run), "json"))["watched"]
    assert [host["name"] for host in watched["hosts"]] == ["oss1", "oss2", "oss3", "oss4", "client01"]
    assert watched["phases"][0]["disk_write_ratio"] > 0
    runs = Runs({"runs/a": run, "runs/b": RunBuilder().workload("w").clients(1).build()})
    assert runs.watched_phases()["run"].unique().to_list() == ["runs/a"]
    assert {"host", "disk_write_bytes", "processor_busy"} <= {*runs.watched_hosts().columns}
    assert runs.watched().filter(kind="disk", field="write_bytes")["value"].sum() > 0
    for name in ("watched", "watched-phases", "watched-hosts"):
        assert not TABLES[name].of(run).is_empty()

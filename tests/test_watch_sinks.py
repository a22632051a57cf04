"""Sinks of the agent with real stores: all metrics arrive complete, once, with their types; errors are reported.

`crates/agent/examples/deliver.rs` stands for the agent. Stores are those of `make stores`.
"""

from __future__ import annotations

import base64
import http.client
import http.server
import json
import os
import ssl
import subprocess
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.protocol.watch_kinds import DATE_FIELDS
from ioassay.testing import stores
from ioassay.testing.stores import Store

from .support import DEADLINE_S, until

ROOT = Path(__file__).parents[1]
OUTAGE_S = float(os.environ.get("IOASSAY_OUTAGE_S", "5"))
"""How long stores are away under load."""

DOCUMENTS = 40
"""Documents of a second."""

Document = dict[str, Any]
Sink = dict[str, Any]


@pytest.fixture(scope="module")
def installed() -> None:
    if what := stores.missing():
        pytest.skip(f"stores are not installed: {what}")


@pytest.fixture(scope="module")
def opensearch(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.running(stores.opensearch(tmp_path_factory.mktemp("opensearch"))) as store:
        yield store


@pytest.fixture(scope="module")
def influxdb(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.running(stores.influxdb(tmp_path_factory.mktemp("influxdb"))) as store:
        yield store


@pytest.fixture(scope="module")
def victoria(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.running(stores.victoria_metrics(tmp_path_factory.mktemp("victoria"))) as store:
        yield store


@pytest.fixture
def prometheus(installed: None, tmp_path: Path) -> Iterator[Store]:
    with stores.running(stores.prometheus(tmp_path / "prometheus")) as store:
        yield store


class Agent:
    """The program that delivers."""

    def __init__(
        self, deliver: Path, directory: Path, sink: Sink, spool: Path | None = None, spool_bytes: int = 1 << 30
    ) -> None:
        setup = directory / f"agent-{time.monotonic_ns()}.json"
        setup.write_text(
            json.dumps(
                {
                    "version": 1,
                    "tables": "none",
                    "node": False,
                    "contract": None,
                    "run": None,
                    "sinks": [sink],
                    "spool": {"directory": str(spool), "most_bytes": spool_bytes} if spool else None,
                }
            )
        )
        self.process = subprocess.Popen(
            [deliver, setup, "n1", str(DEADLINE_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))

    def give(self, documents: Sequence[Document]) -> dict[str, Any]:
        """Gives documents, and returns the state of the sink."""
        assert self.process.stdin
        before = len(self.said)
        self.process.stdin.write("".join(json.dumps(document) + "\n" for document in documents) + "\n")
        self.process.stdin.flush()
        until(lambda: len(self.said) > before or not self.reader.is_alive(), "the agent to take documents")
        state: dict[str, Any] = json.loads(self.said[-1])
        return state

    def until(self, condition: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        """Waits until the state of the sink satisfies this."""
        until(lambda: condition(self.give([])), f"{what}: {self.said[-1:]}")
        state: dict[str, Any] = json.loads(self.said[-1])
        return state

    def finish(self) -> dict[str, Any]:
        """Ends it, and returns what was left."""
        self.end()
        left: dict[str, Any] = json.loads(self.said[-1])
        return left

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.end()

    def end(self) -> None:
        """Closes its input, and waits until it has ended."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=2 * DEADLINE_S)
        self.reader.join()


def failed_start(deliver: Path, directory: Path, sink: Sink) -> str:
    """The standard error of an agent that cannot start."""
    agent = Agent(deliver, directory, sink)
    agent.end()
    assert agent.process.returncode == 3
    return "\n".join(agent.said)


def server(url: str, **more: str) -> dict[str, Any]:
    return {"url": url, "credentials": None, "authorities": None, "certificate": None, **more}


def elasticsearch(store: Store, prefix: str) -> Sink:
    return {"kind": "elasticsearch", "server": server(store.url), "prefix": prefix}


def line_protocol(store: Store, database: str) -> Sink:
    return {"kind": "influxdb", "server": server(store.url), "query": f"db={database}", "path": "/write"}


def remote_write(store: Store, **more: Any) -> Sink:
    return {"kind": "prometheus-remote-write", "server": server(store.url), **more}


def calls(second: int, number: int, **more: Any) -> Document:
    document = {"kind": "io", "second": second, "node": "n1", "job": str(number), "user": "1000", "class": "read"}
    return {**document, "calls": 3, "bytes": 4096, "busy_ns": 5, "slowest_ns": 6, **more}


NASTY = "a \"b\\c',=d\ne\tf é \u2028 {}$ \\"
"""A text that breaks what does not quote it."""


def create(store: Store, database: str) -> None:
    query = urllib.parse.urlencode({"q": f"CREATE DATABASE {database}"})
    store.ask("/query", query.encode())


def influx_query(store: Store, database: str, query: str) -> list[dict[str, Any]]:
    """The rows of InfluxDB, by column."""
    parameters = urllib.parse.urlencode({"db": database, "q": query, "epoch": "ns"})
    (result,) = json.loads(store.ask(f"/query?{parameters}"))["results"]
    return [
        dict(zip(series["columns"], row, strict=True))
        for series in result.get("series", [])
        for row in series["values"]
    ]


def stored_documents(store: Store, prefix: str) -> list[dict[str, Any]]:
    """All documents of Elasticsearch, with their index."""
    store.ask(f"/{prefix}-*/_refresh", b"")
    documents = []
    query: dict[str, Any] = {"size": 5000, "sort": ["@timestamp", "_id"]}
    while hits := search(store, prefix, query):
        documents += [{**hit["_source"], "_index": hit["_index"]} for hit in hits]
        query["search_after"] = hits[-1]["sort"]
    return documents


def search(store: Store, prefix: str, query: dict[str, Any]) -> list[dict[str, Any]]:
    settings = json.dumps({"persistent": {"indices.id_field_data.enabled": True}}).encode()
    headers = {"Content-Type": "application/json"}
    put = http_put(store, "/_cluster/settings", settings)
    assert put == 200
    answer = json.loads(store.ask(f"/{prefix}-*/_search", json.dumps(query).encode(), headers))
    hits: list[dict[str, Any]] = answer["hits"]["hits"]
    return hits


def http_put(store: Store, path: str, body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", store.port, timeout=DEADLINE_S)
    connection.request("PUT", path, body, {"Content-Type": "application/json"})
    return connection.getresponse().status


def samples(store: Store, selector: str, end_s: float) -> list[list[tuple[float, float]]]:
    """The raw samples of the hour before, of each series, that Prometheus has."""
    parameters = urllib.parse.urlencode({"query": f"{selector}[1h]", "time": end_s})
    answer = json.loads(store.ask(f"/api/v1/query?{parameters}"))
    return [[(time_s, float(value)) for time_s, value in series["values"]] for series in answer["data"]["result"]]


def test_elasticsearch_has_each_document_once_with_its_types(deliver: Path, opensearch: Store, tmp_path: Path) -> None:
    noon, midnight = 1_800_014_400, 1_800_057_600
    documents = [calls(second, number) for second in (noon, midnight - 1, midnight) for number in range(DOCUMENTS)]
    job = {"kind": "job", "second": noon, "node": "n1", "job": NASTY, "user": "1", "command": NASTY}
    documents.append({**job, "user_ns": 2**64 - 1})
    # Once more by another agent, which finds everything there.
    for _ in range(2):
        agent = Agent(deliver, tmp_path, elasticsearch(opensearch, "typed"))
        agent.give(documents)
        left = agent.finish()
        assert (left["spooled"], left["dropped"], left["problem"]) == (0, 0, None)
    stored = stored_documents(opensearch, "typed")
    assert Counter(document["_index"] for document in stored) == {
        "typed-io-2027.01.15": 2 * DOCUMENTS,
        "typed-io-2027.01.16": DOCUMENTS,
        "typed-job-2027.01.15": 1,
    }
    (job,) = (document for document in stored if "command" in document)
    assert (job["command"], job["job"], job["user_ns"]) == (NASTY, NASTY, 2**63 - 1)
    mapping = json.loads(opensearch.ask("/typed-io-2027.01.15/_mapping"))["typed-io-2027.01.15"]["mappings"]
    types = {name: field["type"] for name, field in mapping["properties"].items()}
    assert types == {
        **dict.fromkeys(["@timestamp", *DATE_FIELDS.values()], "date"),
        **dict.fromkeys(["node", "job", "user", "class"], "keyword"),
        **dict.fromkeys(["part", "calls", "bytes", "busy_ns", "slowest_ns"], "long"),
    }


def test_a_template_of_the_site_is_left_alone(deliver: Path, opensearch: Store, tmp_path: Path) -> None:
    template = {"index_patterns": ["site-*"], "template": {"settings": {"number_of_shards": 3}}}
    assert http_put(opensearch, "/_index_template/site", json.dumps(template).encode()) == 200
    agent = Agent(deliver, tmp_path, elasticsearch(opensearch, "site"))
    agent.give([calls(1_800_000_000, 0)])
    assert agent.finish()["problem"] is None
    settings = json.loads(opensearch.ask("/site-io-2027.01.15/_settings"))["site-io-2027.01.15"]["settings"]
    assert settings["index"]["number_of_shards"] == "3"


def test_a_document_that_does_not_fit_is_counted_and_the_others_are_stored(
    deliver: Path, opensearch: Store, tmp_path: Path
) -> None:
    mapping = {"mappings": {"properties": {"job": {"type": "long"}}}}
    assert http_put(opensearch, "/fits-io-2027.01.15", json.dumps(mapping).encode()) == 200
    agent = Agent(deliver, tmp_path, elasticsearch(opensearch, "fits"))
    agent.give([calls(1_800_000_000, 1), calls(1_800_000_000, 2, job="no number"), calls(1_800_000_000, 3)])
    state = agent.until(lambda state: state["refusal"], "a refusal")
    assert "refuses documents (status 400: mapper_parsing_exception" in state["refusal"]
    assert agent.finish()["dropped"] == 1
    assert [document["job"] for document in stored_documents(opensearch, "fits")] == ["1", "3"]


def test_influxdb_has_each_document_once_with_its_types(deliver: Path, influxdb: Store, tmp_path: Path) -> None:
    create(influxdb, "typed")
    second = 1_800_000_000
    documents = [calls(time_s, number) for time_s in (second, second + 1) for number in range(DOCUMENTS)]
    documents += [calls(second, 0, part=part) for part in (1, 2)]
    job = {"kind": "job", "second": second, "node": "n1", "job": NASTY, "user": "1", "command": NASTY}
    documents.append({**job, "user_ns": 2**64 - 1})
    flights = {"kind": "in_flight", "second": second, "node": "n1", "job": "7", "class": "read", "thread": "1"}
    documents += [{**flights, "pid": str(pid), "file": NASTY, "since_ns": pid} for pid in range(DOCUMENTS)]
    for _ in range(2):
        agent = Agent(deliver, tmp_path, line_protocol(influxdb, "typed"))
        state = agent.give(documents)
        left = agent.finish()
        assert (left["spooled"], left["dropped"], left["problem"]) == (0, 0, None), state
    (counted,) = influx_query(influxdb, "typed", "SELECT count(calls), sum(calls) FROM io")
    assert (counted["count"], counted["sum"]) == (2 * DOCUMENTS + 2, 3 * (2 * DOCUMENTS + 2))
    (counted,) = influx_query(influxdb, "typed", "SELECT count(since_ns), sum(since_ns) FROM in_flight")
    assert (counted["count"], counted["sum"]) == (DOCUMENTS, sum(range(DOCUMENTS)))
    types = {row["fieldKey"]: row["fieldType"] for row in influx_query(influxdb, "typed", "SHOW FIELD KEYS FROM job")}
    assert (types["command"], types["user_ns"]) == ("string", "integer")
    (job,) = influx_query(influxdb, "typed", 'SELECT command, "job", user_ns FROM job')
    assert (job["command"], job["user_ns"]) == (NASTY.replace("\n", "\\n"), 2**63 - 1)
    assert job["job"] == NASTY.replace("\\", "/").replace("\n", " ").replace("\t", " ")


def test_a_missing_database_is_reported_and_can_be_created_meanwhile(
    deliver: Path, influxdb: Store, tmp_path: Path
) -> None:
    agent = Agent(deliver, tmp_path, line_protocol(influxdb, "later"), spool=tmp_path / "spool")
    agent.give([calls(1_800_000_000, 0)])
    state = agent.until(lambda state: state["problem"], "a problem")
    assert "create it: influx -execute 'CREATE DATABASE later'" in state["problem"]
    create(influxdb, "later")
    left = agent.finish()
    assert (left["spooled"], left["dropped"]) == (0, 0)
    assert influx_query(influxdb, "later", "SELECT count(calls) FROM io")[0]["count"] == 1


def test_victoria_metrics_takes_line_protocol(deliver: Path, victoria: Store, tmp_path: Path) -> None:
    now = int(time.time()) - 60
    agent = Agent(deliver, tmp_path, line_protocol(victoria, "x"))
    agent.give([calls(now + offset, number) for offset in range(10) for number in range(DOCUMENTS)])
    left = agent.finish()
    assert (left["dropped"], left["problem"]) == (0, None)
    victoria.ask("/internal/force_flush")
    selector = urllib.parse.urlencode({"match[]": '{__name__="io_calls"}'})
    lines = [json.loads(line) for line in victoria.ask(f"/api/v1/export?{selector}").splitlines()]
    assert {line["metric"]["job"] for line in lines} == {str(number) for number in range(DOCUMENTS)}
    assert all(line["values"] == [3] * 10 for line in lines)


def test_prometheus_has_a_sample_of_each_second(deliver: Path, prometheus: Store, tmp_path: Path) -> None:
    now = int(time.time()) - 60
    agent = Agent(deliver, tmp_path, remote_write(prometheus))
    for second in range(now, now + 20):
        agent.give([calls(second, number) for number in range(3)] + [calls(second, 0, part=1, **{"class": "open"})])
    left = agent.finish()
    assert (left["dropped"], left["problem"]) == (0, None)
    (calls_series,) = samples(prometheus, 'ioassay_io_calls_total{node="n1",job="0",class="metadata"}', now + 20)
    assert calls_series == [(now - 0.5, 0.0), *((now + second, 3.0 * (second + 1)) for second in range(20))]
    (slowest,) = samples(prometheus, 'ioassay_io_slowest_ns_max{job="2"}', now + 20)
    assert slowest == [(now + second, 6.0) for second in range(20)]
    rate = urllib.parse.urlencode({"query": "sum(rate(ioassay_io_calls_total[10s]))", "time": now + 19})
    (value,) = json.loads(prometheus.ask(f"/api/v1/query?{rate}"))["data"]["result"]
    assert float(value["value"][1]) == pytest.approx(12)


@pytest.mark.usefixtures("installed")
def test_prometheus_scrapes_the_exporter(deliver: Path, tmp_path: Path) -> None:
    listen = f"127.0.0.1:{stores.free_port()}"
    agent = Agent(deliver, tmp_path, {"kind": "prometheus-exporter", "listen": listen})
    now = int(time.time())
    agent.give([calls(now, 7), {"kind": "job", "second": now, "node": "n1", "job": NASTY, "processes": 4}])
    with stores.running(stores.prometheus(tmp_path / "prometheus", listen)) as store:

        def scraped() -> list[dict[str, Any]]:
            query = urllib.parse.urlencode({"query": '{__name__=~"ioassay_.*"}'})
            result: list[dict[str, Any]] = json.loads(store.ask(f"/api/v1/query?{query}"))["data"]["result"]
            return result

        until(scraped, "Prometheus to ask")
        values = {series["metric"]["__name__"]: float(series["value"][1]) for series in scraped()}
        jobs = {series["metric"]["exported_job"] for series in scraped() if "exported_job" in series["metric"]}
        metadata = json.loads(store.ask("/api/v1/metadata"))["data"]
    agent.finish()
    assert values["ioassay_io_calls_total"] == 3
    assert values["ioassay_job_processes"] == 4
    assert jobs == {"7", NASTY}
    # It asks for OpenMetrics, where the family of a counter has no ending.
    assert metadata["ioassay_io_calls"][0]["type"] == "counter"


def test_polars_reads_parquet_files(deliver: Path, tmp_path: Path) -> None:
    agent = Agent(deliver, tmp_path, {"kind": "parquet", "directory": str(tmp_path / "files"), "file_s": 10})
    second = 1_800_000_000
    for offset in range(25):
        job = {"kind": "job", "second": second + offset, "node": "n1", "job": "7", "command": NASTY}
        agent.give([*(calls(second + offset, number, calls=2**64 - 1) for number in range(DOCUMENTS)), job])
    assert agent.finish()["dropped"] == 0
    assert len(list((tmp_path / "files/io").iterdir())) == 3
    io = pl.scan_parquet(tmp_path / "files/io/*.parquet").collect()
    assert io.schema["calls"] == pl.UInt64
    assert io.schema["time"] == pl.Datetime("ns", "UTC")
    assert (io.height, io["calls"].unique().to_list()) == (25 * DOCUMENTS, [2**64 - 1])
    jobs = pl.scan_parquet(tmp_path / "files/job/*.parquet").collect()
    assert (jobs.height, jobs["command"].unique().to_list(), jobs["processes"].null_count()) == (25, [NASTY], 25)


def _io_of_elasticsearch(store: Store, name: str) -> Counter[tuple[int, str]]:
    documents = pl.DataFrame(stored_documents(store, name)).with_columns(
        pl.col("@timestamp").str.to_datetime(time_zone="UTC")
    )
    return Counter(documents.select(pl.col("@timestamp").dt.epoch("s"), "job").rows())


def _io_of_influxdb(store: Store, name: str) -> Counter[tuple[int, str]]:
    rows = influx_query(store, name, 'SELECT calls, "job" FROM io')
    return Counter((row["time"] // 10**9, row["job"]) for row in rows)


@pytest.mark.parametrize("ends", ["paused", "killed"])
@pytest.mark.parametrize("kind", ["opensearch", "influxdb"])
def test_nothing_is_lost_or_doubled_while_a_store_is_away(
    deliver: Path, kind: str, ends: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store: Store = request.getfixturevalue(kind)
    name = f"away{ends}"
    if kind == "influxdb":
        create(store, name)
    sink = elasticsearch(store, name) if kind == "opensearch" else line_protocol(store, name)
    agent = Agent(deliver, tmp_path, sink, spool=tmp_path / "spool")
    seconds = _give_while_away(agent, store, ends)
    left = agent.finish()
    assert (left["spooled"], left["dropped"], left["problem"]) == (0, 0, None)
    read = _io_of_elasticsearch if kind == "opensearch" else _io_of_influxdb
    stored = read(store, name)
    assert stored == Counter((second, str(number)) for second in seconds for number in range(DOCUMENTS))


@pytest.mark.parametrize("ends", ["paused", "killed"])
def test_no_sample_is_lost_or_doubled_while_prometheus_is_away(
    deliver: Path, prometheus: Store, ends: str, tmp_path: Path
) -> None:
    limits = {"jobs": DOCUMENTS // 2, "devices": 64}
    agent = Agent(deliver, tmp_path, remote_write(prometheus, series=limits), spool=tmp_path / "spool")
    seconds = _give_while_away(agent, prometheus, ends, int(time.time()) - 1800)
    left = agent.finish()
    assert (left["spooled"], left["dropped"], left["problem"]) == (0, 0, None)
    (stored,) = samples(prometheus, 'ioassay_io_calls_total{job="other"}', seconds[-1])
    first = len(stored) - len(seconds)
    assert [time_s for time_s, _ in stored[first:]] == list(seconds)
    jobs = samples(prometheus, "ioassay_io_calls_total", seconds[-1])
    assert sum(series[-1][1] for series in jobs) == 3 * DOCUMENTS * len(seconds)


def _give_while_away(agent: Agent, store: Store, ends: str, begin: int = 1_800_000_000) -> range:
    """Gives documents for seconds while a store is away; every tenth of a second stands for one."""
    second = begin

    def give_for(seconds: float) -> None:
        nonlocal second
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            agent.give([calls(second, number) for number in range(DOCUMENTS)])
            second += 1
            time.sleep(0.1)

    give_for(1)
    store.pause() if ends == "paused" else store.kill()
    give_for(OUTAGE_S)
    assert agent.give([])["waiting"] > 0
    store.resume() if ends == "paused" else store.start()
    give_for(1)
    return range(begin, second)


def test_an_agent_that_is_killed_while_its_store_is_away_loses_nothing(
    deliver: Path, influxdb: Store, tmp_path: Path
) -> None:
    """Except for the latest documents, which stay in memory until the store has failed once."""
    agent = Agent(deliver, tmp_path, line_protocol(influxdb, "killed"), spool=tmp_path / "spool")
    documents = [calls(1_800_000_000, number) for number in range(DOCUMENTS)]
    agent.give(documents[:10])
    agent.until(lambda state: state["problem"], "the database to be missing")
    (spool,) = (tmp_path / "spool").glob("influxdb-*")

    def spooled() -> int:
        return sum(file.stat().st_size for file in spool.glob("*.segment"))

    until(spooled, "documents to be in the spool")
    before = spooled()
    agent.give(documents[10:])
    until(lambda: spooled() > before, "more documents to be in the spool")
    agent.kill()
    create(influxdb, "killed")
    next_agent = Agent(deliver, tmp_path, line_protocol(influxdb, "killed"), spool=tmp_path / "spool")
    left = next_agent.finish()
    assert (left["spooled"], left["dropped"]) == (0, 0)
    assert influx_query(influxdb, "killed", "SELECT count(calls) FROM io")[0]["count"] == DOCUMENTS


def test_a_full_disk_drops_documents_and_reports_it(
    deliver: Path, influxdb: Store, mount: Callable[[str], Path], tmp_path: Path
) -> None:
    disk = mount("size=128k,mode=700")
    agent = Agent(deliver, tmp_path, line_protocol(influxdb, "full"), spool=disk / "spool")
    batches = 0
    state: dict[str, Any] = {"dropped": 0}
    while not state["dropped"]:
        state = agent.give([calls(1_800_000_000 + batches, number, user=os.urandom(500).hex()) for number in range(20)])
        batches += 1
    assert "No space left on device" in state["refusal"]
    assert "the spool cannot be written" in state["refusal"]
    create(influxdb, "full")
    left = agent.finish()
    assert left["spooled"] == 0
    assert "No space left on device" in left["problem"], "why documents were given up"
    (counted,) = influx_query(influxdb, "full", "SELECT count(calls) FROM io")
    assert counted["count"] + left["dropped"] == 20 * batches


@pytest.mark.usefixtures("installed")
def test_a_wrong_password_is_reported_and_can_be_corrected_meanwhile(deliver: Path, tmp_path: Path) -> None:
    with stores.running(stores.influxdb(tmp_path / "influxdb", with_users=True)) as store:
        admin = urllib.parse.urlencode({"q": "CREATE USER admin WITH PASSWORD 'hunter2' WITH ALL PRIVILEGES"})
        store.ask("/query", admin.encode())
        basic = base64.b64encode(b"admin:hunter2").decode()
        store.ask("/query", b"q=CREATE DATABASE x", {"Authorization": f"Basic {basic}"})
        credentials = tmp_path / "credentials"
        credentials.write_text("user admin\npassword hunter3\n")
        credentials.chmod(0o600)
        sink = line_protocol(store, "x")
        sink["server"]["credentials"] = str(credentials)
        agent = Agent(deliver, tmp_path, sink)
        agent.give([calls(1_800_000_000, 0)])
        state = agent.until(lambda state: state["problem"], "a problem")
        assert f"InfluxDB at {store.url} rejects the credentials; check {credentials}" in state["problem"]
        assert "hunter" not in "".join(agent.said)
        assert "hunter" not in Path(f"/proc/{agent.process.pid}/cmdline").read_text()
        credentials.write_text("user admin\npassword hunter2\n")
        assert agent.finish()["problem"] is None


def test_credentials_that_others_can_read_are_refused(deliver: Path, tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text("token hunter2")
    credentials.chmod(0o644)
    sink = {"kind": "prometheus-remote-write", "server": server("http://127.0.0.1:1", credentials=str(credentials))}
    message = failed_start(deliver, tmp_path, sink)
    assert f"chmod 600 {credentials}" in message
    assert "hunter2" not in message


class Certificates:
    """An authority and what it signed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = directory / "authority.pem"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        self._openssl(
            "req", "-x509", *key, "-keyout", "authority.key", "-out", "authority.pem", "-subj", "/CN=authority"
        )

    def certificate(self, name: str, days: int = 2, address: str = "127.0.0.1") -> Path:
        """A file with a certificate and its key."""
        (self.directory / "extensions").write_text(f"subjectAltName=IP:{address}\nbasicConstraints=CA:FALSE\n")
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]
        self._openssl("req", *key, "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", str(days)]
        self._openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-extfile", "extensions", "-out", f"{name}.crt")
        file = self.directory / f"{name}.pem"
        file.touch(0o600)
        file.write_text((self.directory / f"{name}.crt").read_text() + (self.directory / f"{name}.key").read_text())
        return file

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.directory, check=True, capture_output=True)


@contextmanager
def answering(
    status: int, body: bytes = b"", tls: ssl.SSLContext | None = None, wait: threading.Event | None = None
) -> Iterator[str]:
    """A server that answers everything like this, once `wait` is set; its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if wait:
                wait.wait()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST

        def log_message(self, *_: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as listening:
        if tls:
            listening.socket = tls.wrap_socket(listening.socket, server_side=True)
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{listening.server_address[1]}"
        finally:
            listening.shutdown()
            thread.join()


def problem(deliver: Path, directory: Path, sink: Sink) -> str:
    """The problem of a sink that does not deliver."""
    agent = Agent(deliver, directory, sink)
    # Remote write sends a second when the next one begins.
    agent.give([calls(int(time.time()) + second, 0) for second in range(2)])
    try:
        state = agent.until(lambda state: state["problem"] or state["refusal"], "a problem")
        message: str = state["problem"] or state["refusal"]
        return message
    finally:
        agent.kill()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def context(certificate: Path) -> ssl.SSLContext:
    tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls_context.load_cert_chain(certificate)
    return tls_context


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("expired", "has a certificate that has expired; renew it there, and check this node's clock"),
        ("stranger", "of an authority that is not trusted; name a file with its certificate as `authorities`"),
        ("renamed", "has a certificate for another name; use the name in it in `url`"),
    ],
)
def test_an_invalid_certificate_is_reported(
    deliver: Path, certificates: Certificates, tmp_path: Path, fault: str, words: str
) -> None:
    address = "192.0.2.1" if fault == "renamed" else "127.0.0.1"
    tls = context(certificates.certificate(fault, -1 if fault == "expired" else 2, address))
    with answering(204, tls=tls) as url:
        more = {} if fault == "stranger" else {"authorities": str(certificates.authority)}
        sink = {"kind": "influxdb", "server": server(url, **more), "query": "db=x", "path": "/write"}
        message = problem(deliver, tmp_path, sink)
    assert message.startswith(f"InfluxDB at {url} ")
    assert words in message


def test_an_agent_authenticates_with_a_certificate(deliver: Path, certificates: Certificates, tmp_path: Path) -> None:
    tls = context(certificates.certificate("server"))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(certificates.authority)
    with answering(204, tls=tls) as url:
        trusted = server(url, authorities=str(certificates.authority))
        sink = {"kind": "influxdb", "server": trusted, "query": "db=x", "path": "/write"}
        assert "name a file with one as `certificate`" in problem(deliver, tmp_path, sink)
        trusted["certificate"] = str(certificates.certificate("agent"))
        agent = Agent(deliver, tmp_path, sink)
        agent.give([calls(1_800_000_000, 0)])
        assert agent.finish()["problem"] is None


def test_http_instead_of_https_is_reported(deliver: Path, certificates: Certificates, tmp_path: Path) -> None:
    sink: Sink = {"kind": "influxdb", "query": "db=x", "path": "/write"}
    with answering(204) as url:
        sink["server"] = server(url.replace("http:", "https:"), authorities=str(certificates.authority))
        assert "does not speak TLS; its address may begin with http://" in problem(deliver, tmp_path, sink)
    with answering(204, tls=context(certificates.certificate("server"))) as url:
        sink["server"] = server(url.replace("https:", "http:"))
        assert "whether its address begins with https://" in problem(deliver, tmp_path, sink)


@pytest.mark.parametrize("kind", ["elasticsearch", "influxdb", "prometheus-remote-write"])
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (429, "is overloaded; documents wait"),
        (500, "reports an internal error; documents wait"),
        (200, "<html>"),
        (413, "document as too large"),
    ],
)
def test_the_error_response_of_a_store_is_reported(
    deliver: Path, tmp_path: Path, kind: str, status: int, words: str
) -> None:
    more: Sink = {"elasticsearch": {"prefix": "x"}, "influxdb": {"query": "db=x", "path": "/write"}}.get(kind, {})
    with answering(status, b"<html>it is full</html>") as url:
        message = problem(deliver, tmp_path, {"kind": kind, "server": server(url), **more})
    assert words in message
    assert url in message


def test_an_unresponsive_store_is_reported(deliver: Path, tmp_path: Path) -> None:
    wait = threading.Event()
    with answering(204, wait=wait) as url:
        sink = {"kind": "influxdb", "server": server(url), "query": "db=x", "path": "/write"}
        assert "did not answer within 30 s" in problem(deliver, tmp_path, sink)
        wait.set()


def test_a_closed_standard_output_ends_nothing(deliver: Path, tmp_path: Path) -> None:
    agent = Agent(deliver, tmp_path, {"kind": "json-lines", "directory": None})
    assert agent.process.stdout
    agent.give([calls(1_800_000_000, 0)])
    assert json.loads(agent.process.stdout.readline())["kind"] == "io"
    agent.process.stdout.close()
    agent.give([calls(1_800_000_001, 0)])
    state = agent.until(lambda state: state["dropped"], "documents to be dropped")
    assert "standard output was closed by its reader" in state["refusal"]
    assert agent.finish()["dropped"] == 1

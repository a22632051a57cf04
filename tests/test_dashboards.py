"""Every query of the dashboards, asked of real stores as Grafana asks it: it is understood, and the answers agree.

There is no Grafana here. What it makes of a dashboard's queries before a store sees them (variables, intervals, the
body of a search) is done by this module, after its documentation and its data sources.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import time
import urllib.parse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from ioassay.monitoring.dashboards import library
from ioassay.monitoring.dashboards.library import Source
from ioassay.monitoring.dashboards.measures import CLASS_GROUPS, KINDS, field_of, labels
from ioassay.protocol.watch_kinds import DATE_FIELDS, JOB_KINDS
from ioassay.testing import stores
from ioassay.testing.stores import Store

from .support import DEADLINE_S

SECONDS: Final = 60
BEGIN: Final = (int(time.time()) - 600) // 60 * 60
"""A past minute."""

VALUES: Final[Mapping[str, Sequence[str]]] = {
    "node": ("n1", "n2.site"),
    "job": ("4711", "mdtest (1.5) a"),
    "user": ("1000",),
    "class": ("read", "stream write", "open", "MPI read"),
    "device": ("nvme0n1", "sda"),
    "interface": ("eth0",),
    "port": ("mlx5_0/1",),
    "resource": ("cpu", "io", "memory"),
    "mount_point": ("/home", "/proj ects"),
    "export": ("server:/export",),
    "file_system": ("scratch",),
    "target": ("scratch-MDT0000", "scratch-OST0000"),
    "service": ("Lustre OST",),
    "client": ("10.0.0.7@o2ib", "other clients"),
    "stage": ("RPC", "disk I/O"),
    "size": ("1048576",),
    "cluster": ("gpfs.site",),
    "label": ("too many opens",),
    "action": ("monitor",),
    "run": ("20261126-1",),
    "case": ("write-2",),
    "phase": ("write 1",),
    "workload": ("seq-1m",),
    "operation": ("write",),
    "pid": ("77",),
    "thread": ("77", "78"),
}
"""Values of labels and keys, with the letters that queries must protect."""

AMBIGUOUS: Final = {
    kind: [
        field.name
        for field in about.fields
        if field.kind in ("label", "key", "text")
        and any(
            other.name == field.name and other.kind not in ("label", "key", "text")
            for another in KINDS.values()
            for other in another.fields
        )
    ]
    for kind, about in KINDS.items()
}
"""Texts that are numbers in documents of other kinds. Sums over all indices fail in those of the kind, which Grafana
does not mind: there is nothing to find there."""

RARE: Final = {"alert": (20, 40), "phase": (30,)}
"""Kinds of documents that are not of every second."""

Document = dict[str, Any]


def documents() -> Iterator[tuple[str, int, Document]]:
    """The documents of agents on two nodes with two jobs in a minute, of all kinds: kind, second and fields.

    Numbers are the same in every second, so that all ways to add them up over time must agree.
    """
    for kind, about in KINDS.items():
        label_fields = [field for field in about.fields if field.kind in ("label", "key")]
        for values in itertools.product(*(VALUES[field.name] for field in label_fields)):
            document: Document = dict(zip((field.name for field in label_fields), values, strict=True))
            for number, field in enumerate(about.fields):
                if field.kind == "text":
                    document[field.name] = f"{field.name} of {values[0]}"
                elif field.kind not in ("label", "key"):
                    document[field.name] = 1000 + 10 * number + sum(map(len, values))
            if kind == "phase":
                document |= {"begin_ns": (BEGIN + 10) * 10**9, "end_ns": (BEGIN + 30) * 10**9}
            for second in RARE.get(kind, range(SECONDS)):
                yield kind, BEGIN + second, document


# The stores, filled as the sinks of the agent fill them.

MAPPINGS: Final = {
    "date_detection": False,
    "dynamic_templates": [{"texts": {"match_mapping_type": "string", "mapping": {"type": "keyword"}}}],
    "properties": {"@timestamp": {"type": "date"}, "part": {"type": "long"}}
    | {name: {"type": "date", "format": "strict_date_optional_time"} for name in DATE_FIELDS.values()},
}


def with_dates(document: Document) -> Document:
    """The fields of a document, with moments as dates of their own names."""

    def date(ns: int) -> str:
        return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{ns // 10**6 % 1000:03}Z"

    return {
        DATE_FIELDS.get(name, name): date(value) if name in DATE_FIELDS else value for name, value in document.items()
    }


def fill_opensearch(store: Store) -> None:
    header = {"Content-Type": "application/json"}
    template = {"index_patterns": ["ioassay-*"], "template": {"mappings": MAPPINGS}}
    store.ask("/_index_template/ioassay", json.dumps(template).encode(), header)
    lines: list[Document] = []
    for kind, second, document in documents():
        moment = datetime.fromtimestamp(second, UTC)
        lines.append({"create": {"_index": f"ioassay-{kind}-{moment:%Y.%m.%d}"}})
        lines.append({"@timestamp": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "part": 0} | with_dates(document))
    body = "".join(json.dumps(line) + "\n" for line in lines)
    stored = json.loads(store.ask("/_bulk?refresh=true", body.encode(), {"Content-Type": "application/x-ndjson"}))
    assert not stored["errors"]


def class_group(word: str) -> str:
    """What the sinks for Prometheus call a class of calls."""
    return next((group for group, words in CLASS_GROUPS.items() if word in words), word)


def write_blocks(directory: Path) -> None:
    """Writes the data of Prometheus with its own tool."""
    ending = {"amount": "_total", "greatest": "_max", "level": ""}
    samples: dict[tuple[str, str], dict[float, int]] = defaultdict(lambda: defaultdict(int))
    for kind, second, document in documents():
        label_values = {name: str(document[name]) for name in labels(kind) if (kind, name) != ("io", "user")}
        if "class" in label_values:
            label_values["class"] = class_group(label_values["class"])
        text = ",".join(f"{name}={json.dumps(value)}" for name, value in label_values.items())
        if kind in ("alert", "in_flight"):
            samples[f"ioassay_{kind}_total", text][second] += 1
            continue
        for name, number in document.items():
            meaning = field_of(kind, name).kind
            numbers = samples[f"ioassay_{kind}_{name}{ending.get(meaning, '')}", text]
            if meaning in ("amount", "level"):
                numbers[second] += number
            elif meaning in ("greatest", "moment"):
                numbers[second] = max(numbers[second], number)
    lines = []
    for metric, group in itertools.groupby(sorted(samples), key=lambda series: series[0]):
        is_counter = metric.endswith("_total")
        lines.append(f"# TYPE {metric.removesuffix('_total')} {'counter' if is_counter else 'gauge'}")
        for series in group:
            numbers = samples[series]
            if is_counter and numbers:
                # A counter has samples from half a second before its first one, in every second.
                seconds = [min(numbers) - 0.5, *range(min(numbers), BEGIN + SECONDS)]
                totals = itertools.accumulate(numbers.get(second, 0) for second in seconds)
                numbers = dict(zip(seconds, totals, strict=True))
            lines += [f"{metric}{{{series[1]}}} {number} {second}" for second, number in sorted(numbers.items())]
    samples_file = directory / "samples"
    samples_file.write_text("\n".join([*lines, "# EOF", ""]))
    tool = stores.PLACE / "usr/bin/promtool"
    subprocess.run(
        [tool, "tsdb", "create-blocks-from", "openmetrics", samples_file, directory / "data"],
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    if absent := stores.missing():
        pytest.skip(f"not installed: {absent}")
    with stores.running(stores.opensearch(tmp_path_factory.mktemp("opensearch"))) as store:
        fill_opensearch(store)
        yield store


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    if absent := stores.missing():
        pytest.skip(f"not installed: {absent}")
    directory = tmp_path_factory.mktemp("prometheus")
    write_blocks(directory)
    with stores.running(stores.prometheus(directory)) as store:
        yield store


def send(program: Path, directory: Path, sink: Document) -> None:
    """Delivers the documents through the sinks of the agent."""
    setup = directory / "agent.json"
    setup.write_text(json.dumps({"version": 1, "tables": "node", "node": False, "sinks": [sink]}))
    for node in VALUES["node"]:
        node_documents = [entry for entry in documents() if entry[0] in JOB_KINDS and entry[2]["node"] == node]
        lines = []
        for _, group in itertools.groupby(
            sorted(node_documents, key=lambda entry: entry[1]), key=lambda entry: entry[1]
        ):
            lines += [json.dumps({"kind": kind, "second": second} | document) for kind, second, document in group]
            lines.append("")
        command = [str(program), str(setup), node, str(DEADLINE_S)]
        subprocess.run(command, input="\n".join(lines), text=True, check=True, capture_output=True)


def server(store: Store) -> Document:
    return {"url": store.url, "credentials": None, "authorities": None, "certificate": None}


def test_searches_are_tried_on_documents_as_the_sink_stores_them(
    opensearch: Store, deliver: Path, tmp_path: Path
) -> None:
    def stored(prefix: str) -> list[tuple[str, str]]:
        """The documents, with the names of their indices behind the prefix."""
        documents_found: list[tuple[str, str]] = []
        for kind in JOB_KINDS:
            hits = json.loads(opensearch.ask(f"/{prefix}-{kind}-*/_search?size=10000"))["hits"]["hits"]
            documents_found += [
                (hit["_index"].removeprefix(prefix), json.dumps(hit["_source"], sort_keys=True)) for hit in hits
            ]
        return sorted(documents_found)

    def types(prefix: str) -> dict[str, dict[str, str]]:
        prefixes = tuple(f"{prefix}-{kind}-" for kind in JOB_KINDS)
        return {
            index.removeprefix(prefix): {name: field["type"] for name, field in about["mappings"]["properties"].items()}
            for index, about in json.loads(opensearch.ask(f"/{prefix}-*/_mapping")).items()
            if index.startswith(prefixes)
        }

    send(deliver, tmp_path, {"kind": "elasticsearch", "server": server(opensearch), "prefix": "delivered"})
    opensearch.ask("/_refresh", b"")
    assert stored("delivered")
    assert stored("delivered") == stored("ioassay")
    assert types("delivered") == types("ioassay")


def test_expressions_are_tried_on_series_as_the_sink_stores_them(
    prometheus: Store, deliver: Path, tmp_path: Path
) -> None:
    def stored(store: Store) -> dict[str, list[list[float | str]]]:
        names = "|".join(JOB_KINDS)
        expression = f'{{__name__=~"ioassay_({names})_.*"}}'
        parameters = {"query": expression, "start": BEGIN, "end": BEGIN + SECONDS - 1, "step": 1}
        answer = json.loads(store.ask(f"/api/v1/query_range?{urllib.parse.urlencode(parameters)}"))
        return {
            json.dumps(series_answer["metric"], sort_keys=True): series_answer["values"]
            for series_answer in answer["data"]["result"]
        }

    with stores.running(stores.prometheus(tmp_path)) as store:
        send(deliver, tmp_path, {"kind": "prometheus-remote-write", "server": server(store)})
        there = stored(store)
        for series, numbers in stored(prometheus).items():
            if "ioassay_phase_" in series:
                # The sink repeats moments, in every second until the series ends; a block of data has them once.
                assert there[series][0] == numbers[0]
            else:
                assert there[series] == numbers, series


# What Grafana does with a dashboard.

Choices = Mapping[str, str | Sequence[str]]
"""What users chose: one value, several, or all, which is the variable's own word for it."""


def choices(dashboard: library.Json, *, everything: bool) -> Choices:
    """Everything, or every value by its name."""
    chosen: dict[str, str | Sequence[str]] = {}
    for variable in dashboard["templating"]["list"]:
        name = variable["name"]
        if variable["type"] == "textbox":
            chosen[name] = variable["query"]
        elif variable["type"] == "query" and variable.get("multi"):
            groups = [*dict.fromkeys(map(class_group, VALUES["class"]))]
            in_prometheus = dashboard["uid"].endswith("prometheus")
            by_name = groups if name == "class" and in_prometheus else VALUES[name]
            chosen[name] = variable["allValue"] if everything else by_name
        elif variable["type"] == "query":
            chosen[name] = VALUES[name][-1]
    return chosen


def in_promql(text: str, chosen: Choices, step_s: int = 1) -> str:
    def value(match: re.Match[str]) -> str:
        choice = chosen[match[1]]
        if isinstance(choice, str):
            return choice
        escaped = [re.sub(r"[\\$^*{}\[\]'+?.()|]", r"\\\\\g<0>", alternative) for alternative in choice]
        return f"({'|'.join(escaped)})"

    # A data source that is scraped once a second.
    text = text.replace("$__rate_interval", f"{max(step_s + 1, 4)}s").replace("$__range", f"{SECONDS}s")
    return re.sub(r"\$(\w+)", value, text)


def in_lucene(text: str, chosen: Choices) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        choice = chosen[name]
        if choice == "*" or name == "prefix":
            return str(choice)
        if isinstance(choice, str):
            return re.sub(r'([!*+\-=<>\s&|()\[\]{}^~?:\\/"])', r"\\\1", choice)
        return "(" + " OR ".join(json.dumps(alternative) for alternative in choice) + ")"

    return re.sub(r"\$\{(\w+)\}|\$(\w+)", value, text)


def search_body(target: library.Json, chosen: Choices, interval_ms: int) -> bytes:
    """The search that Grafana's data source makes of a target."""
    metrics = {metric["id"]: metric for metric in target["metrics"]}
    filters = [
        {"range": {"@timestamp": {"gte": BEGIN * 1000, "lte": (BEGIN + SECONDS - 1) * 1000, "format": "epoch_millis"}}},
        {"query_string": {"analyze_wildcard": True, "query": in_lucene(target["query"], chosen)}},
    ]
    body: dict[str, Any] = {"size": 0, "query": {"bool": {"filter": filters}}}
    if target["metrics"][0]["type"] == "raw_data":
        body |= {"size": int(metrics["1"]["settings"]["size"]), "sort": [{"@timestamp": {"order": "desc"}}]}
    place = body
    for bucket in target["bucketAggs"]:
        settings = bucket.get("settings", {})
        inner: dict[str, Any] = {}
        match bucket["type"]:
            case "terms":
                ordered_by = metrics[settings["orderBy"]]
                order = "_count" if ordered_by["type"] == "count" else settings["orderBy"]
                if order != "_count":
                    inner["aggs"] = {order: {ordered_by["type"]: {"field": ordered_by["field"]}}}
                size = int(settings["size"])
                inner["terms"] = {"field": bucket["field"], "size": size, "order": {order: settings["order"]}}
            case "filters":
                queries = {filter_setting["label"]: filter_setting["query"] for filter_setting in settings["filters"]}
                inner["filters"] = {
                    "filters": {name: {"query_string": {"query": query}} for name, query in queries.items()}
                }
            case "date_histogram":
                assert settings["interval"] == "auto"
                inner["date_histogram"] = {
                    "field": bucket["field"],
                    "fixed_interval": "$__interval_msms",
                    "min_doc_count": int(settings["min_doc_count"]),
                    "extended_bounds": {"min": BEGIN * 1000, "max": (BEGIN + SECONDS - 1) * 1000},
                    "format": "epoch_millis",
                }
        place.setdefault("aggs", {})[bucket["id"]] = inner
        place = inner
    for metric in metrics.values():
        settings = metric.get("settings", {})
        if metric["type"] == "bucket_script":
            paths = {
                variable["name"]: "_count"
                if metrics[variable["pipelineAgg"]]["type"] == "count"
                else variable["pipelineAgg"]
                for variable in metric["pipelineVariables"]
            }
            place.setdefault("aggs", {})[metric["id"]] = {"bucket_script": {"buckets_path": paths} | settings}
        elif metric["type"] not in ("count", "raw_data"):
            place.setdefault("aggs", {})[metric["id"]] = {metric["type"]: {"field": metric["field"]} | settings}
    return json.dumps(body).replace("$__interval_ms", str(interval_ms)).encode()


def search(store: Store, target: library.Json, chosen: Choices, interval_ms: int = 1000) -> library.Json:
    headers = {"Content-Type": "application/json"}
    answer: library.Json = json.loads(
        store.ask("/ioassay-*/_search", search_body(target, chosen, interval_ms), headers)
    )
    for failure in answer["_shards"].get("failures", []):
        kind = failure["index"].removeprefix("ioassay-").rsplit("-", 1)[0]
        assert any(f"[{name}]" in failure["reason"]["reason"] for name in AMBIGUOUS[kind]), failure
    return answer


Series = dict[tuple[str, ...], dict[int, float]]
"""Numbers by second, by the values of the labels."""


def found_series(target: library.Json, answer: library.Json) -> Series:
    """The series that Grafana reads from the response to a search."""
    shown_metric = next(metric for metric in target["metrics"] if not metric.get("hide"))
    series: Series = {}

    def read(place: library.Json, rest: Sequence[library.Json], key: tuple[str, ...]) -> None:
        buckets = place[rest[0]["id"]]["buckets"] if rest else []
        if not rest:
            number = place["doc_count"] if shown_metric["type"] == "count" else place[shown_metric["id"]]["value"]
            series.setdefault(key, {})[0] = number
        elif rest[0]["type"] == "date_histogram":
            numbers = {
                int(bucket["key"]) // 1000: bucket.get(shown_metric["id"], {}).get("value") for bucket in buckets
            }
            series[key] = {second: number for second, number in numbers.items() if number is not None}
        elif isinstance(buckets, dict):
            for name, bucket in buckets.items():
                read(bucket, rest[1:], (*key, name))
        else:
            for bucket in buckets:
                read(bucket, rest[1:], (*key, bucket["key"]))

    read(answer["aggregations"], target["bucketAggs"], ())
    return series


def evaluate(store: Store, target: library.Json, chosen: Choices) -> Series:
    """The series that Prometheus returns for a target. An invalid expression is an HTTP error."""
    expression = in_promql(target["expr"], chosen)
    if target.get("instant"):
        path, parameters = "/api/v1/query", {"time": BEGIN + SECONDS - 1}
    else:
        path, parameters = "/api/v1/query_range", {"start": BEGIN, "end": BEGIN + SECONDS - 1, "step": 1}
    answer = json.loads(store.ask(f"{path}?{urllib.parse.urlencode({'query': expression} | parameters)}"))
    assert answer["status"] == "success"
    series_by_key: Series = {}
    for series in answer["data"]["result"]:
        numbers = series.get("values") or [series["value"]]
        key = tuple(series["metric"].get(name, "") for name in legend(target))
        series_by_key[key] = {int(second): float(number) for second, number in numbers}
    return series_by_key


def legend(target: library.Json) -> Sequence[str]:
    if "expr" not in target:
        return re.findall(r"{{(?:term )?(\w+)}}", target.get("alias", ""))
    if target.get("instant"):
        return re.findall(r"\w+", re.findall(r"by \(([^)]*)\)", target["expr"])[0])
    return re.findall(r"{{(\w+)}}", target["legendFormat"])


def targets(dashboard: library.Json) -> Iterator[tuple[str, library.Json]]:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f"{dashboard['uid']}: {panel['title']} {target['refId']}", target


NAMES: Final = pytest.mark.parametrize("name", library.NAMES)
EVERYTHING: Final = pytest.mark.parametrize("everything", [True, False])


@NAMES
@EVERYTHING
@pytest.mark.parametrize("source", ["elasticsearch", "opensearch"])
def test_every_search_is_understood_and_finds_something(
    opensearch: Store, name: str, source: Source, everything: bool
) -> None:
    dashboard = library.dashboard(name, source)
    chosen = choices(dashboard, everything=everything)
    for what, target in targets(dashboard):
        answer = search(opensearch, target, chosen)
        assert answer["hits"]["total"]["value"] > 0, what
        if target["metrics"][0]["type"] == "raw_data":
            assert answer["hits"]["hits"], what
        else:
            series = found_series(target, answer)
            assert series, what
            assert any(number for numbers in series.values() for number in numbers.values()), what


@NAMES
@EVERYTHING
def test_every_expression_is_understood_and_finds_something(prometheus: Store, name: str, everything: bool) -> None:
    dashboard = library.dashboard(name, "prometheus")
    chosen = choices(dashboard, everything=everything)
    for what, target in targets(dashboard):
        series = evaluate(prometheus, target, chosen)
        assert series, what
        assert any(number for numbers in series.values() for number in numbers.values()), what


@NAMES
@EVERYTHING
def test_both_kinds_of_stores_show_the_same_numbers(
    opensearch: Store, prometheus: Store, name: str, everything: bool
) -> None:
    searches = library.dashboard(name, "elasticsearch")
    expressions = library.dashboard(name, "prometheus")
    by_title = {what.split(": ", 1)[1]: target for what, target in targets(expressions)}
    compared = 0
    for what, target in targets(searches):
        other = by_title.get(what.split(": ", 1)[1])
        rarely = "-alert-" in target["query"]
        if other is None or other.get("instant") or rarely:
            continue
        here = found_series(target, search(opensearch, target, choices(searches, everything=everything)))
        there = evaluate(prometheus, other, choices(expressions, everything=everything))
        # Elasticsearch knows classes that Prometheus knows as groups: those of the same name are of both.
        is_of_class = "class" in legend(target)
        both = here.keys() & there.keys()
        assert both if is_of_class else here.keys() == there.keys(), (what, here.keys(), there.keys())
        for key in both:
            middle = BEGIN + SECONDS // 2
            assert math.isclose(here[key][middle], there[key][middle], rel_tol=1e-6), (what, key)
            compared += 1
    assert compared > 15


@NAMES
def test_totals_are_of_the_documents_that_were_stored(opensearch: Store, name: str) -> None:
    dashboard = library.dashboard(name, "elasticsearch")
    chosen = choices(dashboard, everything=True)
    for what, target in targets(dashboard):
        if not target["bucketAggs"] or target["bucketAggs"][-1]["type"] == "date_histogram":
            continue
        metric = target["metrics"][0]
        kind = re.findall(r"_index:\$\{prefix\}-(\w+)-", target["query"])[0]
        chosen_jobs = [value for label, value in chosen.items() if label == "job" and value != "*"]
        moved = [*CLASS_GROUPS["read"], *CLASS_GROUPS["write"]]
        counted = moved if '"read"' in target["query"] else VALUES["class"]
        if '"open"' in target["query"]:
            counted = [*moved, *CLASS_GROUPS["metadata"]]
        expected = sum(
            1 if metric["type"] == "count" else document[metric["field"]]
            for document_kind, _, document in documents()
            if document_kind == kind
            and document.get("class", counted[0]) in counted
            and (not chosen_jobs or document.get("job") in chosen_jobs)
            and (name != "node" or document["node"] == chosen["node"])
        )
        series = found_series(target, search(opensearch, target, chosen))
        assert sum(numbers[0] for numbers in series.values()) == expected, what


@NAMES
def test_numbers_do_not_depend_on_the_interval(opensearch: Store, name: str) -> None:
    dashboard = library.dashboard(name, "elasticsearch")
    chosen = choices(dashboard, everything=True)
    for what, target in targets(dashboard):
        buckets = target["bucketAggs"]
        if not buckets or buckets[-1]["type"] != "date_histogram":
            continue
        seconds = found_series(target, search(opensearch, target, chosen))
        longer = found_series(target, search(opensearch, target, chosen, interval_ms=15_000))
        for key, numbers in seconds.items():
            assert math.isclose(numbers[BEGIN + 15], longer[key][BEGIN + 15], rel_tol=1e-6), (what, key)


@NAMES
@pytest.mark.parametrize("source", ["elasticsearch", "prometheus"])
def test_variables_offer_the_values_that_there_are(
    opensearch: Store, prometheus: Store, name: str, source: Source
) -> None:
    dashboard = library.dashboard(name, source)
    chosen = choices(dashboard, everything=False)
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        if source == "elasticsearch":
            query = json.loads(variable["query"])
            target = {
                "query": query["query"],
                "metrics": [{"type": "count", "id": "1"}],
                "bucketAggs": [
                    {"type": "terms", "id": "2", "field": query["field"]}
                    | {"settings": {"size": str(query["size"]), "order": "desc", "orderBy": "1"}}
                ],
            }
            offered = {key[0] for key in found_series(target, search(opensearch, target, chosen))}
        else:
            match = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"])
            assert match
            selected = urllib.parse.urlencode(
                {"match[]": in_promql(match[1], chosen), "start": BEGIN, "end": BEGIN + SECONDS}
            )
            offered = {*json.loads(prometheus.ask(f"/api/v1/label/{match[2]}/values?{selected}"))["data"]}
        values = {*map(class_group, VALUES["class"])} if (variable["name"], source) == ("class", "prometheus") else None
        assert offered == (values or {*VALUES[variable["name"]]}), variable["name"]


@NAMES
def test_marks_are_found(opensearch: Store, prometheus: Store, name: str) -> None:
    searches = library.dashboard(name, "elasticsearch")
    for mark in searches["annotations"]["list"]:
        assert mark["query"] == mark["target"]["query"]
        target = {
            "query": mark["query"],
            "metrics": [{"type": "raw_data", "id": "1", "settings": {"size": "9"}}],
        }
        answer = search(opensearch, target | {"bucketAggs": []}, choices(searches, everything=True))
        document = answer["hits"]["hits"][0]["_source"]
        assert {mark["timeField"], mark["textField"], mark["tagsField"]} <= document.keys()
        if mark["name"] == "Phases":
            regions = {tuple(document[mark[field]] for field in ("timeField", "timeEndField"))}
            dates = with_dates({"begin_ns": (BEGIN + 10) * 10**9, "end_ns": (BEGIN + 30) * 10**9})
            assert regions == {tuple(dates.values())}
            # Grafana asks for regions that begin or end within the time that is shown.
            for field, moment in (("timeField", BEGIN + 10), ("timeEndField", BEGIN + 30)):
                within = {"gte": moment * 1000, "lte": moment * 1000, "format": "epoch_millis"}
                query = {"query": {"range": {mark[field]: within}}}
                response = opensearch.ask(
                    "/ioassay-phase-*/_search", json.dumps(query).encode(), {"Content-Type": "application/json"}
                )
                assert json.loads(response)["hits"]["total"]["value"] > 0, mark[field]
    expressions = library.dashboard(name, "prometheus")
    for mark in expressions["annotations"]["list"]:
        target = mark["target"] | {"legendFormat": mark["titleFormat"]}
        series = evaluate(prometheus, target, choices(expressions, everything=True))
        assert series
        if mark.get("useValueForTime"):
            moment = BEGIN + (10 if "begin" in mark["name"] else 30)
            assert {*next(iter(series.values())).values()} == {moment * 1000}

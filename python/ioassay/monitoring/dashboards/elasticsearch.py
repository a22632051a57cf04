"""Measures as Grafana's queries for Elasticsearch; OpenSearch's data source has the same ones."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from grafana_foundation_sdk.models import elasticsearch as es

from ioassay.monitoring.dashboards.measures import (
    CLASS_GROUP,
    CLASS_GROUPS,
    TOP,
    Group,
    Measure,
    Variable,
    restrictions,
)

TIME: Final = "@timestamp"
"""The second of a document."""
DOCUMENTS: Final = 200
"""Most documents in a table."""


class Query(NamedTuple):
    """A Grafana target, without its data source."""

    query: str
    metrics: list[es.MetricAggregation]
    buckets: list[es.BucketAggregation]


def over_time(measure: Measure, variables: tuple[Variable, ...]) -> Query:
    """The measure over the displayed time."""
    seconds = es.DateHistogram(
        field=TIME, id_val="100", settings=es.ElasticsearchDateHistogramSettings(interval="auto", min_doc_count="0")
    )
    return Query(_documents(measure, variables), _metrics(measure), [*_terms(measure), seconds])


def total(measure: Measure, variables: tuple[Variable, ...]) -> Query:
    """The sum over the displayed time."""
    metric = es.Count(id_val="1") if measure.field is None else es.Sum(id_val="1", field=measure.field)
    return Query(_documents(measure, variables), [metric], _terms(measure))


def documents(kind: str, variables: tuple[Variable, ...]) -> Query:
    """The latest documents of a kind."""
    settings = es.ElasticsearchRawDataSettings(size=str(DOCUMENTS))
    return Query(selector(kind, variables), [es.RawData(id_val="1", settings=settings)], [])


def values(variable: Variable, variables: tuple[Variable, ...]) -> str:
    """The query for the values of a variable."""
    within = tuple(outer for outer in variables if outer.label in variable.within)
    kinds = " OR ".join(_index(kind) for kind in variable.kinds)
    query = " AND ".join([f"({kinds})", *(_chosen(outer) for outer in within)])
    return json.dumps({"find": "terms", "field": variable.label, "size": 500, "query": query})


def selector(kind: str, variables: tuple[Variable, ...]) -> str:
    """The documents of a kind that match the variables."""
    return " AND ".join([_index(kind), *(_chosen(variable) for variable in restrictions(kind, variables))])


def _index(kind: str) -> str:
    # The kind of a document is in the name of its index.
    return f"_index:${{prefix}}-{kind}-*"


def _chosen(variable: Variable) -> str:
    return f"{variable.label}:${variable.label}"


def _documents(measure: Measure, variables: tuple[Variable, ...]) -> str:
    parts = [selector(measure.kind, variables)]
    parts += [f'{label}:"{value}"' for label, value in measure.where]
    if measure.shown_groups:
        parts.append(_classes(measure.shown_groups))
    return " AND ".join(parts)


def _classes(groups: tuple[Group, ...]) -> str:
    words = " OR ".join(f'"{word}"' for group in groups for word in CLASS_GROUPS[group])
    return f"class:({words})"


def _terms(measure: Measure) -> list[es.BucketAggregation]:
    buckets: list[es.BucketAggregation] = []
    for number, label in enumerate(measure.by, start=101):
        if label == CLASS_GROUP:
            filters = [es.Filter(query=_classes((group,)), label=group) for group in measure.shown_groups]
            buckets.append(es.Filters(id_val=str(number), settings=es.ElasticsearchFiltersSettings(filters=filters)))
        else:
            settings = es.ElasticsearchTermsSettings(
                order=es.TermsOrder.DESC, order_by="1", size=str(TOP), min_doc_count="1"
            )
            buckets.append(es.Terms(field=label, id_val=str(number), settings=settings))
    return buckets


def _metrics(measure: Measure) -> list[es.MetricAggregation]:
    field, scale = measure.field, measure.scale
    if measure.meaning == "greatest":
        assert scale == 1, measure
        return [es.Max(id_val="1", field=field)]
    amount: es.MetricAggregation
    amount = es.Count(id_val="1", hide=True) if field is None else es.Sum(id_val="1", field=field, hide=True)
    if measure.per is not None:
        script = f"params.per > 0 ? params.amount * {scale:g} / params.per : null"
        return [
            amount,
            es.Sum(id_val="2", field=measure.per, hide=True),
            _calculated(es.ElasticsearchBucketScriptSettings(script=script), amount="1", per="2"),
        ]
    # Grafana's intervals grow with the displayed time. Divided by them, amounts are per second, levels are means.
    # It is calculated from sums, because a script per document fails in indices of kinds without the field.
    script = f"params.amount * {1000 * scale:g} / (double) $__interval_ms"
    is_zero = measure.meaning in ("amount", "count")
    settings = _ZeroWithoutDocuments(script) if is_zero else es.ElasticsearchBucketScriptSettings(script=script)
    return [amount, _calculated(settings, amount="1")]


class _ZeroWithoutDocuments(es.ElasticsearchBucketScriptSettings):
    """Seconds without documents count as 0. Grafana passes this setting on; the SDK does not have it."""

    def to_json(self) -> dict[str, object]:
        return super().to_json() | {"gap_policy": "insert_zeros"}


def _calculated(settings: es.ElasticsearchBucketScriptSettings, **metrics: str) -> es.BucketScript:
    """A script over metrics, by these names."""
    variables = [es.PipelineVariable(name=name, pipeline_agg=metric) for name, metric in metrics.items()]
    return es.BucketScript(id_val="3", pipeline_variables=variables, settings=settings)

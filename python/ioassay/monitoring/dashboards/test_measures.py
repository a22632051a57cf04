from __future__ import annotations

import pytest

from ioassay.monitoring.dashboards import prometheus
from ioassay.monitoring.dashboards.contents import DASHBOARDS, Dashboard, Panel
from ioassay.monitoring.dashboards.measures import CLASS_GROUPS, Measure, Variable
from ioassay.protocol.record_layout import OPERATIONS

NODE = Variable("node", ("agent",), "Node", only_one=True)
JOBS = Variable("job", ("job",), "Jobs", within=("node",))


def test_every_class_of_calls_on_storage_is_in_one_group() -> None:
    grouped = [word for words in CLASS_GROUPS.values() for word in words]
    assert len(grouped) == len({*grouped})
    assert {*grouped} <= {*OPERATIONS}
    left = {*OPERATIONS} - {*grouped}
    others = {word for word in left if not word.startswith(("MPI ", "elsewhere "))}
    assert others == {"map", "accept", "connect"}


@pytest.mark.parametrize(
    ("measure", "expression"),
    [
        (Measure("io", "bytes"), 'sum(rate(ioassay_io_bytes_total{node="$node",job=~"$job"}[$__rate_interval]))'),
        (Measure("job", "processes"), 'sum(ioassay_job_processes{node="$node",job=~"$job"})'),
        (
            Measure("agent", "late_ns", ("node",)),
            'topk(10, max by (node) (max_over_time(ioassay_agent_late_ns_max{node="$node"}[$__rate_interval])))',
        ),
        (Measure("agent"), 'count(ioassay_agent_resident_bytes{node="$node"})'),
        (Measure("in_flight"), 'sum(rate(ioassay_in_flight_total{node="$node",job=~"$job"}[$__rate_interval]))'),
        (
            Measure("disk", "busy_ns", scale=1e-9),
            '(sum(rate(ioassay_disk_busy_ns_total{node="$node"}[$__rate_interval]))) * 1e-09',
        ),
        (
            Measure("disk", "read_ns", per="reads"),
            'sum(rate(ioassay_disk_read_ns_total{node="$node"}[$__rate_interval]))'
            ' / (sum(rate(ioassay_disk_reads_total{node="$node"}[$__rate_interval])) > 0)',
        ),
    ],
)
def test_the_expression_of_a_measure_depends_on_the_meaning_of_its_field(measure: Measure, expression: str) -> None:
    assert prometheus.over_time(measure, (NODE, JOBS)) == expression


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "io", "field": "bytes", "by": ("device",)},
        {"kind": "disk", "field": "reads", "groups": ("read",)},
        {"kind": "job", "field": "command"},
        {"kind": "job", "field": "processes", "per": "began"},
    ],
    ids=str,
)
def test_a_measure_of_an_unknown_field_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        Measure(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.name)
def test_panels_have_titles_of_their_own_and_measures_of_one_shape(dashboard: Dashboard) -> None:
    panels = [panel for row in dashboard.rows for panel in row.panels]
    titles = [panel.title for panel in panels]
    assert len(titles) == len({*titles})
    for panel in panels:
        if isinstance(panel, Panel):
            assert len({measure.by for measure in panel.measures}) == 1, panel.title
            names = [measure.name for measure in panel.measures]
            assert len(names) == len({*names}), panel.title
            assert panel.unit != "short" or panel.axis, panel.title

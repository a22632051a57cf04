"""What is generated is what Grafana knows, as far as its SDK can say: no Grafana is here to open it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grafana_foundation_sdk", reason="the SDK that generates dashboards is not installed")

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from ioassay.monitoring.dashboards import generate, library
from ioassay.monitoring.dashboards.library import Source
from ioassay.protocol.watch_kinds import DATE_FIELDS, JOB_KINDS

UNKNOWN_TO_THE_SDK = {"gap_policy", "query", "timeField", "timeEndField", "textField", "tagsField"}
"""Keys that Grafana's data source of Elasticsearch reads, or hands on to the store."""
ADDED_BY_THE_SDK = {"placement"}

ALL = pytest.mark.parametrize(
    ("name", "source"), [(name, source) for name in library.NAMES for source in library.SOURCES]
)


def differences(here: Any, there: Any, path: str = "") -> Iterator[str]:
    """The paths at which two documents differ."""
    if isinstance(here, dict) and isinstance(there, dict):
        for key in {**here, **there}:
            if key not in here or key not in there:
                yield f"{path}.{key}"
            else:
                yield from differences(here[key], there[key], f"{path}.{key}")
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for number, (here_item, there_item) in enumerate(zip(here, there, strict=True)):
            yield from differences(here_item, there_item, f"{path}[{number}]")
    elif here != there:
        yield path


@ALL
def test_a_dashboard_has_no_key_that_grafana_does_not_know(name: str, source: Source) -> None:
    plugins.register_default_plugins()
    dashboard = library.dashboard(name, source)
    again = json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder))
    allowed = UNKNOWN_TO_THE_SDK | ADDED_BY_THE_SDK
    unknown = [path for path in differences(dashboard, again) if path.rsplit(".", 1)[-1] not in allowed]
    assert unknown == []


@ALL
def test_an_unknown_key_is_detected(name: str, source: Source) -> None:
    plugins.register_default_plugins()
    dashboard = library.dashboard(name, source)
    panel = next(panel for panel in dashboard["panels"] if panel["type"] == "timeseries")
    panel["fieldConfig"]["defaults"]["custom"]["lineWitdh"] = 2
    again = json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder))
    assert any(path.endswith("lineWitdh") for path in differences(dashboard, again))


@ALL
def test_a_dashboard_asks_only_the_data_source_that_users_choose(name: str, source: Source) -> None:
    dashboard = library.dashboard(name, source)

    def references(place: Any) -> Iterator[Any]:
        if isinstance(place, dict):
            if "datasource" in place:
                yield place["datasource"]
            for inner in place.values():
                yield from references(inner)
        elif isinstance(place, list):
            for inner in place:
                yield from references(inner)

    used_sources = [*references(dashboard)]
    kinds = {"opensearch": "grafana-opensearch-datasource"}
    assert len(used_sources) > 20
    assert all(used_source == {"type": kinds.get(source, source), "uid": "${source}"} for used_source in used_sources)
    assert len(dashboard["uid"]) <= 40


@pytest.mark.parametrize("source", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("name", library.NAMES)
def test_phases_are_regions_between_dates(name: str, source: Source) -> None:
    phases, alerts = library.dashboard(name, source)["annotations"]["list"]
    assert (phases["timeField"], phases["timeEndField"]) == ("begin_time", "end_time")
    moments = {field.name for field in JOB_KINDS["phase"].fields if field.kind == "moment"}
    assert {phases["timeField"], phases["timeEndField"]} == {DATE_FIELDS[name] for name in moments}
    assert alerts["timeField"] == "@timestamp"
    assert "timeEndField" not in alerts


@ALL
def test_panels_do_not_overlap(name: str, source: Source) -> None:
    taken: set[tuple[int, int]] = set()
    panels = library.dashboard(name, source)["panels"]
    for panel in panels:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_links_lead_to_existing_dashboards_and_variables() -> None:
    for source in library.SOURCES:
        text = "".join(library.text(name, source) for name in library.NAMES)
        followed = 0
        for name in library.NAMES:
            dashboard = library.dashboard(name, source)
            variables = {variable["name"] for variable in dashboard["templating"]["list"]}
            for label in ("node", "job", "file_system", "mount_point"):
                link = f"/d/{dashboard['uid']}?var-{label}="
                if link in text:
                    assert label in variables
                    followed += text.count(link)
        assert followed == text.count('"/d/')


def test_a_stale_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate.main(["--check"]) == 0
    monkeypatch.setattr(generate, "PLACE", tmp_path)
    assert generate.main([]) == 0
    (tmp_path / "job-prometheus.json").write_text("{}\n")
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err.count("is stale") == 1

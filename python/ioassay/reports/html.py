"""The report as one HTML page that needs nothing but itself: style, script, figures and their data are in it."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from ioassay.reports import ceilings, pictures, wording
from ioassay.reports.content import assemble, commands
from ioassay.reports.io500 import NOTE
from ioassay.reports.workloads import Column
from ioassay.results.document import RunDocument
from ioassay.results.loaded import LoadedRun
from ioassay.units import format_count

_TEMPLATES = Path(__file__).parent / "templates"


def page(run: LoadedRun) -> str:
    """The page of a run."""
    content = assemble(run)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            content=content,
            document=run.document,
            study=run.document.study,
            asked=wording.asked(content),
            lab=wording.lab(content),
            measured=wording.measured(content),
            sources=wording.sources(content),
            commands_title=wording.commands_title(content),
            errors=wording.errors(content),
            results=wording.results(content),
            state=wording.state(content),
            missing=wording.missing(content),
            wide=wording.wide(content),
            trust=wording.trust(content),
            score_note=NOTE,
            interval_note=wording.intervals(content),
            ceilings=_ceilings(run.document),
            acceptance=wording.acceptance(content),
            rates=pictures.rates(content),
            survey_pictures=pictures.surveys(content),
            latencies=pictures.latencies(content, run),
            timelines=pictures.timelines(content, run),
        )
    )


def _ceilings(document: RunDocument) -> dict[str, object] | None:
    """The section about the network, where the run has its ceilings."""
    net = document.ceilings
    if net is None:
        return None
    return {
        "heads": ceilings.HEADS,
        "lines": ceilings.lines(net),
        "remarks": ceilings.remarks(net),
        "notes": [*ceilings.method(net), *ceilings.meaning(document, net)],
    }


def _groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """What stands above columns, and above how many beside one another."""
    return [(group, len(list(own))) for group, own in itertools.groupby(columns, key=lambda column: column.group)]


def environment() -> jinja2.Environment:
    """What all templates are rendered with: their folder, filters and globals."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["csv_link"] = _csv_link
    made.filters["drawn"] = Markup  # only for SVG that `figures.render` made
    made.filters["moment"] = wording.moment
    made.filters["setting"] = wording.setting
    made.filters["by_message"] = wording.by_message
    made.filters["shell"] = shlex.join
    made.filters["commands"] = commands
    made.filters["groups"] = _groups
    made.filters["shown"] = wording.shown
    made.globals["count"] = format_count
    return made


def _csv_link(text: str) -> str:
    """A `data:` URI: a download that needs neither a network nor a script."""
    return "data:text/csv;charset=utf-8," + quote(text, safe=",;:/ -_.()")

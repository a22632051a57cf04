"""The report as one HTML page that needs nothing but itself: style, script, figures and their data are in it."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence

import jinja2

from ioassay.reports import ceilings
from ioassay.reports.compare import document as comparisons
from ioassay.reports.compare.content import Content as Comparison
from ioassay.reports.document import html as documents
from ioassay.reports.run import abstract, matrix, wording
from ioassay.reports.run.abstract import key_results
from ioassay.reports.run.content import Content, commands
from ioassay.reports.run.io500 import NOTE
from ioassay.reports.run.pictures import Pictures
from ioassay.reports.run.workloads import Column
from ioassay.results.document import RunDocument
from ioassay.units import format_count


def page(content: Content, drawn: Pictures, comparison: Comparison | None = None) -> str:
    """The page of a run, with a section for its comparison with others where there is one.

    `drawn` is what `pictures.drawn` makes of both.
    """
    document = content.document
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            content=content,
            document=document,
            study=document.study,
            running=document.study.title,
            sections=_sections(content, comparison),
            # What the page says in words, it asks for where it says it.
            abstract=abstract,
            key_results=key_results,
            matrix=matrix,
            wording=wording,
            score_note=NOTE,
            ceilings=_ceilings(document),
            rates=drawn.rates,
            survey_pictures=drawn.surveys,
            latencies=drawn.latencies,
            timelines=drawn.timelines,
            comparison=comparison,
            comparison_blocks=comparisons.section(comparison, drawn.compared) if comparison else [],
        )
    )


def _sections(content: Content, comparison: Comparison | None) -> list[tuple[str, str]]:
    """(anchor and template, title) of the sections after the abstract, in the order of a paper."""
    return [
        ("configuration", "Configuration"),
        ("method", "Method"),
        ("results", "Results"),
        *([("comparison", "Comparison")] if comparison else []),
        *([("findings", "Findings")] if content.findings else []),
        ("limits", "Limits"),
        ("appendix", "Appendix"),
    ]


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
    made = documents.environment()
    made.filters["setting"] = wording.setting
    made.filters["by_message"] = wording.by_message
    made.filters["shell"] = shlex.join
    made.filters["commands"] = commands
    made.filters["groups"] = _groups
    made.filters["shown"] = wording.shown
    made.globals["count"] = format_count
    return made

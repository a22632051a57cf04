"""The result of `ioassay size explain`, as a report. Not: computing (`ioassay.sizing.evaluate`)."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.reports import Report
from ioassay.reports.sizing.explanation.explained import Content, explain
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.sizing.configurations import choose
from ioassay.sizing.published.check import check
from ioassay.sizing.published.model import Published


@dataclass(frozen=True)
class ExplanationReport(Report[Content]):
    """The configurations of a file. Its table has a row for each, its data have every step."""

    content: Content


def report(file: ConfigurationFile, catalogue: Catalogue, name: str | None = None) -> ExplanationReport:
    """All configurations of a file with its published figures, or the configuration of that name.

    Raises `UsageError` for what the file or the catalogue does not have.
    """
    if name is not None:
        chosen, configuration = choose(file, name)
        explained = [explain(catalogue, chosen, configuration)]
        return ExplanationReport(Content(file, catalogue, explained, Published.nothing()))
    explained = [
        explain(catalogue, configuration_name, configuration)
        for configuration_name, configuration in file.configurations.items()
    ]
    published = check(catalogue, file, {explanation.size.name: explanation.size for explanation in explained})
    return ExplanationReport(Content(file, catalogue, explained, published))

"""A trend as one HTML page that needs nothing but itself."""

from __future__ import annotations

from ioassay import __version__
from ioassay.reports.html import environment
from ioassay.reports.trend import wording
from ioassay.reports.trend.content import Content
from ioassay.reports.trend.pictures import pictures


def page(content: Content) -> str:
    """The page."""
    return (
        environment()
        .get_template("trend.html.j2")
        .render(content=content, pictures=pictures(content), wording=wording, version=__version__)
    )

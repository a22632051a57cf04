"""A comparison as one HTML page that needs nothing but itself."""

from __future__ import annotations

from ioassay import __version__
from ioassay.reports.compare.content import Content
from ioassay.reports.compare.pictures import pictures
from ioassay.reports.html import environment


def page(content: Content) -> str:
    """The page."""
    return (
        environment()
        .get_template("compare.html.j2")
        .render(content=content, running=content.title, pictures=pictures(content), version=__version__)
    )

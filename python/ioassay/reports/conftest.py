from __future__ import annotations

import pytest

from ioassay.errors import CannotRun
from ioassay.reports import pdf
from ioassay.store.loaded import LoadedRun
from ioassay.testing.isilon import doubted, isilon, paper_figures


@pytest.fixture(scope="session")
def run() -> LoadedRun:
    """The whole study, with doubts, an invalid measurement and criteria."""
    builder = doubted(isilon())
    builder.doubt("random-small-c8-r1", "write", "failed", "it ended: EIO", "check the disk", invalidates=True)
    builder.criterion("failed_phases", unit="1", at_most=0)
    builder.criterion("rate", unit="bytes/s", of="sequential-n-n", operation="write", at_least=1e8)
    return paper_figures(builder.build())


@pytest.fixture
def browser() -> None:
    """Skips the test where no browser is installed."""
    try:
        pdf.find_browser()
    except CannotRun as error:
        pytest.skip(f"a browser cannot be had: {error.message}")

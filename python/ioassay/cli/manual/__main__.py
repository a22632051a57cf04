"""`python -m ioassay.cli.manual DIR`: writes all manual pages into a directory, for packages."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from ioassay.cli.manual import command_pages, program_pages
from ioassay.errors import IoassayError
from ioassay.processes.engine import find_agent, find_engine


def main(place: Path) -> None:
    """Writes the pages, dated by SOURCE_DATE_EPOCH if it is set. Raises `CannotRun` where a program is missing."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(seconds), UTC) if seconds else datetime.now(UTC)
    date = f"{moment:%Y-%m-%d}"
    place.mkdir(parents=True, exist_ok=True)
    programs = (find_engine(), find_agent())
    for page in (
        *command_pages.pages(date),
        *(page for program in programs for page in program_pages.pages(program, date)),
    ):
        (place / f"{page.name}.1").write_text(page.source(), encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m ioassay.cli.manual DIR")
    try:
        main(Path(sys.argv[1]))
    except IoassayError as error:
        sys.exit(f"{error.message}\n  {error.remedy}")

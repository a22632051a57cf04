"""elbencho 1.0 to 3.1: its CSV, its JSON, its console's tables and its live statistics.

`rows` is a phase in any of these formats; `table`, `document`, `console` and `live` read them, `cases` puts the phases
of one execution together. Formats: breuner/elbencho (`source/Statistics.cpp`, `source/ProgArgs.cpp`) at 1.0-0 to 3.1-9.
Latencies are those of `--lathisto` (`latencies`), which the JSON and the console have. Not: percentiles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ioassay.importers.elbencho import cases, console, document, live, table
from ioassay.importers.elbencho.rows import Row
from ioassay.importers.model import Case, OpenSibling
from ioassay.importers.source import Refused, Source

_JSON_FILE = re.compile(r'"--jsonfile" "([^"]+)"')


def read(source: Source, open_sibling: OpenSibling) -> list[Case]:
    """The cases of a file. Where elbencho wrote a CSV and a JSON file, the JSON counts: its numbers are exact. Raises
    `Refused`.
    """
    if source.text.lstrip().startswith("{"):
        return list(cases.of(document.rows(source)))
    if live.is_live(source.text):
        return list(cases.of(live.rows(source)))
    if console.is_console(source.text):
        return list(cases.of(console.rows(source)))
    if not table.is_results(source.text):
        raise Refused(
            "is not output of elbencho: its CSV begins with its columns (do not use --nocsvlabels), its JSON with "
            "{, its table with OPERATION"
        )
    return list(cases.of(_with_exact(table.rows(source), open_sibling)))


def _with_exact(rows: Sequence[Row], open_sibling: OpenSibling) -> list[Row]:
    """The rows, each replaced by the row of the JSON file for the same phase, if there is one."""
    exact: dict[tuple[str, str], Row] = {}
    for name in dict.fromkeys(match[1] for row in rows for match in _JSON_FILE.finditer(row.command)):
        if (sibling := open_sibling(name.rsplit("/", 1)[-1])) is not None and sibling.text.lstrip().startswith("{"):
            exact |= {row.key: row for row in document.rows(sibling)}
    csv_keys = {row.key for row in rows}
    return [*(exact.get(row.key, row) for row in rows), *(row for key, row in exact.items() if key not in csv_keys)]

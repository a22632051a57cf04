"""The tables of the documentation that rest on simulations have the numbers of a kept run of these simulations.

A table of the documentation is made of columns and rows of one that a program of `bench/statistics` has printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
RUN = max((ROOT / "bench" / "statistics" / "runs").iterdir())
"""The newest: their names begin with the date."""

PAGES = ("docs/concepts/statistics.md", "docs/concepts/measuring.md", "docs/guides/continuous-integration.md")


class Table(NamedTuple):
    """A table of Markdown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def of(self, columns: tuple[str, ...]) -> set[tuple[str, ...]]:
        """Its rows with these columns alone."""
        places = [self.columns.index(column) for column in columns]
        return {tuple(row[place] for place in places) for row in self.rows}


def tables(page: Path) -> Iterator[Table]:
    """All tables of a page, in their order."""
    for text in re.findall(r"(?:^\|.*\|\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        head, _, *rows = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines())
        yield Table(head, tuple(rows))


KEPT = {program.stem: list(tables(program)) for program in sorted(RUN.glob("*.md")) if program.stem != "README"}


def measured(page: str) -> Iterator[tuple[Table, Table]]:
    """The tables of a page whose columns a program prints, each with the printed one."""
    for table in tables(ROOT / page):
        for printed in (program_table for program in KEPT.values() for program_table in program):
            if set(table.columns) <= set(printed.columns):
                yield table, printed


@pytest.mark.parametrize("page", PAGES)
def test_every_row_of_a_simulated_table_was_printed_by_its_simulation(page: str) -> None:
    pairs = list(measured(page))
    assert pairs
    for table, printed in pairs:
        for row in table.rows:
            assert row in printed.of(table.columns), f"{' | '.join(row)} is not in {RUN.name}"


def test_every_table_of_the_page_on_statistics_was_simulated() -> None:
    page = PAGES[0]
    assert [table.columns for table, _ in measured(page)] == [table.columns for table in tables(ROOT / page)]


def test_every_simulation_is_documented() -> None:
    printed = {table.columns for page in PAGES for _, table in measured(page)}
    undocumented = [
        name for name, kept_tables in KEPT.items() if not any(table.columns in printed for table in kept_tables)
    ]
    assert undocumented == []
    assert {program.stem for program in (ROOT / "bench" / "statistics").glob("*.py")} == {*KEPT, "run", "table"}

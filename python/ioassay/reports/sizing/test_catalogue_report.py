from __future__ import annotations

import json
from io import StringIO

from rich.console import Console

from ioassay import reports
from ioassay.reports.document import Section, Table, non_empty
from ioassay.reports.document.terminal import rendered
from ioassay.reports.sizing.catalogue import CatalogueReport
from ioassay.sizing.catalogue import load
from ioassay.sizing.components import Brick, Drive


def test_every_component_of_the_catalogue_is_listed() -> None:
    catalogue = load()
    text = reports.build(CatalogueReport(catalogue), "md").decode()
    assert all(f"| {name} |" in text for name in catalogue.entries)


def test_a_named_component_has_its_figures_with_their_sources() -> None:
    blocks = CatalogueReport(load(), ["md3460-controllers"]).terminal()
    (figures,) = (block for block in blocks if isinstance(block, Table))
    assert ["write", "4.5 GB/s (4.45 to 4.55)", "Published: md3460-ieel, paper:29, 279"] in figures.rows
    assert [block.title for block in non_empty(blocks) if isinstance(block, Section)] == ["Controllers"]


def test_the_list_of_all_components_is_no_wider_than_80_columns_and_has_a_line_for_each_drive_and_brick() -> None:
    catalogue = load()
    written = StringIO()
    Console(file=written, width=80).print(rendered(CatalogueReport(catalogue).terminal()))
    lines = written.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for kind in (Drive, Brick):
        for entry in catalogue.all(kind):
            assert sum(line.split()[:1] == [entry.name] for line in lines) == 1
    (ddn,) = (line.split() for line in lines if line.split()[:1] == ["ddn-ai400x2-turbo"])
    assert ddn == ["ddn-ai400x2-turbo", "24", "60.95", "GB/s", "110", "GB/s", "2", "2.4", "kW"]


def test_the_list_of_all_components_marks_what_is_assumed() -> None:
    sections = [block for block in CatalogueReport(load()).terminal() if isinstance(block, Section)]
    (drives,) = (table for table in sections[0].blocks if isinstance(table, Table))
    (qlc,) = (row for row in drives.rows if row[0] == "qlc-30.72tb")
    assert qlc[:6] == ["qlc-30.72tb", "30.72TB", "3.3 GB/s*", "7 GB/s*", "", "25 W"]


def test_the_data_have_parts_and_figures_of_a_brick_in_base_units() -> None:
    names = ["md3460-performance", "md3460-controllers"]
    data = json.loads(reports.build(CatalogueReport(load(), names), "json"))
    brick, controllers = (data["components"][name] for name in names)
    assert brick["parts"]["r620"] == 1
    assert controllers["figures"]["write"]["write_bytes_per_s"]["nominal"] == 4.5e9

from __future__ import annotations

import json

from ioassay import reports
from ioassay.reports.document import Section, Table, shown
from ioassay.reports.sizing.catalogue import CatalogueReport
from ioassay.sizing.catalogue import load


def test_every_component_of_the_catalogue_is_listed() -> None:
    catalogue = load()
    text = reports.build(CatalogueReport(catalogue), "md").decode()
    assert all(f"| {name} |" in text for name in catalogue.entries)


def test_a_named_component_has_its_figures_with_their_sources() -> None:
    found = CatalogueReport(load(), ["md3460-controllers"]).terminal()
    (figures,) = (block for block in found if isinstance(block, Table))
    assert ["write", "4.5 GB/s (4.45 to 4.55)", "md3460-ieel, paper:29, 279"] in figures.rows
    assert [block.title for block in shown(found) if isinstance(block, Section)] == ["Controllers"]


def test_the_data_have_parts_and_figures_of_a_brick_in_base_units() -> None:
    names = ["md3460-performance", "md3460-controllers"]
    data = json.loads(reports.build(CatalogueReport(load(), names), "json"))
    brick, controllers = (data["components"][name] for name in names)
    assert brick["parts"]["r620"] == 1
    assert controllers["figures"]["write"]["write_bytes_per_s"]["nominal"] == 4.5e9

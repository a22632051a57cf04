"""Published numbers in words: of the built-in racks, and of a table in which all is well."""

from __future__ import annotations

from ioassay.reports.document import Document
from ioassay.reports.document.markdown import rendered
from ioassay.reports.sizing.published import blocks
from ioassay.sizing.catalogue import load
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.published.check import check


def text(file: ConfigurationFile) -> str:
    catalogue = load()
    sizes = {name: evaluate(catalogue, name, one) for name, one in file.configurations.items()}
    return "".join(rendered(Document("Table", blocks(check(catalogue, file, sizes)))))


def test_the_racks_of_the_paper_are_explained_in_sentences() -> None:
    said = text(read("md3460-racks")[0])
    assert "As PiB, 5 of 6 capacities follow; 2.1 PB would be 2.04" in said
    assert "1.4PB of performance-8 × 3/2: 2.1" in said
    assert "write and read are stated as 26 GB/s (paper:249) and 29 GB/s (paper:255), which contradict" in said
    assert "It can be per usable capacity or per drive: one md3460-capacity costs 1.95 md3460-performance." in said
    assert "would cost 1.95 (by capacity-2), but 1.73 (by capacity-3 and capacity-3-6tb)" in said
    assert "although it has all parts of that and 2 md3060e and 120 nl-sas-4tb more" in said
    assert "6 bricks × 4.5 GB/s" in said


def test_gb_that_must_be_tb_are_named_with_what_fits() -> None:
    said = text(read("pixstor")[0])
    assert "6144 GB (4-arrays-expanded) fits TB: 6,144." in said
    assert "1,000 times as much" in said


def test_a_table_in_which_all_follows_gets_one_sentence() -> None:
    brick = {"brick": "md3460-performance", "count": "2", "drive": "nl-sas-4tb"}
    stated = {"what": "raw", "value": "480 TB", "at": "paper:1"}
    file = ConfigurationFile.model_validate(
        {
            "name": "table",
            "title": "A table",
            "sources": {"paper": {"title": "A paper"}},
            "configurations": {"rack": {"bricks": [brick], "stated": [stated]}},
        }
    )
    assert "All published numbers follow from the arithmetic as printed." in text(file)

"""What bricks survive, as a table and for other programs."""

from __future__ import annotations

from ioassay.reports.document import Document
from ioassay.reports.document.markdown import rendered
from ioassay.reports.sizing.survival import data, survival
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Size


def size(file: str, name: str) -> tuple[Catalogue, Size]:
    document, catalogue = read(file)
    return catalogue, evaluate(catalogue, name, document.configurations[name])


def test_every_failure_domain_has_a_row_with_its_reason() -> None:
    text = "".join(rendered(Document("Survival", [survival(*size("md3460-racks", "performance-8"))])))
    assert "| Drives of a group | 2 | raid6 has 2 parity to 8 data in each stripe." in text
    for what in ("RAID controllers of a pair or group", "Enclosures", "Servers"):
        assert f"| {what} |" in text
    assert "Bricks do not protect each other" in text


def test_a_brick_without_redundancy_survives_no_drive() -> None:
    (brick,) = data(*size("beegfs", "nvme-small"))
    assert brick["drives_of_a_group"] == {"count": 0, "reason": "Nothing protects the drives.", "is_assumed": False}

"""The built-in configurations say what their sources print, and the arithmetic reproduces what is exact of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.components import Brick
from ioassay.sizing.configurations import LIBRARY, read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Size
from ioassay.sizing.names import parts
from ioassay.sizing.quantities import Quantity
from ioassay.sizing.test_catalogue import assert_printed
from ioassay.yaml_models.source import SourceError

FILES = {name: read(name)[0] for name in LIBRARY.sources()}
CONFIGURATIONS = [(file, name) for file in FILES for name in FILES[file].configurations]


def size(file: str, name: str) -> Size:
    """All that follows from a built-in configuration."""
    configurations, catalogue = read(file)
    return evaluate(catalogue, name, configurations.configurations[name])


@pytest.mark.parametrize(("file", "name"), CONFIGURATIONS)
def test_every_built_in_configuration_can_be_evaluated(file: str, name: str) -> None:
    assert size(file, name).capacity.usable.nominal > 0


@pytest.mark.parametrize(("file", "name"), CONFIGURATIONS)
def test_every_published_number_stands_where_it_says(file: str, name: str) -> None:
    configuration = FILES[file].configurations[name]
    for statement in configuration.stated:
        assert_printed(statement.value, statement.qualifier, statement.at, FILES[file].sources)
    for _, part in parts(configuration, []):
        if isinstance(part, Quantity) and part.at is not None and part.value is not None:
            assert_printed(part.value, part.qualifier, part.at, FILES[file].sources)


@pytest.mark.parametrize(("file", "name"), CONFIGURATIONS)
def test_every_price_is_relative_to_a_configuration_of_the_same_file(file: str, name: str) -> None:
    for statement in FILES[file].configurations[name].stated:
        assert statement.relative_to is None or statement.relative_to in FILES[file].configurations


@pytest.mark.parametrize(
    ("file", "name", "terabytes"),
    [
        ("md3460-racks", "capacity-2", 2 * 3 * 60 * 4),
        ("md3460-racks", "performance-6", 6 * 60 * 4),
        ("md3460-racks", "capacity-3", 3 * 3 * 60 * 4),
        ("md3460-racks", "performance-8", 8 * 60 * 4),
        ("md3460-racks", "capacity-3-6tb", 3 * 3 * 60 * 6),
        ("md3460-racks", "performance-8-6tb", 8 * 60 * 6),
        ("pixstor", "1-array", 1008),
        ("pixstor", "4-arrays", 4032),
        ("pixstor", "1-array-expanded", 2016),
        ("pixstor", "4-arrays-expanded", 8064),
        ("astra", "lustre", 1344),
        ("isilon-2018", "f800", 96),
        ("isilon-2018", "h600", 72),
    ],
)
def test_raw_capacities_come_out_exactly(file: str, name: str, terabytes: int) -> None:
    raw = size(file, name).capacity.raw
    assert raw.is_exact
    assert raw.interval.nominal == terabytes * 10**12


def test_protected_capacity_of_the_largest_pixstor_is_the_printed_formatted_capacity() -> None:
    assert size("pixstor", "4-arrays-expanded").capacity.protected.interval.nominal == 6144 * 10**12


@pytest.mark.parametrize(("name", "units"), [("capacity-3", 39), ("performance-8", 40), ("performance-8-6tb", 40)])
def test_the_racks_of_the_md3460_paper_fit_a_rack(name: str, units: int) -> None:
    height = size("md3460-racks", name).rack_units
    assert height is not None
    assert height.nominal == units


def test_bricks_of_the_md3460_paper_hold_as_many_drives_as_it_prints() -> None:
    _, catalogue = read("md3460-racks")
    counts = {
        name: catalogue.find(f"md3460-{name}", Brick).drive_count for name in ("performance", "tested", "capacity")
    }
    assert counts == {"performance": 60, "tested": 120, "capacity": 180}


MINE = """\
name: mine
title: What we want
catalogues: [ours.yaml]
configurations:
  small:
    bricks: [{brick: ours, count: 1}]
"""
OURS = """\
name: ours
title: What we have
bricks:
  ours:
    title: Ours
    drives: [nl-sas-4tb]
    drive_count: 12
    redundancy: {layout: raid6, data: 10, parity: 2, groups: 1}
"""


def test_the_catalogues_of_a_configuration_are_found_beside_it(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(OURS)
    (tmp_path / "mine.yaml").write_text(MINE)
    file, catalogue = read(str(tmp_path / "mine.yaml"))
    assert evaluate(catalogue, "small", file.configurations["small"]).capacity.raw.nominal == 48e12


def test_an_unknown_configuration_gets_the_nearest_proposed() -> None:
    with pytest.raises(UsageError, match="did you mean `md3460-racks`"):
        read("md3460-rack")


def test_a_price_that_is_relative_to_nothing_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(f"{MINE}    stated:\n      - {{what: price, value: '0.65', at: sheet}}\n")
    with pytest.raises(SourceError, match=r"mine\.yaml:8: .*give `relative_to` with `price`"):
        read(str(tmp_path / "mine.yaml"))

"""The built-in catalogue says what its sources print, and what is wrong in a catalogue is refused with its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Origin
from ioassay.sizing.catalogue import LIBRARY, Entry, load
from ioassay.sizing.components import Brick, CatalogueFile, Component, Drive, Enclosure, FileSystem
from ioassay.sizing.evaluate import brick_size
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.names import parts
from ioassay.sizing.quantities import Quantity
from ioassay.systems.extract import read_printed
from ioassay.systems.library import builtin_systems
from ioassay.systems.model import Document, Place, Qualifier
from ioassay.yaml_models.source import SourceError
from ioassay.yaml_models.validate import validate

PRINTED = read_printed()
CATALOGUE = load()
FILES = {name: validate(CatalogueFile, source.tree) for name, source in LIBRARY.sources().items()}
CHOICES = [
    BrickChoice(entry.name, drive)
    for entry in CATALOGUE.all(Brick)
    for drive in CATALOGUE.find(entry.name, Brick).drives
]


def assert_printed(value: str, qualifier: Qualifier, place: Place, sources: dict[str, Document]) -> None:
    """Fails unless each named line of a seed prints `value`, and qualifies it so; other sources have no lines."""
    file = sources[place.source].file
    if file is None:
        assert not place.lines, f"{place} names lines of a text that is not held"
        return
    assert place.lines, place
    written = {value, value.replace("Gbit/s", "GbE")}
    for line in map(str, place.lines):
        assert written & {*PRINTED[file].lines.get(line, [])}, f"{value} is not in {file}:{line}"
        qualifiers = {how for how, lines in PRINTED[file].qualified.items() if value in lines.get(line, [])}
        assert qualifiers == {qualifier} - {"exact"}, f"{value} at {file}:{line}"


@pytest.mark.parametrize("name", FILES)
def test_every_built_in_figure_stands_where_it_says(name: str) -> None:
    for _, part in parts(FILES[name], []):
        if isinstance(part, Quantity) and part.at is not None:
            assert part.value is not None
            assert_printed(part.value, part.qualifier, part.at, FILES[name].sources)


@pytest.mark.parametrize("name", FILES)
def test_every_built_in_component_says_where_its_counts_come_from(name: str) -> None:
    for _, part in parts(FILES[name], []):
        if isinstance(part, Component) and name != "file-systems":
            assert part.at is not None or part.assumed is not None, part.title


@pytest.mark.parametrize("name", FILES)
def test_every_source_of_a_built_in_catalogue_is_used(name: str) -> None:
    named = {part.at.source for _, part in parts(FILES[name], []) if isinstance(part, Quantity | Component) and part.at}
    assert named == {*FILES[name].sources}


def test_seeds_are_cited_as_the_published_systems_cite_them() -> None:
    cited = {document for system in builtin_systems().values() for document in system.sources.values()}
    for file in FILES.values():
        assert {document for document in file.sources.values() if document.file} <= cited


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.name)
def test_every_built_in_brick_can_be_evaluated(choice: BrickChoice) -> None:
    size = brick_size(CATALOGUE, choice)
    assert 0 < size.capacity.usable.nominal <= size.capacity.protected.nominal <= size.capacity.raw.nominal
    assert size.rack_units is not None
    assert size.rack_units.nominal > 0
    assert {"write", "read"} <= {*size.rates["healthy"]}


def test_every_built_in_brick_fills_its_enclosures() -> None:
    for entry in CATALOGUE.all(Brick):
        brick = CATALOGUE.find(entry.name, Brick)
        slots = [CATALOGUE.find(name, Enclosure).slots * count for name, count in brick.enclosures.items()]
        assert not slots or brick.drive_count == sum(slots), entry.name


def test_groups_and_spares_of_a_built_in_brick_take_all_its_drives() -> None:
    for entry in CATALOGUE.all(Brick):
        brick = CATALOGUE.find(entry.name, Brick)
        of = brick.redundancy
        drives = of.groups * of.children if of.children else of.groups * (of.data + (of.parity or 0)) + of.spares
        assert drives == brick.drive_count, entry.name


@pytest.mark.parametrize("entry", CATALOGUE.entries.values(), ids=lambda entry: entry.name)
def test_every_built_in_figure_has_a_source_and_is_published_or_assumed(entry: Entry) -> None:
    for _, part in parts(entry.component, []):
        if isinstance(part, Quantity):
            origin = CATALOGUE.number(part, "figure", entry, (entry.name, "figure")).origin
            assert isinstance(origin, Origin)
            assert origin.kind in ("published", "assumed")
            assert len(origin.source) > 10, origin.source


@pytest.mark.parametrize("name", FILES)
def test_every_source_of_a_built_in_catalogue_can_be_found(name: str) -> None:
    for source in FILES[name].sources.values():
        assert source.publisher is not None, source.title
        assert source.file or source.url or source.date or "page" in source.title, source.title


class Sheet(NamedTuple):
    """What a sheet, or the arithmetic on it by hand, says of a brick."""

    brick: str
    drive: str
    usable_tb: float
    within: float
    write_gb: float
    read_gb: float
    rack_units: int
    watts: float | None = None


_GIB = 2**30 / 1e9

SHEETS = [
    Sheet("ddn-ai400x2-turbo", "tlc-15.36tb", 242_982 * 2**30 / 1e12, 0.03, 56.7624 * _GIB, 110, 2, 2400),
    Sheet("wekapod-nitro", "tlc-7.68tb", 484, 0.001, 8 * 32, 8 * 71, 8, 6400),
    Sheet("wekapod-nitro", "tlc-15.36tb", 968, 0.001, 8 * 32, 8 * 71, 8, 6400),
    Sheet("beegfs-ef600", "tlc-15.36tb", 4 * 10 * 15.36, 0.001, 21 * _GIB, 64 * _GIB, 2 * 2 + 2 * 2),
    Sheet("beegfs-ef300-disks", "exos-x24-24tb", 12 * 8 * 24, 0.001, 2 * 9.6 * 0.8, 2 * 9.6, 2 * 2 + 2 * 4 + 2 * 2),
    Sheet("lustre-me5084", "exos-m-30tb", 8 * 8 * 30, 0.01, 5.75, 6.95, 5 + 2 * 2),
    Sheet("cray-c500", "tlc-7.68tb", 112_596.9 * 2**30 / 1e12, 0.11, 65, 85, 2),
]


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: f"{sheet.brick} with {sheet.drive}")
def test_a_brick_holds_does_and_takes_what_its_sheet_says(sheet: Sheet) -> None:
    size = brick_size(CATALOGUE, BrickChoice(sheet.brick, sheet.drive), conditions=["healthy"])
    rates = size.rates["healthy"]
    assert float(size.capacity.usable.nominal) / 1e12 == pytest.approx(sheet.usable_tb, rel=sheet.within)
    assert float(rates["write"].value.nominal) / 1e9 == pytest.approx(sheet.write_gb)
    assert float(rates["read"].value.nominal) / 1e9 == pytest.approx(sheet.read_gb)
    assert size.rack_units is not None
    assert size.rack_units.nominal == sheet.rack_units
    assert (None if size.power is None else float(size.power.nominal)) == sheet.watts


@pytest.mark.parametrize(
    ("drive", "allocated", "printed"), [("tlc-3.84tb", 4 * 0.215, 119.80), ("tlc-7.68tb", 4 * 0.225, 251.89)]
)
def test_the_capacities_of_netapps_building_block_follow_in_tebibytes_of_the_part_that_it_allocates(
    drive: str, allocated: float, printed: float
) -> None:
    protected = brick_size(CATALOGUE, BrickChoice("beegfs-ef600", drive), conditions=[]).capacity.protected
    assert float(protected.nominal) / 2**40 * allocated == pytest.approx(printed, rel=0.004)


def test_qlc_drives_and_disks_of_all_sizes_of_2022_to_2026_are_in_the_catalogue() -> None:
    drives = [CATALOGUE.value(entry.name, "capacity", "capacity") for entry in CATALOGUE.all(Drive)]
    sizes = {float(size.nominal) / 1e12 for size in drives if size is not None}
    assert {30.72, 61.44, 122.88, 24, 26, 30, 32} <= sizes


def test_an_unknown_name_gets_the_nearest_proposed() -> None:
    with pytest.raises(UsageError, match='no brick "md3460-capacty": did you mean `md3460-capacity`') as error:
        CATALOGUE.find("md3460-capacty", Brick)
    assert "catalogue" in error.value.remedy
    with pytest.raises(UsageError, match='no drive "md3460-capacity"'):
        CATALOGUE.find("md3460-capacity", Drive)


MINE = """\
name: mine
title: What we have
sources:
  sheet: {title: Data sheet}
drives:
  nl-sas-20tb:
    title: Nearline SAS disk of 20 TB
    media: hdd
    capacity: {value: 20TB, at: sheet}
bricks:
  md3460-20tb:
    title: MD3460 with larger drives
    drives: [nl-sas-20tb]
    drive_count: 60
    redundancy: {layout: raid6, data: 8, parity: 2, groups: 6}
    enclosures: {md3460: 1}
    controllers: {md3460-controllers: 1}
    servers: {r620: 2}
"""


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    """A catalogue as a file."""
    path = folder / name
    path.write_text(text)
    return path


def test_a_catalogue_of_ones_own_builds_on_built_in_components(tmp_path: Path) -> None:
    catalogue = load([written(tmp_path, MINE)])
    size = brick_size(catalogue, BrickChoice("md3460-20tb", "nl-sas-20tb"))
    assert size.capacity.raw.nominal == 1200e12
    assert size.rack_units is not None
    assert size.rack_units.nominal == 6
    assert catalogue.find("md3460-performance", Brick)


def test_catalogues_of_ones_own_build_on_each_other_in_any_order(tmp_path: Path) -> None:
    drives, bricks = MINE.split("bricks:\n")
    first = written(tmp_path, f"name: bricks\ntitle: Bricks\nbricks:\n{bricks}", "a.yaml")
    assert load([first, written(tmp_path, drives, "b.yaml")]).find("md3460-20tb", Brick)


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("value: 20TB, at: sheet", "value: 20TB", "capacity: needs one source; give `at`"),
        ("value: 20TB, at: sheet", "value: 20TB, at: sheet, assumed: I think so", "capacity: needs one source"),
        (
            "value: 20TB, at: sheet",
            "value: 20W, at: sheet",
            'capacity: "20W" has the wrong unit; write for example 4TB',
        ),
        ("value: 20TB, at: sheet", "value: 20 tons, at: sheet", 'capacity: "20 tons" has the unknown unit "tons"'),
        ("value: 20TB, at: sheet", "at: sheet", "capacity: has its number twice or not at all"),
        (
            "value: 20TB, at: sheet",
            "value: 20TB, at: shet",
            'capacity.at: the source "shet" is unknown; did you mean `sheet`',
        ),
        ("value: 20TB, at: sheet", "figure: md3460-iel/brick", "capacity.figure: .*did you mean `md3460-ieel`"),
        ("value: 20TB, at: sheet", "figure: md3460-ieel/brik", "capacity.figure: .*did you mean `brick`"),
        ("value: 20TB, at: sheet", "figure: md3460-ieel/brick", 'capacity: "4.5GB/s" is in bytes/s; use bytes'),
    ],
)
def test_a_wrong_figure_is_refused_with_its_line(tmp_path: Path, right: str, wrong: str, problem: str) -> None:
    with pytest.raises(SourceError, match=rf"mine\.yaml:9: drives\.nl-sas-20tb\.{problem}") as error:
        load([written(tmp_path, MINE.replace(right, wrong))])
    assert len(error.value.problems) == 1


@pytest.mark.parametrize(
    ("right", "wrong", "line", "problem"),
    [
        ("[nl-sas-20tb]", "[nl-sas-20t]", 13, 'no drive "nl-sas-20t"; did you mean `nl-sas-20tb`'),
        ("[nl-sas-20tb]", "[md3460]", 13, 'no drive "md3460"'),
        ("{md3460: 1}", "{md346: 1}", 16, 'no enclosure "md346"; did you mean `md3460`'),
        ("{r620: 2}", "{fdr: 2}", 18, 'no server "fdr"'),
        ("groups: 6}", "groups: 6}\n    file_system: zsf", 16, 'no file system "zsf"; did you mean `zfs`'),
        (
            "{r620: 2}",
            "{r620: 2}\n    measured: {random_read: {rate: {value: 1GB/s, at: sheet}}}",
            19,
            'measured.random_read.rate: "1GB/s" is in bytes/s; use operations/s',
        ),
        ("  md3460-20tb:", "  md3460:", 11, '"md3460" is already in the catalogue; call it differently'),
    ],
)
def test_a_wrong_name_is_refused_with_its_line(tmp_path: Path, right: str, wrong: str, line: int, problem: str) -> None:
    with pytest.raises(SourceError, match=rf"mine\.yaml:{line}: .*{problem}"):
        load([written(tmp_path, MINE.replace(right, wrong))])


def test_every_problem_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    text = MINE.replace("{r620: 2}", "{r62: 2}").replace("[nl-sas-20tb]", "[x]").replace("at: sheet", "at: y")
    with pytest.raises(SourceError) as error:
        load([written(tmp_path, text)])
    assert [re.search(r":(\d+)", problem.origin.place)[1] for problem in error.value.problems] == ["9", "13", "18"]  # type: ignore[index]


def test_a_catalogue_can_be_named_without_a_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, MINE)
    monkeypatch.chdir(tmp_path)
    assert load([Path("mine.yaml")]).find("md3460-20tb", Brick)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("lustre-ldiskfs", "ldiskfs"),
        ("Lustre_ldiskfs", "ldiskfs"),
        ("lustre", "ldiskfs"),
        ("ZFS", "zfs"),
        ("OpenZFS", "zfs"),
        ("XFS", "xfs"),
        ("EXT4", "ext4"),
        ("Spectrum Scale", "gpfs"),
        ("storage-scale", "gpfs"),
        ("GPFS", "gpfs"),
        ("PowerScale", "onefs"),
        ("wekafs", "weka"),
        ("CephFS", "ceph"),
        ("ldisk", "ldiskfs"),
    ],
)
def test_a_file_system_by_another_of_its_names_is_suggested_by_what_it_means(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"did you mean `{meant}`"):
        load().find(written, FileSystem)

"""Limits of file systems: what is within, what is beyond, and that a search leaves out what is beyond."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.sizing.capacity.limits import FileSystemLimit, limits, limits_of_brick
from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.configuration import BrickCount, Configuration
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.search.read import read
from ioassay.sizing.search.search import search

_CATALOGUE = """
name: own
title: For a test
drives:
  drive: {{title: A drive, media: hdd, capacity: {{value: {drive}, assumed: for a test}}}}
bricks:
  brick:
    title: A brick
    drives: [drive]
    drive_count: {drives}
    redundancy: {redundancy}
    file_system: {file_system}
    rack_units: 4
    measured: {{write: {{rate: {{value: 1GB/s, assumed: for a test}}}}}}
    scaling: {{by: linear, because: for a test}}
"""

_CHOICE = BrickChoice("brick", "drive")


def _catalogue(folder: Path, file_system: str, data: int, drive: str, layout: str = "raid6") -> Catalogue:
    text = _CATALOGUE.format(
        drive=drive,
        drives=data + 2,
        redundancy=f"{{layout: {layout}, data: {data}, groups: 1}}",
        file_system=file_system,
    )
    (folder / "own.yaml").write_text(text)
    return load([folder / "own.yaml"])


def _exceeded(catalogue: Catalogue) -> list[FileSystemLimit]:
    return [limit for limit in limits_of_brick(catalogue, _CHOICE) if not limit.is_kept]


@pytest.mark.parametrize(
    ("file_system", "data", "drive", "what"),
    [
        ("ldiskfs", 36, "30TB", []),
        ("ldiskfs", 38, "30TB", ["capacity of a target"]),  # 1.14 PB; 1024 TiB are 1.126 PB
        ("ldiskfs-2.8", 10, "28TB", []),
        ("ldiskfs-2.8", 10, "30TB", ["capacity of a target"]),  # 256 TiB are 281.5 TB
        ("ext4", 9, "6TB", []),  # 50 TiB are 55 TB
        ("ext4", 7, "8TB", ["capacity of a target"]),
        ("ext4", 10, "30TB", ["capacity of a target", "inodes of a target"]),  # 2^32 × 64 KiB are 256 TiB
        ("xfs", 38, "30TB", []),
    ],
)
def test_targets_beyond_what_is_supported_are_seen(
    tmp_path: Path, file_system: str, data: int, drive: str, what: list[str]
) -> None:
    exceeded = _exceeded(_catalogue(tmp_path, file_system, data, drive))
    assert [limit.what for limit in exceeded] == what
    assert all(limit.source for limit in exceeded)


def test_a_wide_raidz_group_is_beyond_what_is_recommended_and_is_still_considered(tmp_path: Path) -> None:
    (wide,) = _exceeded(_catalogue(tmp_path, "lustre-zfs", 10, "10TB", "raidz2"))
    assert (wide.what, wide.has.nominal, wide.kind) == ("drives of a raidz group", 12, "recommended")


def test_targets_of_a_file_system_are_counted_over_all_bricks(tmp_path: Path) -> None:
    catalogue = _catalogue(tmp_path, "ldiskfs", 8, "10TB")
    for count, is_kept in ((8150, True), (8151, False)):
        configuration = Configuration(bricks=[BrickCount.model_construct(brick="brick", count=count, drive="drive")])
        *_, targets, _ = limits(catalogue, evaluate(catalogue, "many", configuration, ["healthy"]))
        assert (targets.what, targets.is_kept) == ("targets of ldiskfs", is_kept)


@pytest.mark.parametrize(
    ("file_system", "most", "note"),
    [("ldiskfs", 2000, "160 if formatted"), ("ldiskfs-2.8", 160, "ea_inode"), ("lustre-zfs", 2000, "")],
)
def test_more_targets_than_one_file_can_use_are_named_and_still_considered(
    tmp_path: Path, file_system: str, most: int, note: str
) -> None:
    catalogue = _catalogue(tmp_path, file_system, 8, "10TB")
    for count, is_kept in ((most, True), (most + 1, False)):
        configuration = Configuration(bricks=[BrickCount.model_construct(brick="brick", count=count, drive="drive")])
        *_, limit = limits(catalogue, evaluate(catalogue, "many", configuration, ["healthy"]))
        assert (limit.what, limit.kind, limit.is_kept) == (
            f"targets of {file_system} for one file",
            "recommended",
            is_kept,
        )
        assert note in limit.source


def test_targets_of_beegfs_are_counted_whatever_file_system_they_have() -> None:
    catalogue = load()
    bought = BrickCount.model_construct(brick="beegfs-capacity-medium", count=2, drive="nl-sas-4tb")
    *_, targets = limits(catalogue, evaluate(catalogue, "two", Configuration(bricks=[bought]), ["healthy"]))
    assert (targets.what, targets.has.nominal, targets.most.nominal) == ("targets of beegfs", 32, 65535)


def test_a_search_leaves_out_what_is_beyond_the_limits_and_says_so_with_the_source(tmp_path: Path) -> None:
    _catalogue(tmp_path, "ldiskfs-2.8", 10, "30TB")
    file = tmp_path / "needs.yaml"
    file.write_text("name: test\ncatalogues: [own.yaml]\nbricks: [brick]\nusable: 1PB\n")
    result = search(*read(file))
    assert result.verdict == "impossible"
    (beyond,) = result.beyond_limits
    assert beyond.startswith(
        "brick with drive: capacity of a target 300 TB (272.8 TiB), at most 281.5 TB (256 TiB) supported."
    )
    assert "Lustre Operations Manual" in beyond


def test_a_search_buys_no_more_targets_than_one_file_system_takes(tmp_path: Path) -> None:
    _catalogue(tmp_path, "ldiskfs", 8, "10TB")
    file = tmp_path / "needs.yaml"
    file.write_text("name: test\ncatalogues: [own.yaml]\nbricks: [brick]\nwrite: 8200GB/s\n")
    result = search(*read(file))
    assert result.verdict == "impossible"
    assert result.shortfalls[0].best.nominal == 8150e9

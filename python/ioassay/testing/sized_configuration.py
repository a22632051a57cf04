"""A brick with a drive of which every figure is known, and the size of a configuration of it.

Not: sizes of built-in bricks, of which some figures are unknown.
"""

from __future__ import annotations

from pathlib import Path

from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Size

RAID6 = "{layout: raid6, data: 8, parity: 2, groups: 6}"

DRIVE = {
    "write": "200MB/s",
    "read": "250MB/s",
    "annual_failure_rate": "1%",
    "read_error_every": "125TB",
}


def sized(
    folder: Path,
    redundancy: str = RAID6,
    *,
    drive_count: int = 60,
    bricks: int = 2,
    kinds: int = 1,
    without: str = "",
    **drive: str,
) -> tuple[Catalogue, Size]:
    """`bricks` bricks of each of several kinds, all of drives of 4 TB.

    `without` is a figure that the drive lacks, `drive` has other ones.
    """
    figures = {key: value for key, value in {**DRIVE, **drive}.items() if key != without}
    lines = "".join(f"    {key}: {{value: {value}, assumed: for tests}}\n" for key, value in figures.items())
    names = [f"own-brick-{number}" for number in range(1, kinds + 1)]
    path = folder / "own.yaml"
    path.write_text(
        "name: own\n"
        "title: bricks for tests\n"
        "drives:\n"
        "  own-drive:\n"
        "    title: a disk\n"
        "    media: hdd\n"
        "    capacity: {value: 4TB, assumed: for tests}\n"
        f"{lines}"
        "bricks:\n" + "".join(_brick(name, drive_count, redundancy) for name in names),
        encoding="utf-8",
    )
    catalogue = load([path])
    counted = [{"brick": name, "count": str(bricks)} for name in names]
    return catalogue, evaluate(catalogue, "own", Configuration.model_validate({"bricks": counted}))


def _brick(name: str, drive_count: int, redundancy: str) -> str:
    return (
        f"  {name}:\n"
        "    title: a brick\n"
        "    drives: [own-drive]\n"
        f"    drive_count: {drive_count}\n"
        f"    redundancy: {redundancy}\n"
        "    scaling: {by: linear, because: for tests}\n"
    )

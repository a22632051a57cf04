from __future__ import annotations

import pytest

from ioassay.testing.snapshots import below, snapshot
from ioassay.tuning.system import System
from ioassay.tuning.system.md import ListedArray, MdArray, listed_arrays, md_arrays

# The forms that md.rst and drivers/md/md.c give; this machine has no md.
MDSTAT = """\
Personalities : [raid1] [raid6] [raid5] [raid4]
md1 : active raid1 sdb2[1] sda2[0]
      136448 blocks [2/2] [UU]

md127 : active raid5 sdh1[6] sdg1[4] sdf1[3] sde1[2] sdd1[1] sdc1[0](F)
      1464725760 blocks level 5, 64k chunk, algorithm 2 [6/5] [UUUUU_]
      [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec

md3 : active (auto-read-only) raid0 nvme1n1[1] nvme0n1[0]
      136448 blocks super 1.2 512k chunks

md4 : inactive sdz[0](S)
      136448 blocks

unused devices: <none>
"""


def test_arrays() -> None:
    arrays = listed_arrays(MDSTAT)
    assert list(arrays) == ["md1", "md127", "md3", "md4"]
    assert arrays["md1"] == ListedArray("raid1", ("sdb2", "sda2"), 0, 2, 2, "idle", None)
    assert (arrays["md127"].expected, arrays["md127"].working) == (6, 5)
    assert (arrays["md127"].action, arrays["md127"].percent, arrays["md127"].chunk_bytes) == (
        "recovery",
        12.6,
        64 << 10,
    )
    assert arrays["md127"].members[-1] == "sdc1"
    assert (arrays["md3"].level, arrays["md3"].members, arrays["md3"].chunk_bytes) == (
        "raid0", ("nvme1n1", "nvme0n1"), 512 << 10,
    )  # fmt: skip
    assert (arrays["md4"].level, arrays["md4"].members) == ("", ("sdz",))


def test_a_raid10_has_a_disk_of_data_for_each_disk_of_copies() -> None:
    array = {"md/level": "raid10", "md/raid_disks": 12, "md/chunk_size": 65536}
    for layout, disks in ((None, 6), (0x102, 6), (0x103, 4), (0x202, 3)):
        files = below("sys/block/md0", array | ({} if layout is None else {"md/layout": layout}))
        assert MdArray(System(snapshot(files)).devices["md0"]).data_disks == disks


def test_nothing() -> None:
    assert listed_arrays("") == {}
    assert listed_arrays("Personalities : \nunused devices: <none>\n") == {}


@pytest.mark.parametrize(
    ("level", "more", "data", "parity"),
    [
        ("raid0", {}, 6, 0),
        ("raid5", {}, 5, 1),
        ("raid6", {}, 4, 2),
        ("raid10", {}, 3, 0),
        ("raid10", {"layout": 0x102}, 3, 0),
        ("raid10", {"layout": 0x103}, 2, 0),
        ("raid10", {"layout": 0x201}, 3, 0),
        ("raid1", {}, 1, 0),
        ("linear", {}, 1, 0),
    ],
)
def test_the_geometry_of_a_stripe(level: str, more: dict[str, int], data: int, parity: int) -> None:
    files = below("sys/block/md0/md", {"level": level, "raid_disks": "6 (5)", "chunk_size": 65536, **more})
    (array,) = md_arrays(list(System(snapshot(files | {"sys/block/md0/size": "8"})).devices.values()))
    assert (array.data_disks, array.parity_disks) == (data, parity)
    assert array.is_striped == (data > 1)

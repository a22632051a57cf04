"""What was counted between two snapshots, from samples in the formats of the kernel, of Lustre and of NFS."""

from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.testing.io_path_nodes import RAID6, lustre_client_snapshot, oss_snapshot
from ioassay.testing.snapshots import disk, snapshot
from ioassay.tuning.path import Transfer, counters, io_paths
from ioassay.tuning.path.measured import between, compared, verdicts
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import System
from ioassay.tuning.system.lustre import histograms

KIB, MIB = 1 << 10, 1 << 20
EARLIER, LATER = 1_770_000_000, 1_770_000_100

BRW_STATS = """\
snapshot_time:         1535148988.364041639 (secs.nsecs)

                           read      |     write
pages per bulk r/w     rpcs  % cum % |  rpcs        % cum %
32:\t\t         0   0   0   |    1  11  11
256:\t\t         4   0   0   |    {full}  88 100

                           read      |     write
disk fragmented I/Os   ios   % cum % |  ios         % cum %
1:\t\t         0   0   0   |    1  11  11
2:\t\t         4   0   0   |    {full}  88 100

                           read      |     write
disk I/O size          ios   % cum % |  ios         % cum %
128K:\t\t         0   0   0   |    1  11  11
512K:\t\t         8   0   0   |    {halves}  88 100
"""

RPC_STATS = """\
snapshot_time:            1789952232.703630742 secs.nsecs
read RPCs in flight:  0
write RPCs in flight: 0
pending write pages:  0

\t\t\tread\t\t\twrite
pages per rpc         rpcs   % cum % |       rpcs   % cum %
1:\t\t         0   0   0   |    52489  50  50
64:\t\t         1   0   0   |    {count}  13  99

\t\t\tread\t\t\twrite
rpcs in flight        rpcs   % cum % |       rpcs   % cum %
1:\t\t         1 100 100   |   52489 100 100
8:\t\t         0 100 100   |   {count} 100 100
"""

MODIFY = """\

                        modify
rpcs in flight        rpcs   % cum %
0:                       0   0   0
1:                  194398  99  99
"""

MOUNTSTATS = """\
device proc mounted on /proc with fstype proc
device server:/data mounted on /mnt/my\\040data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,nconnect=2
\tage:\t{age}
\tbytes:\t1000 2000 0 0 {read} {written} 1 1
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 3 3 0 600 700 1 2 3 0
\t       WRITE: {writes} 3 0 600 700 1 2 3 0
"""


def _pair(before: str, after: str, **more: str) -> tuple[Snapshot, Snapshot]:
    files = disk("sda") | more
    return (
        snapshot(files | {"sys/block/sda/stat": before}),
        snapshot(files | {"sys/block/sda/stat": after}, taken_s=LATER),
    )


def test_a_device_has_its_mean_requests_merges_rates_and_utilisation() -> None:
    before = "100 10 8000 500 200 20 16000 900 0 1000 1400 0 0 0 0"
    after = "100 10 8000 500 1200 1020 1040000 5900 0 51000 101400 7 0 0 0"
    measured = between(*_pair(before, after))
    (device,) = measured.devices
    assert (measured.elapsed_s, measured.problems) == (100.0, ())
    assert (device.mean_bytes(0), device.mean_bytes(1)) == (None, 512 * KIB)
    assert device.merged_share(1) == 0.5
    assert device.per_s(device.counted.ios) == 10
    assert device.per_s(device.counted.bytes) == 1000 * 512 * KIB / 100
    assert (device.utilisation, device.queue_depth) == (0.5, 1.0)
    assert (device.mean_wait_ns(1), device.counted.discards) == (5e6, 7)


def test_a_kernel_without_discards_and_flushes_has_fewer_fields() -> None:
    known = counters.block_counters("1 2 3 4 5 6 7 8 9 10 11")
    assert known is not None
    assert (known.ios, known.bytes, known.busy_ms, known.discards) == ((1, 5), (3 * 512, 7 * 512), 10, 0)
    assert counters.block_counters("") is None
    assert counters.block_counters("a b c d e f g h i j k") is None
    assert counters.block_counters("1 2 3 4 5 6 7 8 9 10 ²") is None
    assert counters.block_counters(f"1 2 3 4 5 6 7 8 9 10 {'9' * 5000}") is None


def test_counters_that_went_back_are_left_out_and_named() -> None:
    measured = between(*_pair("9 9 9 9 9 9 9 9 9 9 9", "1 1 1 1 1 1 1 1 1 1 1"))
    assert measured.devices == ()
    assert measured.problems == ("The counters of sda on oss1 were reset between the snapshots; they were left out.",)


def test_devices_that_came_or_went_are_named() -> None:
    before, after = snapshot(disk("sda") | disk("sdb")), snapshot(disk("sda") | disk("sdc"), taken_s=LATER)
    assert between(before, after).problems == (
        "sdb was no longer on oss1 when the workload had run.",
        "sdc was not yet on oss1 before the workload ran.",
    )


def test_a_reboot_between_is_reported_and_prevents_comparison() -> None:
    before, after = _pair("1 1 1 1 1 1 1 1 1 1 1", "2 2 2 2 2 2 2 2 2 2 2")
    after.document["boot_id"] = "another"
    assert between(before, after).problems == (
        "oss1 was rebooted between the snapshots, which reset its counters; capture again.",
    )


def test_snapshots_of_two_hosts_or_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UsageError, match="different hosts"):
        between(snapshot({}), snapshot({}, host="other"))
    with pytest.raises(UsageError, match="before the first"):
        between(snapshot({}, taken_s=LATER), snapshot({}))


def test_histograms_of_lustre_are_read_and_those_without_two_sides_left_out() -> None:
    known = histograms(MODIFY + RPC_STATS.format(count=14030))
    assert known["pages per rpc"] == {1: (0, 52489), 64: (1, 14030)}
    assert known["rpcs in flight"] == {1: (1, 52489), 8: (0, 14030)}
    bulk = histograms(BRW_STATS.format(full=8, halves=16))
    assert bulk["disk I/O size"] == {128 * KIB: (0, 1), 512 * KIB: (8, 16)}
    others = "block maps msec        maps  % cum % |  maps        % cum %\n1:\t\t       513 100 100   |  803 100 100\n"
    assert histograms(BRW_STATS.format(full=8, halves=16) + others) == bulk
    assert histograms("") == {}


def test_nfs_counts_its_operations_and_their_bytes() -> None:
    text = MOUNTSTATS.format(age=7, read=1000, written=2 * MIB, writes=8)
    known = counters.nfs_counters(text, "/mnt/my data")
    assert known is not None
    assert (known.operations.count, known.operations.bytes, known.age_s) == ((3, 8), (1000, 2 * MIB), 7)
    assert counters.nfs_counters(text, "/other") is None


def test_the_split_of_the_study_is_seen_on_every_layer_of_the_server() -> None:
    def taken(full: int, when: int) -> Snapshot:
        statistics = BRW_STATS.format(full=full, halves=2 * full)
        files = {f"sys/fs/lustre/osd-ldiskfs/scratch-OST000{ost}/brw_stats": statistics for ost in range(6)}
        where = "sys/devices/pci0000:00/0000:00:03.0/host0/target0:0:{0}/0:0:{0}:0/block/sd{1}/stat"
        stat = f"0 0 0 0 {2 * full} 0 {2 * full * 1024} 0 0 0 0"
        files |= {where.format(index, letter): stat for index, letter in enumerate("bcdefg")}
        return oss_snapshot(more=files, taken_s=when)

    before, after = taken(10, EARLIER), taken(1010, LATER)
    (path,) = io_paths([System(after, RAID6)])
    comparisons = compared(path, [between(before, after)])
    assert [(comparison.layer.kind, comparison.sizes.count, comparison.agreement) for comparison in comparisons] == [
        ("server", 6000, "as computed"),
        ("file system", 12000, "as computed"),
        ("adapter", 12000, "as computed"),
    ]
    sentences = verdicts(path, comparisons)
    assert sentences[1] == "Lustre OST: 100 % of 6,000 write RPCs became several disk I/Os."
    assert sentences[3] == (
        "Adapter: write requests of sdb, sdc, … sdg (6 alike) averaged 512 KiB, as computed (512 KiB)."
    )


def test_small_rpcs_are_the_workload_and_not_the_settings() -> None:
    def taken(count: int, when: int) -> Snapshot:
        name = "sys/fs/lustre/osc/scratch-OST0000-osc-ffff9c1a8b7d2800/rpc_stats"
        return lustre_client_snapshot(more={name: RPC_STATS.format(count=count)}, taken_s=when)

    before, after = taken(10, EARLIER), taken(110, LATER)
    (path,) = io_paths([System(after)])
    (comparison,) = compared(path, [between(before, after)])
    assert (comparison.sizes.count, comparison.sizes.mean_bytes, comparison.sizes.is_upper_bound) == (
        100,
        256 * KIB,
        True,
    )
    assert comparison.sizes.histogram == {256 * KIB: 100}
    assert comparison.others["rpcs in flight"] == {8: (0, 100)}
    assert verdicts(path, [comparison]) == [
        "Lustre RPC: write requests of scratch-OST0000-osc-ffff9c1a8b7d2800 averaged at most 256 KiB, although the "
        "settings allow 1 MiB: the workload's transfers or missing merges keep them small, not this layer's settings."
    ]


def test_an_nfs_mount_has_the_mean_of_its_rpcs() -> None:
    def taken(writes: int, when: int) -> Snapshot:
        mount = "50 1 0:40 / /mnt/my\\040data rw - nfs4 server:/data rw,wsize=1048576,rsize=1048576"
        stats = MOUNTSTATS.format(age=7, read=0, written=writes * 256 * KIB, writes=writes)
        files = {"proc/self/mountinfo": mount, "proc/self/mountstats": stats}
        return snapshot(files, target="/mnt/my data", host="client1", taken_s=when)

    before, after = taken(0, EARLIER), taken(100, LATER)
    (path,) = io_paths([System(after)], Transfer(256 * KIB, is_direct=True))
    (comparison,) = compared(path, [between(before, after)])
    assert (comparison.sizes.mean_bytes, comparison.agreement) == (256 * KIB, "as computed")


def test_requests_that_are_larger_than_the_worst_case_had_contiguous_memory() -> None:
    files = disk("sdb", queue={"max_segments": 32, "max_sectors_kb": 1024})
    before = snapshot(files | {"sys/block/sdb/stat": "0 0 0 0 0 0 0 0 0 0 0"}, target="/dev/sdb")
    after = snapshot(files | {"sys/block/sdb/stat": "0 0 0 0 10 0 10240 0 0 0 0"}, target="/dev/sdb", taken_s=LATER)
    (path,) = io_paths([System(after)])
    (comparison,) = compared(path, [between(before, after)])
    assert (comparison.agreement, comparison.computed_text) == ("larger", "128 KiB")

"""Values that ruin I/O are found on a node that serves nothing, and the usual ones are not called harmful there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ioassay.testing import snapshots
from ioassay.testing.apply_assignments import applied
from ioassay.testing.snapshots import below, disk
from ioassay.tuning.rule import Change, NotReadable
from ioassay.tuning.rules import RULES
from ioassay.tuning.system import System

_VM = {
    "dirty_ratio": 20,
    "dirty_background_ratio": 10,
    "dirty_bytes": 0,
    "dirty_background_bytes": 0,
    "dirty_writeback_centisecs": 500,
    "dirty_expire_centisecs": 3000,
    "swappiness": 60,
    "min_free_kbytes": 67584,
    "vfs_cache_pressure": 100,
}
_MOUNTS = """\
40 1 0:38 / /nfs rw - nfs4 server:/export rw,vers=4.2,proto=tcp,rsize={rsize},wsize=1048576
41 1 8:1 / /data rw - xfs /dev/sda1 rw{options}
"""
_LUSTRE = {"max_rpcs_in_flight": 8, "max_dirty_mb": 2000, "max_pages_per_rpc": 256}


def _node(
    vm: Mapping[str, object] | None = None,
    queue: Mapping[str, object] | None = None,
    *,
    nvme: Mapping[str, object] | None = None,
    depth: int = 32,
    rsize: int = 1048576,
    options: str = "",
    slots: int = 65536,
    buffers: str = "4096 131072 6291456",
    lustre: Mapping[str, object] | None = None,
    stripe_cache: int = 1024,
) -> dict[str, str]:
    return {
        **below("proc/sys/vm", _VM | dict(vm or {})),
        "proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 8388604 0 -2\n",
        **disk("sda", queue={"nr_requests": 256, "max_sectors_kb": 1280} | dict(queue or {}), queue_depth=depth),
        **below("sys/block/sda/sda1", {"partition": 1, "start": 2048, "size": 1 << 30, "dev": "8:1"}),
        **disk("nvme0n1", queue={"rotational": 0, "nr_requests": 1023, "max_sectors_kb": 1280} | dict(nvme or {})),
        "proc/self/mountinfo": _MOUNTS.format(rsize=rsize, options=options),
        "proc/sys/sunrpc/tcp_max_slot_table_entries": str(slots),
        "proc/sys/net/ipv4/tcp_rmem": buffers,
        **below("sys/fs/lustre/osc/scratch-OST0000-osc-ffff9c1a8b7d2800", _LUSTRE | dict(lustre or {})),
        **disk("md0"),
        **below(
            "sys/block/md0/md",
            {"level": "raid6", "raid_disks": 10, "chunk_size": 131072, "stripe_cache_size": stripe_cache},
        ),
    }


def _harmful(files: Mapping[str, str]) -> dict[str, Change]:
    system = System(snapshots.snapshot(files))
    judgements = ((rule.name, judgement) for rule in RULES for judgement in rule.judgements(system))
    return {name: judgement for name, judgement in judgements if isinstance(judgement, Change) and judgement.is_harmful}


def test_defaults_of_the_kernel_and_lustre_harm_no_node() -> None:
    assert _harmful(_node()) == {}


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("dirty-limit", _node({"dirty_ratio": 0, "dirty_bytes": 4096})),
        ("dirty-limit", _node({"dirty_ratio": 95, "dirty_background_ratio": 90})),
        ("dirty-limit", _node({"dirty_ratio": 10, "dirty_background_ratio": 10})),
        ("dirty-limit", _node({"dirty_ratio": 0, "dirty_bytes": 64 << 30})),
        ("dirty-limit", _node({"dirty_ratio": 0})),
        ("dirty-limit", _node({"dirty_writeback_centisecs": 0})),
        ("dirty-limit", _node({"dirty_writeback_centisecs": 720000})),
        ("dirty-limit", _node({"dirty_expire_centisecs": 720000})),
        ("swappiness", _node({"swappiness": 200})),
        ("min-free-kbytes", _node({"min_free_kbytes": 1023})),
        ("min-free-kbytes", _node({"min_free_kbytes": 1024})),
        ("min-free-kbytes", _node({"min_free_kbytes": 16 << 20})),
        ("vfs-cache-pressure", _node({"vfs_cache_pressure": 0})),
        ("vfs-cache-pressure", _node({"vfs_cache_pressure": 10000})),
        ("nr-requests", _node(queue={"nr_requests": 4})),
        ("nr-requests", _node(nvme={"nr_requests": 4})),
        ("read-ahead-kb", _node(queue={"read_ahead_kb": 0})),
        ("read-ahead-kb", _node(nvme={"read_ahead_kb": 0})),
        ("read-ahead-kb", _node(nvme={"read_ahead_kb": 4 << 20})),
        ("max-sectors-kb", _node(queue={"max_sectors_kb": 4})),
        ("max-sectors-kb", _node(nvme={"max_sectors_kb": 16})),
        ("queue-depth", _node(depth=1)),
        ("nfs-transfer-size", _node(rsize=1024)),
        ("nfs-rpc-slots", _node(slots=2)),
        ("ext4-write-barriers", _node(options=",nobarrier")),
        ("tcp-buffers", _node(buffers="4096 8192 16384")),
        ("socket-limits", _node() | {"proc/sys/net/core/rmem_max": "4096"}),
        ("socket-limits", _node() | {"proc/sys/net/core/netdev_max_backlog": "8"}),
        ("socket-limits", _node() | {"proc/sys/net/ipv4/tcp_window_scaling": "0"}),
        ("lustre-max-rpcs-in-flight", _node(lustre={"max_rpcs_in_flight": 1})),
        ("lustre-max-dirty-mb", _node(lustre={"max_dirty_mb": 0})),
        ("lustre-max-pages-per-rpc", _node(lustre={"max_pages_per_rpc": 1})),
        ("md-stripe-cache", _node(stripe_cache=17)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_that_ruins_io_is_found_on_every_node_and_can_be_put_right(rule: str, files: dict[str, str]) -> None:
    harmful = _harmful(files)
    assert list(harmful) == [rule]
    assert harmful[rule].because
    assert harmful[rule].assignments
    after = applied(snapshots.snapshot(files), harmful[rule].assignments)
    again = {name: value.decode() for name, value in after.files.items()}
    assert _harmful(again) == {}


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("max_sectors_kb", 16), ("nr_requests", 4), ("read_ahead_kb", 0), ("read_ahead_kb", 4 << 20)],
)
def test_values_that_ruin_io_are_found_on_a_loop_device_too(attribute: str, value: int) -> None:
    assert list(_harmful(disk("loop0", queue={attribute: value}))) == [attribute.replace("_", "-")]
    assert _harmful(disk("loop0")) == {}


@pytest.mark.parametrize("name", ["loop0", "zram1"])
def test_read_ahead_of_a_device_that_is_no_disk_goes_back_to_the_kernels_own(name: str) -> None:
    harmful = _harmful(disk(name, queue={"read_ahead_kb": 0, "rotational": 1}))
    assert harmful["read-ahead-kb"].wanted == "128 KiB"


def test_a_rotating_loop_device_is_given_no_longer_queue_than_its_driver_has() -> None:
    harmful = _harmful(disk("loop0", queue={"nr_requests": 4, "rotational": 1}))
    assert harmful["nr-requests"].wanted == "128"  # more is refused (EINVAL), seen with Linux 6.18


def test_a_disk_that_takes_one_command_at_a_time_needs_no_long_queue() -> None:
    files = disk("sda", queue={"nr_requests": 2}, queue_depth=1)
    assert "nr-requests" not in _harmful(files)


@pytest.mark.parametrize("swaps", ["Filename Type Size Used Priority\n", "Filename\n/dev/zram0 partition 1 0 100\n"])
def test_swappiness_above_100_is_right_for_swap_in_memory_and_idle_without_swap(swaps: str) -> None:
    assert _harmful(_node({"swappiness": 180}) | {"proc/swaps": swaps}) == {}


@pytest.mark.parametrize("rule", ["scheduler", "read-ahead-kb", "nr-requests", "nomerges"])
def test_a_disk_without_a_captured_rotational_file_is_not_taken_for_flash(rule: str) -> None:
    files = disk("sda")
    del files["sys/block/sda/queue/rotational"]
    (judgement,) = next(candidate for candidate in RULES if candidate.name == rule).judgements(
        System(snapshots.snapshot(files))
    )
    assert isinstance(judgement, NotReadable)
    assert judgement.what == "/sys/block/sda/queue/rotational"


@pytest.mark.parametrize(
    ("rule", "attribute"),
    [
        ("scheduler", "scheduler"),
        ("max-sectors-kb", "max_sectors_kb"),
        ("max-sectors-kb", "max_hw_sectors_kb"),
        ("read-ahead-kb", "read_ahead_kb"),
        ("nr-requests", "nr_requests"),
        ("nomerges", "nomerges"),
        ("rq-affinity", "rq_affinity"),
    ],
)
def test_a_file_of_the_queue_that_the_snapshot_lacks_is_missing_and_not_a_device_without_a_queue(
    rule: str, attribute: str
) -> None:
    files = disk("sda")
    del files[f"sys/block/sda/queue/{attribute}"]
    (judgement,) = next(candidate for candidate in RULES if candidate.name == rule).judgements(
        System(snapshots.snapshot(files))
    )
    assert isinstance(judgement, NotReadable)
    assert judgement.what == f"/sys/block/sda/queue/{attribute}"


def test_a_partition_without_a_captured_start_is_not_taken_for_aligned() -> None:
    files = _node()
    del files["sys/block/sda/sda1/start"]
    rule = next(candidate for candidate in RULES if candidate.name == "partition-alignment")
    (judgement,) = rule.judgements(System(snapshots.snapshot(files)))
    assert isinstance(judgement, NotReadable)

"""Paths of systems: the study's server before and after tuning, clients, laptops, MD RAIDs, volumes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioassay.testing import io_path_nodes
from ioassay.testing.io_path_nodes import RAID6, lustre_client, md_server, oss, scsi_disks
from ioassay.testing.snapshots import below, disk, snapshot
from ioassay.testing.storage_nodes import BTRFS_PATH, btrfs_host, gpfs_client
from ioassay.tuning.path import IoPath, Layer, Transfer, both_ways, io_paths
from ioassay.tuning.path.conclusions import conclusions
from ioassay.tuning.path.model import named, sizes
from ioassay.tuning.path.rows import rows
from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system import Array, System
from ioassay.tuning.system.array import parse_array

KIB, MIB = 1 << 10, 1 << 20


def _only(*systems: System, transfer: Transfer | None = None) -> IoPath:
    (path,) = io_paths(systems, transfer)
    return path


def _layer(path: IoPath, kind: str) -> Layer:
    return next(layer for layer in path.layers if layer.kind == kind)


def _said(path: IoPath) -> str:
    return " ".join(conclusion.text for conclusion in conclusions(path))


def test_the_untuned_server_of_the_study_splits_an_rpc_and_its_raid_reads_before_it_writes() -> None:
    path = _only(oss())
    assert path.devices == tuple(f"sd{letter}" for letter in "bcdefg")
    assert path.title == "sdb, sdc, … sdg (6 alike) on oss1"
    assert _layer(path, "rpc").request_bytes == MIB
    assert sizes(_layer(path, "adapter").requests) == "2 × 512 KiB"
    assert path.first_split is _layer(path, "queue")
    assert [(stripe_write.stripe_offset_bytes, stripe_write.method) for stripe_write in path.stripe_writes] == [
        (0, "reconstruct-write")
    ] * 2
    assert path.work is not None
    assert (path.work.full_stripe_share, path.work.disk_ios, path.work.least_disk_ios) == (0, 20, 10)
    assert _said(path).startswith(
        "A request of 1 MiB leaves the adapter (mpt3sas) as 2 × 512 KiB, because max_sectors_kb of sdb is 512 and "
        "mpt3sas takes 128 segments of 4 KiB. A write of 512 KiB covers 4 of 8 data segments of the 1 MiB stripe "
        "(8+2 × 128 KiB), so the RAID reads 4 other data segments before it writes 6 (reconstruct-write)."
    )


def test_the_tuned_server_of_the_study_writes_full_stripes() -> None:
    path = _only(oss(256, 1024))
    assert path.first_split is None
    assert path.work is not None
    assert path.work.full_stripe_share == 1
    assert [conclusion.is_problem for conclusion in conclusions(path)] == [False, False]
    assert _said(path) == (
        "Requests of 1 MiB reach the RAID whole. Each write covers the 1 MiB stripe (8+2 × 128 KiB): 8 data segments "
        "and 2 of parity are written, and nothing is read first."
    )


@pytest.mark.parametrize(
    ("segments", "kibibytes", "cause", "following"),
    [(128, 1024, "mpt3sas takes 128 segments", ""), (256, 512, "max_sectors_kb of sdb is 512", "")],
)
def test_one_of_the_two_settings_alone_does_not_help(segments: int, kibibytes: int, cause: str, following: str) -> None:
    path = _only(oss(segments, kibibytes))
    assert path.first_split is not None
    assert path.first_split.request_bytes == 512 * KIB
    assert f"because {cause}" in _said(path)
    assert following in _said(path)


def test_a_limit_that_comes_into_effect_later_is_named() -> None:
    path = _only(oss(64, 512))
    assert sizes(_layer(path, "adapter").requests) == "4 × 256 KiB"
    assert "Beyond that, the next limit is max_sectors_kb 512 (512 KiB)." in _said(path)


def test_the_kernel_applies_bytes_and_segments_together() -> None:
    path = _only(io_path_nodes.laptop(), transfer=Transfer(MIB))
    assert sizes(_layer(path, "adapter").requests) == "2 × 508 KiB + 8 KiB"
    assert "Where memory is contiguous" in _said(path)


def test_contiguous_memory_does_not_lift_the_limit_of_the_queue() -> None:
    queue = {"max_segments": 254, "max_segment_size": 0xFFFF_FFFF, "max_hw_sectors_kb": 1 << 30}

    def conclusions(kibibytes: int) -> str:
        files = disk("vda", queue=queue | {"max_sectors_kb": kibibytes})
        return _said(_only(System(snapshot(files, target="/dev/vda")), transfer=Transfer(4 * MIB)))

    assert "virtio (vda) takes up to 1.25 MiB." in conclusions(1280)
    assert "Where memory is contiguous" not in conclusions(1016)


def test_a_transfer_that_is_not_known_is_assumed_and_said() -> None:
    assert _only(oss()).assumption == (
        "The application's transfer size was not given; 1 MiB, the size of an RPC, is assumed."
    )
    assert "the usual size" in _only(io_path_nodes.laptop()).assumption
    assert _only(oss(), transfer=Transfer(MIB)).assumption == ""


def test_a_client_and_its_server_are_one_path() -> None:
    path = _only(lustre_client(1024), oss(1024, 4096), transfer=Transfer(16 * MIB))
    assert path.hosts == ("client1", "oss1")
    assert [layer.kind for layer in path.layers] == [
        "application", "cache", "layout", "rpc", "server", "file system", "queue", "adapter", "raid",
    ]  # fmt: skip
    assert _layer(path, "rpc").request_bytes == 4 * MIB
    assert _layer(path, "rpc").source == "lctl get_param osc.scratch-OST0000-osc-ffff9c1a8b7d2800.max_pages_per_rpc"
    assert "brw_size of scratch-OST0000 is 1 MiB" in _said(path)


def test_the_chunks_of_a_striped_file_go_to_their_servers() -> None:
    path = _only(lustre_client(1024, 4), oss(256, 1024), transfer=Transfer(4 * MIB))
    layout = _layer(path, "layout")
    assert (layout.is_spread, layout.is_split) == (True, False)
    assert [request.member for request in layout.requests] == [0, 1, 2, 3]
    assert path.first_split is None
    assert path.work is not None
    assert path.work.full_stripe_share == 1


def test_a_path_without_its_server_ends_at_the_network() -> None:
    path = _only(lustre_client())
    assert (path.devices, path.array) == ((), None)
    assert path.unknown == ("The path ends at the network: no server of /scratch was captured.",)
    assert "Requests of 1 MiB reach the network whole." in _said(path)


def test_transfers_to_gpfs_are_cut_at_its_blocks_whose_size_mmlsfs_lists() -> None:
    path = _only(System(gpfs_client().snapshot()), transfer=Transfer(16 * MIB))
    assert _layer(path, "rpc").request_bytes == 4 * MIB
    failed = gpfs_client().with_failed({"mmlsfs all -Y": "Permission denied"})
    why = "mmlsfs all -Y: exit status 1: Permission denied"
    assert f"The block size of /gpfs/scratch is unknown: {why}." in _only(System(failed.snapshot())).unknown


def test_an_nfs_client_and_its_server() -> None:
    mount = "50 1 0:40 / /mnt rw - nfs4 server:/data rw,vers=4.2,rsize=1048576,wsize=262144"
    client = System(snapshot({"proc/self/mountinfo": mount}, target="/mnt", host="client1"))
    path = _only(client, md_server(), transfer=Transfer(MIB))
    assert "A transfer of 1 MiB leaves the client (NFS RPC) as 4 × 256 KiB, because wsize of /mnt is 256 KiB." in _said(
        path
    )
    assert [layer.kind for layer in path.layers][2:] == [
        "rpc", "server", "file system", "volume", "queue", "adapter", "disk",
    ]  # fmt: skip
    read = _only(client, md_server(), transfer=Transfer(MIB, operation="read"))
    assert (read.first_split, read.work) == (None, None)


def test_an_md_raid_is_striped_over_its_members_and_counts_its_parity() -> None:
    path = _only(md_server(), transfer=Transfer(2 * MIB))
    volume = _layer(path, "volume")
    assert (volume.name, volume.subject) == ("MD RAID5", "md0")
    assert path.array == Array(4, 512 * KIB, 1)
    assert len({request.member for request in volume.requests}) == 4
    assert path.devices == ("md0",)
    assert path.disks == ("sdb", "sdc", "sdd", "sde", "sdf")
    assert "nothing is read first" in _said(_only(md_server(), transfer=Transfer(MIB)))
    direct = _only(md_server(), transfer=Transfer(MIB, is_direct=True))
    assert "MD's stripe cache avoids this where it can join writes to full stripes." in _said(direct)
    assert "max_sectors_kb of md0 is 1280" in _said(_only(md_server(level="raid0"), transfer=Transfer(2 * MIB)))


def test_members_that_differ_have_paths_of_their_own() -> None:
    system = md_server()
    files = dict(system.snapshot.files)
    odd = next(name for name in files if name.endswith("sdd/queue/max_sectors_kb"))
    files[odd] = b"128"
    changed = System(type(system.snapshot)(system.snapshot.document, files, system.snapshot.links))
    assert [path.disks for path in io_paths([changed])] == [("sdb", "sdc", "sde", "sdf"), ("sdd",)]


def test_a_partition_at_an_odd_place_is_misaligned() -> None:
    path = _only(io_path_nodes.laptop({"physical_block_size": 4096}, start_sectors=63), transfer=Transfer(64 * KIB))
    assert _layer(path, "disk").is_misaligned
    assert _layer(path, "disk").offset_bytes == 63 * 512 % 4096
    assert "Files begin 3584 B past a multiple of the 4 KiB sector of the disk" in _said(path)
    assert not _layer(_only(io_path_nodes.laptop()), "disk").is_misaligned


def test_a_partition_on_a_raid_makes_full_stripes_straddle() -> None:
    files, links = scsi_disks("b", {"max_sectors_kb": 1024}, 256, vendor="DELL", model="MD34xx")
    where = next(name for name in files if name.endswith("sdb/size")).removesuffix("/size")
    files |= below(f"{where}/sdb1", {"partition": 1, "start": 128, "size": 1 << 30, "dev": "8:17"})
    files["proc/self/mountinfo"] = "30 1 8:17 / /data rw - xfs /dev/sdb1 rw,sunit=256,swidth=1024"
    path = _only(System(snapshot(files, links=links, target="/data"), RAID6), transfer=Transfer(MIB))
    raid = _layer(path, "raid")
    assert (raid.is_misaligned, raid.offset_bytes) == (True, 64 * KIB)
    assert path.work is not None
    assert path.work.full_stripe_share == 0
    assert "Files begin 64 KiB past a multiple of the 1 MiB RAID stripe" in _said(path)
    assert "The file system lays files out for a stripe of 512 KiB, but the RAID has 1 MiB." in _said(path)


def test_a_multipath_device_is_followed_to_its_paths() -> None:
    files, links = scsi_disks("bc", {"max_sectors_kb": 1024}, 256, vendor="DELL", model="MD34xx")
    files |= below("sys/block/dm-0", {"dev": "253:0", "size": 7814037168, "dm/name": "mpatha", "dm/uuid": "mpath-1"})
    files |= below("sys/block/dm-0/queue", {"max_sectors_kb": 512, "max_segments": 256})
    links |= {f"sys/block/dm-0/slaves/sd{letter}": f"../../sd{letter}" for letter in "bc"}
    files["proc/self/mountinfo"] = "30 1 0:50 / /mnt/ost0 ro - lustre /dev/mapper/mpatha ro,svname=scratch-OST0000"
    path = _only(System(snapshot(files, links=links), RAID6))
    assert (path.devices, path.disks) == (("mpatha",), ("sdb", "sdc"))
    assert path.first_split is _layer(path, "volume")
    assert "A request of 1 MiB leaves multipath mpatha as 2 × 512 KiB, because max_sectors_kb of dm-0 is 512." in _said(
        path
    )


def test_a_logical_volume_is_shifted_by_where_it_begins() -> None:
    files = disk("sdb") | below(
        "sys/block/dm-0", {"dev": "253:0", "size": 1000, "dm/name": "vg-lv", "dm/uuid": "LVM-1"}
    )
    files |= below("sys/block/dm-0/queue", {"max_sectors_kb": 512})
    links = {"sys/block/dm-0/slaves/sdb": "../../sdb"}
    table = {"dmsetup table": "vg-lv: 0 1000 linear 8:16 2049\n"}
    path = _only(System(snapshot(files, links=links, printed=table, target="/dev/mapper/vg-lv")))
    assert _layer(path, "disk").offset_bytes == 512
    path = _only(System(snapshot(files, links=links, target="/dev/mapper/vg-lv")))
    assert path.unknown == ("Where dm-0 begins on sdb is unknown; capture `dmsetup table` as root.",)
    failed = {"dmsetup table": "Permission denied"}
    path = _only(System(snapshot(files, links=links, failed=failed, target="/dev/mapper/vg-lv")))
    why = "dmsetup table: exit status 1: Permission denied"
    assert path.unknown == (f"Where dm-0 begins on sdb is unknown: {why}.",)


def test_unreadable_values_are_reported() -> None:
    files = disk("sdb")
    del files["sys/block/sdb/queue/max_sectors_kb"]
    node = snapshot(files, unreadable={"sys/block/sdb/queue/max_sectors_kb": "no permission"}, target="/dev/sdb")
    assert _only(System(node)).unknown == ("/sys/block/sdb/queue/max_sectors_kb could not be read: no permission.",)


def test_a_virtual_disk_whose_raid_is_not_known_asks_for_it() -> None:
    path = _only(oss(array=None))
    assert any("give it with --raid" in text for text in path.unknown)
    files, links = scsi_disks(
        "b", {"minimum_io_size": 128 * KIB, "optimal_io_size": MIB}, 256, vendor="DELL", model="MD34xx"
    )
    path = _only(System(snapshot(files, links=links, target="/dev/sdb")))
    assert path.array == Array(8, 128 * KIB)
    assert any("parity disks" in text for text in path.unknown)
    for text in (*path.unknown, *_only(oss(array=None)).unknown):
        assert parse_array(text.rpartition("--raid ")[2].removesuffix(".")) == RAID6


@pytest.mark.parametrize(
    ("profile", "members", "pieces"), [("raid0", 3, 3), ("raid5", 3, 2), ("raid10", 4, 2), ("single", 2, 1)]
)
def test_btrfs_of_several_devices_spreads_data_as_its_profile_says(profile: str, members: int, pieces: int) -> None:
    node = btrfs_host(data=profile)
    names = [f"sd{letter}" for letter in "bcde"[:members]]
    more = {path: text for name in names for path, text in disk(name, model="ST8000NM0075").items()}
    links = {f"{BTRFS_PATH}/devices/{name}": f"../../../../block/{name}" for name in names}
    path = _only(
        System(replace(node.with_files(more), links={**node.links, **links}).snapshot()), transfer=Transfer(MIB)
    )
    assert path.devices == tuple(names)
    layer = _layer(path, "file system")
    assert len({request.member for request in layer.requests}) == pieces
    assert layer.request_bytes == (64 * KIB if pieces > 1 else MIB)
    assert ("Btrfs spreads them in chunks of 64 KiB" in _said(path)) == (pieces > 1)


def test_btrfs_with_two_profiles_says_that_its_spread_is_unknown() -> None:
    node = btrfs_host().with_files({f"{BTRFS_PATH}/allocation/data/raid5/total_bytes": 134217728})
    (path,) = io_paths([System(node.snapshot())], Transfer(MIB))
    assert path.unknown == ("How /data spreads data over its 2 devices is unknown: it has raid1 and raid5.",)


def test_a_node_without_anything_has_no_path() -> None:
    assert io_paths([System(snapshot({}, target="/data"))]) == []
    assert io_paths([]) == []
    assert System(snapshot({"proc/self/mountinfo": "rw - nfs a:/b\n1 2 8:1 / / rw"}, target="/data")).mounts == []


def test_direct_transfers_of_odd_sizes_are_named() -> None:
    path = _only(oss(), transfer=Transfer(47008, is_direct=True))
    assert path.unknown == ("O_DIRECT needs whole sectors; most file systems refuse transfers of 47008 B.",)


def _nfs(mount: str, read_ahead: str | None = "128", kernel: str = "") -> System:
    files = {"proc/self/mountinfo": f"50 1 0:40 / /mnt rw - nfs4 server:/data rw,vers=4.2,{mount}"}
    files |= {"sys/class/bdi/0:40/read_ahead_kb": read_ahead} if read_ahead is not None else {}
    node = snapshot(files, target="/mnt", host="client1")
    if kernel:
        node.document["environment"]["kernel"] = kernel
    return System(node)


def test_the_path_of_reads_is_shown_where_it_differs_from_that_of_writes() -> None:
    write, read = both_ways([_nfs("rsize=32768,wsize=1048576")])
    assert (write.transfer.operation, write.first_split) == ("write", None)
    assert read.transfer.operation == "read"
    assert "A read of 1 MiB leaves the client (NFS RPC) as 32 × 32 KiB, because rsize of /mnt is 32 KiB." in _said(read)
    assert "Reads" not in _said(write)
    (alike,) = both_ways([_nfs("rsize=32768,wsize=32768")])
    assert "A read of 1 MiB leaves the client (NFS RPC) as 32 × 32 KiB" not in _said(alike)


def test_reads_without_read_ahead_go_page_by_page() -> None:
    read = _only(_nfs("rsize=1048576,wsize=1048576", "0"), transfer=Transfer(MIB, operation="read"))
    assert sizes(_layer(read, "cache").requests) == "256 × 4 KiB"
    assert "read_ahead_kb of /mnt is 0" in _said(read)
    files = disk("sda", queue={"read_ahead_kb": 0}) | {"proc/self/mountinfo": "30 1 8:0 / /d rw - xfs /dev/sda rw"}
    local = _only(System(snapshot(files, target="/d")), transfer=Transfer(MIB, operation="read"))
    assert "as 256 × 4 KiB, because read_ahead_kb of sda is 0." in _said(local)


def test_short_read_ahead_is_a_problem_of_small_reads_alone() -> None:
    node = _nfs("rsize=1048576,wsize=1048576")
    small = _only(node, transfer=Transfer(64 * KIB, operation="read"))
    assert "Reads of 64 KiB that follow one another are joined to 128 KiB" in _said(small)
    assert sizes(_layer(small, "rpc").requests) == "128 KiB"
    assert "network whole" in _said(_only(node, transfer=Transfer(MIB, operation="read")))
    old = _nfs("rsize=1048576,wsize=1048576", kernel="Linux 4.9.0")
    assert "as 8 × 128 KiB" in _said(_only(old, transfer=Transfer(MIB, operation="read")))
    assert "is unknown" in " ".join(_only(_nfs("rsize=65536", None), transfer=Transfer(operation="read")).unknown)


@pytest.mark.parametrize(
    ("attribute", "what"),
    [("max_sectors_kb", "How large the requests of sda may be"), ("max_segments", "How many segments sda takes")],
)
def test_a_limit_that_the_snapshot_lacks_is_not_taken_for_none(attribute: str, what: str) -> None:
    files = disk("sda")
    del files[f"sys/block/sda/queue/{attribute}"]
    path, *_ = both_ways([System(snapshot(files, target="/dev/sda"))], Transfer(MIB))
    assert path.unknown == (f"{what} is unknown: the snapshot lacks /sys/block/sda/queue/{attribute}.",)
    assert "GiB" not in _said(path)


def test_read_ahead_that_the_snapshot_lacks_is_not_taken_for_enough() -> None:
    files = disk("sda") | {"proc/self/mountinfo": "30 1 8:0 / /d rw - xfs /dev/sda rw"}
    known = both_ways([System(snapshot(files, target="/d"))], Transfer(64 * KIB))
    assert "joined to 128 KiB, because read_ahead_kb of sda is 128" in _said(known[-1])
    del files["sys/block/sda/queue/read_ahead_kb"]
    (path,) = both_ways([System(snapshot(files, target="/d"))], Transfer(64 * KIB))
    assert path.unknown == (
        "How far sda reads ahead is unknown: the snapshot lacks /sys/block/sda/queue/read_ahead_kb.",
    )


def test_lustre_reads_are_joined_no_further_than_the_client_reads_ahead() -> None:
    system = lustre_client(1024)
    name = next(file for file in system.snapshot.files if file.startswith("sys/fs/lustre/osc/"))
    of_mount = f"sys/fs/lustre/llite/scratch-{name.split('-osc-')[1].split('/')[0]}"
    files = {**system.snapshot.files, f"{of_mount}/max_read_ahead_per_file_mb": b"1"}
    node = System(Snapshot(system.snapshot.document, files, system.snapshot.links, system.snapshot.outputs))
    read = _only(node, transfer=Transfer(64 * KIB, operation="read"))
    assert "joined to 1 MiB, because max_read_ahead_per_file_mb on client1 is 1" in _said(read)
    assert "joined" not in _said(_only(node, transfer=Transfer(4 * MIB, operation="read")))


def test_clients_that_are_alike_have_one_path_and_none_is_the_server_of_another() -> None:
    def node(number: int, rsize: int = 1 << 20) -> System:
        mount = f"50 1 0:40 / /mnt rw - nfs4 server:/data rw,vers=4.2,rsize={rsize},wsize=1048576"
        return System(snapshot({"proc/self/mountinfo": mount}, target="/mnt", host=f"n{number:03}"))

    alike, odd = io_paths([*(node(number) for number in range(1, 20)), node(20, 4096)], Transfer(operation="read"))
    assert (alike.title, odd.title) == ("n[001-019]", "n020")
    assert alike.devices == ()


_SYSTEMS = [oss(), lustre_client(), io_path_nodes.laptop(), md_server()]
_CONTENTS = ["", "0", "1", "-1", "7", "9" * 30, "9" * 5000, "²", "4096 8 x", "\x00", "[none]", "rw - nfs a:/b"]


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_damaged_files_never_make_it_fail_otherwise_than_by_saying_what_cannot_be_read(data: st.DataObject) -> None:
    systems = []
    for system in data.draw(st.sampled_from([[client] for client in _SYSTEMS] + [[_SYSTEMS[1], _SYSTEMS[0]]])):
        files = dict(system.snapshot.files)
        for name in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=4)):
            files[name] = data.draw(st.sampled_from(_CONTENTS)).encode()
        node = Snapshot(system.snapshot.document, files, system.snapshot.links, system.snapshot.outputs)
        systems.append(System(node, system.array))
    transfer = Transfer(data.draw(st.sampled_from([None, 4096, 1 << 20])), is_direct=data.draw(st.booleans()))
    try:
        paths = io_paths(systems, transfer)
    except Unreadable:
        return
    for path in paths:
        assert conclusions(path)
        assert rows(path)


def test_names_of_many_devices_are_shortened() -> None:
    assert named(["a"]) == "a"
    assert named(["a", "b", "c"]) == "a, b and c"
    assert named([]) == ""

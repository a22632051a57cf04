from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import (
    assignments,
    change_of,
    changes_of,
    fine,
    judged,
    not_applicable,
    not_readable,
)
from ioassay.testing.snapshots import disk
from ioassay.testing.storage_nodes import MOUNTINFO, ZFS_GET_LINE, ZPOOL_STATUS, Node, ext4_host, nfs_client, zfs_server
from ioassay.tuning.rule import Change, Fine, Judgement, NotJudged, Rule
from ioassay.tuning.rules.block import READ_AHEAD_KB
from ioassay.tuning.rules.zfs import (
    RULES,
    ZFS_ARC_LIMIT,
    ZFS_CACHE_FLUSH,
    ZFS_COMPRESSION,
    ZFS_DIRECT_IO,
    ZFS_EXTENDED_ATTRIBUTES,
    ZFS_POOL_COMPLETENESS,
    ZFS_POOL_SPACE,
    ZFS_PREFETCH,
    ZFS_RECORD_SIZE,
    ZFS_SECTOR_SIZE,
    ZFS_SPECIAL_VDEV,
    ZFS_SYNCHRONOUS_WRITES,
)
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import pools

_PARAMETERS = "sys/module/zfs/parameters"
_OF_DATASETS = (ZFS_SYNCHRONOUS_WRITES, ZFS_COMPRESSION, ZFS_EXTENDED_ATTRIBUTES)
_OF_POOLS = (ZFS_SECTOR_SIZE, ZFS_POOL_COMPLETENESS, ZFS_POOL_SPACE)


def _status(old: str, new: str) -> Node:
    assert old in ZPOOL_STATUS
    return zfs_server().with_printed({"zpool status -LP": ZPOOL_STATUS.replace(old, new)})


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule not in (ZFS_RECORD_SIZE, ZFS_DIRECT_IO)], ids=lambda rule: rule.name
)
def test_a_well_set_server_is_fine(rule: Rule) -> None:
    assert fine(rule, zfs_server())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("node", [ext4_host(), nfs_client()], ids=lambda node: str(node.host))
def test_a_node_without_zfs(rule: Rule, node: Node) -> None:
    assert "no ZFS" in not_applicable(rule, node)


@pytest.mark.parametrize("rule", _OF_DATASETS, ids=lambda rule: rule.name)
def test_properties_that_cannot_be_read(rule: Rule) -> None:
    [unreadable] = not_readable(rule, zfs_server().with_failed({ZFS_GET_LINE: "permission denied"}))
    assert unreadable.what == ZFS_GET_LINE
    [absent] = not_readable(rule, zfs_server().with_printed({ZFS_GET_LINE: None}))
    assert "the snapshot does not have it" in absent.reason
    [unlisted] = not_readable(rule, zfs_server().with_printed({ZFS_GET_LINE: "tank/scratch\ttype\tfilesystem\t-\n"}))
    assert "does not list it" in unlisted.reason


@pytest.mark.parametrize("rule", _OF_POOLS, ids=lambda rule: rule.name)
def test_pools_that_cannot_be_read(rule: Rule) -> None:
    assert not_readable(rule, zfs_server().with_failed({"zpool status -LP": "cannot open /dev/zfs"}))
    assert not_readable(rule, zfs_server().with_printed({"zpool get -Hp all": None}))


class TestRecordSize:
    @staticmethod
    def of(recordsize: str, size: int | None) -> list[Judgement]:
        node = zfs_server(recordsize=recordsize)
        return ZFS_RECORD_SIZE.judgements(System(node.snapshot(), transfer_bytes=size))

    def test_record_sizes_are_not_judged_without_the_size_of_requests(self) -> None:
        (judgement,) = judged(ZFS_RECORD_SIZE, zfs_server())
        assert isinstance(judgement, NotJudged)
        assert (judgement.value, "--transfer" in judgement.why) == ("1 MiB", True)

    @pytest.mark.parametrize(
        ("recordsize", "size"),
        [(1 << 20, 1 << 20), (1 << 20, 16 << 20), (128 << 10, 128 << 10), (16 << 10, 4 << 10), (16 << 10, 16 << 10)],
    )
    def test_records_that_suit(self, recordsize: int, size: int) -> None:
        assert [type(judgement) for judgement in self.of(str(recordsize), size)] == [Fine, Fine]

    def test_large_requests_on_small_records(self) -> None:
        writes, reads = self.of("131072", 1 << 20)
        assert isinstance(writes, Change)
        assert isinstance(reads, Change)
        assert (writes.subject, reads.subject) == ("tank/scratch writes", "tank/scratch reads")
        assert (reads.value, reads.wanted) == ("128 KiB", "1 MiB")
        assert "cut into 8 records" in writes.because

    def test_small_requests_on_large_records(self) -> None:
        writes, reads = self.of("1048576", 4096)
        assert isinstance(writes, Change)
        assert isinstance(reads, Change)
        assert (writes.value, writes.wanted) == ("1 MiB", "16 KiB")
        assert "reads a record from disk" in writes.because
        assert "fetches 1 MiB" in reads.because

    def test_an_ost_of_lustre_gets_large_requests(self) -> None:
        node = zfs_server(recordsize="131072")
        options = "ro,svname=scratch-OST0000,mgsnode=10.1.0.1@o2ib,osd=osd-zfs"
        line = f"92 25 0:61 / /ost0 ro,relatime shared:62 - lustre tank/scratch {options}\n"
        bare = Node(node.host, {**node.files, MOUNTINFO: line}, printed=node.printed)
        judgements = [judgement for judgement in judged(ZFS_RECORD_SIZE, bare) if isinstance(judgement, Change)]
        assert [(judgement.subject, judgement.wanted) for judgement in judgements] == [
            ("tank/scratch writes", "1 MiB"),
            ("tank/scratch reads", "1 MiB"),
        ]
        assert [
            judgement.subject
            for judgement in judged(ZFS_RECORD_SIZE, bare.with_target("/ost0"))
            if isinstance(judgement, Change)
        ]
        assert fine(ZFS_COMPRESSION, bare.with_target("/ost0")) == ["lz4"]
        of_metadata = bare.with_text(MOUNTINFO, "OST0000", "MDT0000")
        assert not [judgement for judgement in judged(ZFS_RECORD_SIZE, of_metadata) if isinstance(judgement, Change)]

    def test_a_request_that_is_no_power_of_two(self) -> None:
        (writes, _) = self.of("131072", 47008)
        assert isinstance(writes, Change)
        assert writes.wanted == "32 KiB"


class TestDirectIo:
    enabled = f"{_PARAMETERS}/zfs_dio_enabled"

    def of(self, direct: str, enabled: int = 1) -> Node:
        node = zfs_server().with_files({"sys/module/zfs/version": "2.3.4-1", self.enabled: enabled})
        return node.with_printed({"zfs get -Hp -t filesystem direct": f"tank/scratch\tdirect\t{direct}\tlocal\n"})

    def test_it_passes_the_arc_by(self) -> None:
        assert len(fine(ZFS_DIRECT_IO, self.of("standard"))) == 2

    def test_it_is_ignored(self) -> None:
        assert change_of(ZFS_DIRECT_IO, self.of("disabled")).wanted == "direct=standard"
        change = change_of(ZFS_DIRECT_IO, self.of("standard", enabled=0))
        assert assignments(change) == {"module:zfs/zfs_dio_enabled": "1"}

    def test_what_never_uses_the_arc(self) -> None:
        assert isinstance(judged(ZFS_DIRECT_IO, self.of("always"))[1], NotJudged)

    def test_releases_that_have_none(self) -> None:
        assert "before 2.3" in not_applicable(ZFS_DIRECT_IO, zfs_server())

    def test_what_is_not_known(self) -> None:
        unlisted = self.of("standard").with_failed({"zfs get -Hp -t filesystem direct": "permission denied"})
        assert not_readable(ZFS_DIRECT_IO, unlisted)
        assert not_readable(ZFS_DIRECT_IO, self.of("standard").with_files({self.enabled: None}))


class TestProperties:
    @pytest.mark.parametrize("value", ["disabled", "always"])
    def test_sync_that_is_not_standard(self, value: str) -> None:
        change = change_of(ZFS_SYNCHRONOUS_WRITES, zfs_server(sync=value))
        assert (change.value, change.wanted) == (f"sync={value}", "sync=standard")
        assert ("crash loses" in change.because) == (value == "disabled")

    @pytest.mark.parametrize("value", ["off", "gzip", "gzip-9", "lzjb"])
    def test_other_compression(self, value: str) -> None:
        assert change_of(ZFS_COMPRESSION, zfs_server(compression=value)).wanted == "lz4"

    @pytest.mark.parametrize("value", ["on", "lz4", "zstd-3", "zstd-fast", "zle"])
    def test_compression_to_keep(self, value: str) -> None:
        assert fine(ZFS_COMPRESSION, zfs_server(compression=value)) == [value]

    @pytest.mark.parametrize(("release", "is_fine"), [("2.1.15-1", False), ("2.2.7-1", False), ("2.3.0-1", True)])
    def test_attributes_are_in_directories_before_2_3(self, release: str, is_fine: bool) -> None:
        node = zfs_server(xattr="on").with_files({"sys/module/zfs/version": release})
        (judgement,) = judged(ZFS_EXTENDED_ATTRIBUTES, node)
        assert isinstance(judgement, Fine if is_fine else Change)

    def test_inherited_values_are_reported_once_without_a_target(self) -> None:
        node = zfs_server()
        all_off = node.with_printed({ZFS_GET_LINE: node.printed[ZFS_GET_LINE].replace("\tlz4\t", "\toff\t")})
        changes = changes_of(ZFS_COMPRESSION, Node(node.host, node.files, printed=all_off.printed))
        assert [change.subject for change in changes] == ["tank"]


class TestSpecialVdev:
    def test_less_redundant_than_the_data(self) -> None:
        node = _status("\t    /dev/nvme1n1p1  ONLINE       0     0     0\n", "")
        change = change_of(ZFS_SPECIAL_VDEV, node)
        assert (change.value, change.wanted) == ("mirror-1 survives 1 failed disks", "2, as its data")
        assert change.command == "zpool attach tank /dev/nvme0n1p1 DISK"

    def test_all_blocks_are_small(self) -> None:
        change = change_of(ZFS_SPECIAL_VDEV, zfs_server(recordsize="131072", special_small_blocks="131072"))
        assert (change.value, change.wanted) == ("128 KiB", "at most 64 KiB")

    def test_without_one(self) -> None:
        begin, end = ZPOOL_STATUS.index("\tspecial"), ZPOOL_STATUS.index("\tspares")
        assert "special vdev" in not_applicable(ZFS_SPECIAL_VDEV, _status(ZPOOL_STATUS[begin:end], ""))


class TestModule:
    def test_no_prefetch(self) -> None:
        node = zfs_server().with_files({f"{_PARAMETERS}/zfs_prefetch_disable": 1})
        assert assignments(change_of(ZFS_PREFETCH, node)) == {"module:zfs/zfs_prefetch_disable": "0"}
        assert not_readable(ZFS_PREFETCH, zfs_server().with_unreadable(f"{_PARAMETERS}/zfs_prefetch_disable"))

    @pytest.mark.parametrize("name", ["zfs_nocacheflush", "zil_nocacheflush"])
    def test_no_flushes(self, name: str) -> None:
        change = change_of(ZFS_CACHE_FLUSH, zfs_server().with_files({f"{_PARAMETERS}/{name}": 1}))
        assert "power failure" in change.because
        assert assignments(change) == {f"module:zfs/{name}": "0"}
        assert not_readable(ZFS_CACHE_FLUSH, zfs_server().with_files({f"{_PARAMETERS}/{name}": None}))

    @pytest.mark.parametrize(("limit", "because"), [(1 << 20, "ignores"), (64 << 30, "1 GiB"), (1 << 30, "metadata")])
    def test_limits_of_the_arc(self, limit: int, because: str) -> None:
        change = change_of(ZFS_ARC_LIMIT, zfs_server().with_files({f"{_PARAMETERS}/zfs_arc_max": limit}))
        assert because in change.because
        assert assignments(change) == {"module:zfs/zfs_arc_max": str(32 << 30)}

    def test_limits_of_the_arc_to_keep(self) -> None:
        assert fine(ZFS_ARC_LIMIT, zfs_server()) == ["the default, 32 GiB of 64 GiB"]
        limited = zfs_server().with_files({f"{_PARAMETERS}/zfs_arc_max": 16 << 30})
        assert fine(ZFS_ARC_LIMIT, limited) == ["16 GiB of 64 GiB"]
        assert not_readable(ZFS_ARC_LIMIT, zfs_server().with_unreadable(f"{_PARAMETERS}/zfs_arc_max"))

    def test_the_default_of_the_arc_depends_on_the_release(self) -> None:
        bare = zfs_server().with_files({"proc/spl": None})
        assert fine(ZFS_ARC_LIMIT, bare) == ["the default, half of the memory"]
        newer = bare.with_files({"sys/module/zfs/version": "2.3.4-1"})
        assert fine(ZFS_ARC_LIMIT, newer) == ["the default, all memory but 1 GiB"]

    def test_read_ahead_of_its_disks_is_not_judged(self) -> None:
        assert "see zfs-prefetch" in not_applicable(READ_AHEAD_KB, zfs_server())


class TestPools:
    def test_sectors_larger_than_blocks(self) -> None:
        node = zfs_server()
        small = node.with_printed({"zpool get -Hp all": node.printed["zpool get -Hp all"].replace("\t12\t", "\t9\t")})
        change = change_of(ZFS_SECTOR_SIZE, small)
        assert (change.value, change.wanted) == ("ashift 9 (512 bytes)", "ashift 12 (4096 bytes)")

    def test_an_ashift_that_was_detected(self) -> None:
        node = zfs_server()
        auto = node.with_printed({"zpool get -Hp all": node.printed["zpool get -Hp all"].replace("\t12\t", "\t0\t")})
        assert "zdb -C" in not_readable(ZFS_SECTOR_SIZE, auto)[0].reason
        of_vdevs = "root-0\tashift\t0\t-\nraidz2-0\tashift\t9\t-\nsdb1\tashift\t9\t-\nmirror-1\tashift\t12\t-\n"
        listed = auto.with_printed({"zpool get -Hp ashift tank all-vdevs": of_vdevs})
        assert [all_change.subject for all_change in changes_of(ZFS_SECTOR_SIZE, listed)] == ["tank raidz2-0"]

    @pytest.mark.parametrize(
        ("old", "new", "value"),
        [
            (" state: ONLINE", " state: DEGRADED", "DEGRADED"),
            (
                "scrub repaired 0B in 05:12:33 with 0 errors on",
                "resilver in progress since",
                "resilver in progress",
            ),
            (
                "config:",
                "remove: Evacuation of mirror in progress since Sun\nconfig:",
                "Evacuation of mirror in progress",
            ),
        ],
    )
    def test_a_pool_that_is_not_whole_or_not_idle(self, old: str, new: str, value: str) -> None:
        assert change_of(ZFS_POOL_COMPLETENESS, _status(old, new)).value == value

    def test_a_full_pool(self) -> None:
        node = zfs_server()
        full = node.with_printed({"zpool get -Hp all": node.printed["zpool get -Hp all"].replace("\t41\t", "\t96\t")})
        assert change_of(ZFS_POOL_SPACE, full).value == "96 % used, free space 7 % fragmented"

    @pytest.mark.parametrize("printed", ["", "no pools available\n", "  pool: other\n state: ONLINE\n"])
    def test_the_targets_pool_is_not_listed(self, printed: str) -> None:
        unreadable = not_readable(ZFS_POOL_COMPLETENESS, zfs_server().with_printed({"zpool status -LP": printed}))
        assert [listed.what for listed in unreadable] == ["pool tank"]

    def test_a_disk_that_is_being_replaced(self) -> None:
        replaced = (
            "\t    replacing-1     DEGRADED     0     0     0\n"
            "\t      1234567890    UNAVAIL      0     0     0  was /dev/sdc1\n"
            "\t      /dev/sdf1     ONLINE       0     0     0  (resilvering)\n"
        )
        node = _status("\t    /dev/sdc1       ONLINE       0     0     0\n", replaced)
        (pool,) = pools(node.snapshot(), None)
        assert pool.vdevs[0].disks == ("/dev/sdb1", "/dev/sdf1", "/dev/sdd1", "/dev/sde1")

    def test_vdevs_with_their_disks(self) -> None:
        (pool,) = pools(zfs_server().snapshot(), None)
        assert [(vdev.name, vdev.use, len(vdev.disks)) for vdev in pool.vdevs] == [
            ("raidz2-0", "", 4),
            ("mirror-1", "special", 3),
            ("/dev/sdf1", "spares", 1),
        ]
        assert pool.failures == 2

    @pytest.mark.parametrize(
        ("name", "failures"),
        [("raidz1-0", 1), ("raidz3-0", 3), ("draid2:8d:11c:1s-0", 2), ("mirror-0", 3), ("/dev/sdb1", 0)],
    )
    def test_how_many_disks_a_vdev_can_lose(self, name: str, failures: int) -> None:
        (pool,) = pools(_status("raidz2-0", name).snapshot(), None)
        assert pool.vdevs[0].failures == failures


def test_the_disks_of_the_targets_pool_are_judged_too() -> None:
    node = zfs_server().with_files(disk("sda"))
    assert [device.name for device in System(node.snapshot()).concerned()] == ["sdb", "sdc", "sdd", "sde"]
    unknown = node.with_printed({"zpool status -LP": None})
    assert len(System(unknown.snapshot()).concerned()) == 5

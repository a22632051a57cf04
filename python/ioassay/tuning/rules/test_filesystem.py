from __future__ import annotations

from dataclasses import replace

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
from ioassay.testing.snapshots import below
from ioassay.testing.storage_nodes import DUMPE2FS, MOUNTINFO, XFS_INFO, Node, ext4_host, nfs_client, nfs_server
from ioassay.tuning.rule import Fine, Rule
from ioassay.tuning.rules.filesystem import (
    ACCESS_TIMES,
    EXT4_JOURNAL_MODE,
    EXT4_JOURNAL_SIZE,
    EXT4_LAZY_TIMES,
    EXT4_STRIPE,
    EXT4_WRITE_BARRIERS,
    PARTITION_ALIGNMENT,
    RULES,
    XFS_ALLOCATION_GROUPS,
    XFS_INODE_NUMBERS,
    XFS_LOG_BUFFERS,
    XFS_STRIPE,
)
from ioassay.tuning.system import Array

ARRAY = Array(data_disks=8, segment_bytes=128 << 10, parity_disks=2)
XFS_RULES = [rule for rule in RULES if rule.name.startswith("xfs-")]
EXT4_RULES = [rule for rule in RULES if rule.name.startswith("ext4-")]
BOTH = [ACCESS_TIMES, PARTITION_ALIGNMENT]


def _xfs(old: str, new: str) -> Node:
    return nfs_server().with_text(MOUNTINFO, old, new)


def _ext4(old: str, new: str) -> Node:
    return ext4_host().with_text(MOUNTINFO, old, new)


def _dumped(old: str, new: str) -> Node:
    assert old in DUMPE2FS
    return ext4_host().with_printed({"dumpe2fs -h /dev/sdb1": DUMPE2FS.replace(old, new)})


@pytest.mark.parametrize("rule", [*XFS_RULES, ACCESS_TIMES], ids=lambda rule: rule.name)
def test_a_well_made_xfs_is_fine(rule: Rule) -> None:
    assert fine(rule, nfs_server())


@pytest.mark.parametrize("rule", [*EXT4_RULES, *BOTH], ids=lambda rule: rule.name)
def test_a_well_made_ext4_is_fine(rule: Rule) -> None:
    assert fine(rule, ext4_host(), array=ARRAY)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_target_on_nfs(rule: Rule) -> None:
    assert not_applicable(rule, nfs_client(), array=ARRAY)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_mounts_that_cannot_be_read(rule: Rule) -> None:
    assert not_readable(rule, ext4_host().with_unreadable(MOUNTINFO), array=ARRAY)


def test_each_file_system_is_judged_once_without_a_target() -> None:
    node = nfs_server()
    twice = node.files[MOUNTINFO] + "71 25 9:0 /sub /srv rw,noatime shared:41 - xfs /dev/md0 rw,inode64,logbsize=256k\n"
    judgements = judged(ACCESS_TIMES, Node(node.host, {**node.files, MOUNTINFO: twice}, node.links))
    assert [judgement.subject for judgement in judgements if isinstance(judgement, Fine)] == ["/", "/export"]


class TestXfsStripe:
    def test_a_width_that_a_mount_can_set(self) -> None:
        change = change_of(XFS_STRIPE, _xfs("sunit=256,swidth=2048", "sunit=128,swidth=1024"))
        assert (change.value, change.wanted) == ("unit 64 KiB, width 512 KiB", "unit 128 KiB, width 1024 KiB")
        assert change.command == "umount /export && mount -o sunit=256,swidth=2048 /dev/md0 /export"
        assert not change.assignments

    def test_groups_that_do_not_fit_the_chunk(self) -> None:
        # Linux 6.18: "alignment check failed: sunit/swidth vs. agsize(65520)"
        info = XFS_INFO.replace("agsize=268435424", "agsize=65520")
        node = _xfs("sunit=256,swidth=2048", "sunit=128,swidth=512").with_printed({"xfs_info /export": info})
        change = change_of(XFS_STRIPE, node)
        assert change.command.startswith("mkfs.xfs")
        assert "allocation groups" in change.because

    def test_no_stripe_means_mkfs(self) -> None:
        change = change_of(XFS_STRIPE, _xfs(",sunit=256,swidth=2048", ""))
        assert (change.value, change.assignments) == ("no stripe", ())
        assert change.command.startswith("mkfs.xfs -d su=128k,sw=8 /dev/md0")
        assert change.because == "md0 has 8 data disks with chunks of 128 KiB"

    def test_alignment_that_is_turned_off(self) -> None:
        assert change_of(XFS_STRIPE, _xfs("sunit=256,swidth=2048", "noalign")).value == "noalign"

    def test_a_single_disk_has_no_stripe(self) -> None:
        node = nfs_server().with_files({"sys/block/md0/md": None})
        assert "--raid" in not_applicable(XFS_STRIPE, node)

    def test_an_array_that_cannot_be_read(self) -> None:
        assert not_readable(XFS_STRIPE, nfs_server().with_unreadable("sys/block/md0/md/chunk_size"))

    def test_the_raid_of_a_controller(self) -> None:
        node = _ext4("- ext4 /dev/sdb1 rw,stripe=256", "- xfs /dev/sdb1 rw,inode64,logbsize=32k")
        assert change_of(XFS_STRIPE, node, array=ARRAY).command.startswith("mkfs.xfs -d su=128k,sw=8 /dev/sdb1")


class TestXfs:
    def test_log_buffers(self) -> None:
        change = change_of(XFS_LOG_BUFFERS, _xfs("logbsize=256k", "logbsize=32k"))
        assert (change.value, change.wanted, change.assignments) == ("32 KiB", "256 KiB", ())
        assert not_readable(XFS_LOG_BUFFERS, _xfs("logbsize=256k,", ""))
        assert "read-only" in not_applicable(XFS_LOG_BUFFERS, _xfs(" rw,noatime shared:40", " ro,noatime shared:40"))

    def test_inode_numbers(self) -> None:
        assert assignments(change_of(XFS_INODE_NUMBERS, _xfs("inode64", "inode32"))) == {"mount:/export/inode64": "on"}

    def test_a_file_system_that_has_grown(self) -> None:
        grown = XFS_INFO.replace("agcount=32, agsize=268435424", "agcount=119226, agsize=65536")
        change = change_of(XFS_ALLOCATION_GROUPS, nfs_server().with_printed({"xfs_info /export": grown}))
        assert change.value == "119226 groups of 256 MiB"

    def test_few_groups_on_flash(self) -> None:
        few = XFS_INFO.replace("agcount=32, agsize=268435424", "agcount=4, agsize=1953406976")
        node = nfs_server().with_printed({"xfs_info /export": few})
        assert fine(XFS_ALLOCATION_GROUPS, node)
        flash = node.with_files({f"sys/block/sd{letter}/queue/rotational": 0 for letter in "bcdefghijk"})
        assert change_of(XFS_ALLOCATION_GROUPS, flash).wanted == "16 groups"

    def test_groups_that_are_not_known(self) -> None:
        assert not_readable(XFS_ALLOCATION_GROUPS, nfs_server().with_printed({"xfs_info /export": None}))


class TestExt4:
    def test_another_stripe(self) -> None:
        dumped = _dumped("RAID stripe width:        256\n", "")
        change = change_of(EXT4_STRIPE, dumped.with_text("proc/self/mountinfo", ",stripe=256", ""), array=ARRAY)
        assert (change.value, assignments(change)) == ("no stripe", {"mount:/data/stripe": "256"})
        assert change.command == "tune2fs -E stride=32,stripe_width=256 /dev/sdb1"
        assert fine(EXT4_STRIPE, dumped, array=ARRAY) == ["stripe 1024 KiB, by an option of the mount"]

    def test_a_superblock_that_cannot_be_read(self) -> None:
        node = ext4_host().with_printed({"dumpe2fs -h /dev/sdb1": None})
        assert not_readable(EXT4_STRIPE, node, array=ARRAY)
        assert not_readable(EXT4_JOURNAL_SIZE, node)

    def test_a_raid_that_is_not_known(self) -> None:
        assert "--raid" in not_applicable(EXT4_STRIPE, ext4_host())

    @pytest.mark.parametrize(("mode", "why"), [("journal", "twice"), ("writeback", "after a crash")])
    def test_journal_modes(self, mode: str, why: str) -> None:
        change = change_of(EXT4_JOURNAL_MODE, _ext4("rw,stripe=256", f"rw,stripe=256,data={mode}"))
        assert why in change.because
        assert change.command.startswith("set data=ordered for /data")

    def test_a_small_journal(self) -> None:
        change = change_of(
            EXT4_JOURNAL_SIZE, _dumped("Total journal size:       1024M", "Total journal size:       128M")
        )
        assert (change.value, change.wanted) == ("128 MiB", "1024 MiB")
        small = DUMPE2FS.replace("976754176", "26214400").replace("1024M", "512M")
        assert fine(EXT4_JOURNAL_SIZE, ext4_host().with_printed({"dumpe2fs -h /dev/sdb1": small})) == ["512 MiB"]

    def test_no_journal_of_its_own(self) -> None:
        assert "no journal" in not_applicable(EXT4_JOURNAL_SIZE, _dumped("has_journal ", ""))
        elsewhere = _dumped("Total journal size:       1024M\n", "")
        assert "another device" in not_applicable(EXT4_JOURNAL_SIZE, elsewhere)

    def test_barriers(self) -> None:
        changes = changes_of(
            EXT4_WRITE_BARRIERS, _ext4("rw,stripe=256", "rw,nobarrier,journal_async_commit,stripe=256")
        )
        assert [change.value for change in changes] == ["nobarrier", "journal_async_commit"]
        assert changes[0].because == "the device says that its write cache is volatile"
        assert assignments(changes[0]) == {"mount:/data/nobarrier": "off"}

    def test_lazy_times(self) -> None:
        assert assignments(change_of(EXT4_LAZY_TIMES, _ext4(",lazytime", ""))) == {"mount:/data/lazytime": "on"}
        assert "read-only" in not_applicable(EXT4_LAZY_TIMES, _ext4(" rw,noatime", " ro,noatime"))

    def test_lazy_times_are_judged_where_a_workload_goes(self) -> None:
        node = replace(_ext4(",lazytime", ""), target=None)
        assert "name the target" in not_applicable(EXT4_LAZY_TIMES, node)
        assert "no ext4" in not_applicable(EXT4_LAZY_TIMES, node.with_target("/elsewhere"))


class TestAccessTimes:
    def test_every_read_writes(self) -> None:
        assert assignments(change_of(ACCESS_TIMES, _ext4("noatime,", ""))) == {"mount:/data/noatime": "on"}

    def test_relatime_is_enough_unless_exported(self) -> None:
        assert fine(ACCESS_TIMES, _ext4("noatime", "relatime")) == ["relatime"]
        assert "exported" in change_of(ACCESS_TIMES, _xfs("noatime", "relatime")).because


class TestPartitionAlignment:
    start = "sys/block/sdb/sdb1/start"

    def test_a_partition_of_old_tools(self) -> None:
        change = change_of(PARTITION_ALIGNMENT, ext4_host().with_files({self.start: 63}))
        assert (change.subject, change.value, change.wanted) == ("sdb1", "starts at 31.5 KiB", "a multiple of 1024 KiB")
        far = change_of(PARTITION_ALIGNMENT, ext4_host().with_files({self.start: 1953525170}))
        assert far.value == "starts at 976762585 KiB"

    def test_the_stripe_of_the_raid_counts(self) -> None:
        wide = Array(data_disks=10, segment_bytes=128 << 10)
        assert "the RAID stripe" in change_of(PARTITION_ALIGNMENT, ext4_host(), array=wide).because
        aligned = ext4_host().with_files({self.start: 2560})
        assert fine(PARTITION_ALIGNMENT, aligned, array=wide) == ["starts at 1280 KiB"]

    def test_a_whole_device(self) -> None:
        assert "no partition" in not_applicable(PARTITION_ALIGNMENT, nfs_server())

    def test_partitions_below_an_array(self) -> None:
        node = nfs_server().with_files(
            {**below("sys/block/sdb/sdb1", {"partition": 1, "start": 63, "size": 9, "dev": "8:17"})}
        )
        node = node.with_links({"sys/block/sdb/sdb1/holders/md0": "../../../md0"})
        assert change_of(PARTITION_ALIGNMENT, node).subject == "sdb1"

    def test_a_start_that_cannot_be_read(self) -> None:
        node = ext4_host().with_unreadable("sys/block/sdb/sdb1/dev")
        assert not_readable(PARTITION_ALIGNMENT, node)

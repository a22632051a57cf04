from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import change_of, changes_of, fine, not_applicable, not_readable
from ioassay.testing.storage_nodes import BTRFS_PATH, MOUNTINFO, Node, btrfs_host, ext4_host
from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.btrfs import (
    BTRFS_COMPLETENESS,
    BTRFS_COMPRESSION,
    BTRFS_COPY_ON_WRITE,
    BTRFS_DISCARD,
    BTRFS_RAID_PROFILE,
    BTRFS_SPACE_CACHE,
    BTRFS_WRITE_BARRIERS,
    RULES,
)
from ioassay.tuning.system import System


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_well_set_file_system_is_fine(rule: Rule) -> None:
    assert fine(rule, btrfs_host())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_btrfs(rule: Rule) -> None:
    assert "no btrfs" in not_applicable(rule, ext4_host())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_mounts_that_cannot_be_read(rule: Rule) -> None:
    [unreadable] = not_readable(rule, btrfs_host().with_unreadable(MOUNTINFO))
    assert unreadable.what == "/proc/self/mountinfo"


@pytest.mark.parametrize("rule", [BTRFS_RAID_PROFILE, BTRFS_COMPLETENESS], ids=lambda rule: rule.name)
def test_a_snapshot_without_its_directory(rule: Rule) -> None:
    assert not_readable(rule, btrfs_host().with_files({BTRFS_PATH: None}))


def test_several_mounts_of_one_file_system_are_judged_once() -> None:
    node = btrfs_host("nobarrier")
    line = node.files[MOUNTINFO].splitlines()[1].replace("/ /data", "/home /home")
    both = node.with_files({MOUNTINFO: f"{node.files[MOUNTINFO]}{line}\n"})
    assert change_of(BTRFS_WRITE_BARRIERS, Node(both.host, both.files, both.links)).subject == "/data"


class TestProfiles:
    @pytest.mark.parametrize(("profile", "wanted"), [("raid5", "raid1"), ("raid6", "raid1c3")])
    def test_parity_has_a_write_hole(self, profile: str, wanted: str) -> None:
        change = change_of(BTRFS_RAID_PROFILE, btrfs_host(data=profile))
        assert (change.subject, change.value, change.wanted) == ("/data data", profile, wanted)
        assert "write hole" in change.because
        assert change.command == f"btrfs balance start -dconvert={wanted} /data"

    def test_metadata_without_copies_on_several_devices(self) -> None:
        node = btrfs_host().with_files({f"{BTRFS_PATH}/allocation/metadata/raid1": None})
        single = node.with_files({f"{BTRFS_PATH}/allocation/metadata/single/total_bytes": 1})
        assert change_of(BTRFS_RAID_PROFILE, single).wanted == "raid1"

    def test_mixed_block_groups(self) -> None:
        node = btrfs_host().with_files({f"{BTRFS_PATH}/allocation": None})
        mixed = node.with_files({f"{BTRFS_PATH}/allocation/mixed/raid5/total_bytes": 1})
        assert len(changes_of(BTRFS_RAID_PROFILE, mixed)) == 2

    def test_a_device_of_the_device_mapper(self) -> None:
        node = btrfs_host(data="raid5").with_text(MOUNTINFO, "/dev/sdb", "/dev/mapper/vg-data")
        node = node.with_files({"sys/block/dm-3/dm/name": "vg-data"})
        node = node.with_links({f"{BTRFS_PATH}/devices/dm-3": "../../../../block/dm-3"})
        assert change_of(BTRFS_RAID_PROFILE, node).value == "raid5"


class TestOptions:
    @pytest.mark.parametrize("option", ["nodatasum,nodatacow", "nodatasum"])
    def test_copies_without_checksums(self, option: str) -> None:
        change = change_of(BTRFS_COPY_ON_WRITE, btrfs_host(option))
        assert "which copy of raid1 is right" in change.because

    def test_no_checksums_where_there_is_one_copy(self) -> None:
        assert "partial writes" in fine(BTRFS_COPY_ON_WRITE, btrfs_host("nodatasum,nodatacow", data="single"))[0]

    def test_no_barriers(self) -> None:
        change = change_of(BTRFS_WRITE_BARRIERS, btrfs_host("nobarrier"))
        assert change.command.startswith("mount -o remount,barrier /data")

    @pytest.mark.parametrize(
        ("options", "wanted"),
        [
            ("compress=zlib:3", "compress=zstd:1"),
            ("compress=zstd:9", "compress=zstd:1"),
            ("compress-force=zstd:3", "compress=zstd:3"),
            ("compress-force=zlib:9", "compress=zstd:1"),
        ],
    )
    def test_slow_compression(self, options: str, wanted: str) -> None:
        assert change_of(BTRFS_COMPRESSION, btrfs_host(options)).wanted == wanted

    @pytest.mark.parametrize("options", ["compress=zstd:3", "compress=lzo", "compress=zstd:-5", "ssd"])
    def test_fast_compression(self, options: str) -> None:
        assert fine(BTRFS_COMPRESSION, btrfs_host(options))

    def test_discards_at_once(self) -> None:
        assert change_of(BTRFS_DISCARD, btrfs_host("discard")).command.startswith(
            "mount -o remount,discard=async /data"
        )
        assert fine(BTRFS_DISCARD, btrfs_host("ssd")) == ["no discard"]

    @pytest.mark.parametrize(
        ("options", "value"), [("space_cache", "space_cache=v1"), ("nospace_cache", "nospace_cache")]
    )
    def test_the_first_space_cache(self, options: str, value: str) -> None:
        assert change_of(BTRFS_SPACE_CACHE, btrfs_host(options)).value == value


class TestCompleteness:
    @pytest.mark.parametrize(
        ("path", "text", "value"),
        [
            ("devinfo/2/missing", "1", "device 2 missing"),
            ("devinfo/1/error_stats", "write_errs 3\nread_errs 0\ncorruption_errs 1\n", "write_errs 3, corruption"),
            ("exclusive_operation", "balance", "balance"),
        ],
    )
    def test_what_disturbs_a_measurement(self, path: str, text: str, value: str) -> None:
        assert value in change_of(BTRFS_COMPLETENESS, btrfs_host().with_files({f"{BTRFS_PATH}/{path}": text})).value


def test_the_devices_of_the_target_are_judged_too() -> None:
    assert [device.name for device in System(btrfs_host().snapshot()).concerned()] == ["sdb", "sdc"]
    host = btrfs_host()
    links = {path: to for path, to in host.links.items() if not path.endswith("sdc")}
    device = System(Node(host.host, host.files, links, target=host.target).snapshot()).target_device
    assert device is not None
    assert device.name == "sdb"

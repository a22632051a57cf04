"""Names of settings, and reading, checking and writing them on made-up machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.testing.tuned_machine import made_up_machine, write_tree
from ioassay.tuning.choices import choices, chosen
from ioassay.tuning.settings import Assignment, CannotSet, NotLive, Vanished, instance_named, parse, parse_assignment


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_up_machine(tmp_path / "root", "sda", "sdb")


def names(name: str, root: Path) -> list[str]:
    return [instance.name for instance in parse(name, root=root).instances()]


def test_a_file_of_a_block_device_itself_is_read_where_it_is(tmp_path: Path) -> None:
    root = write_tree(
        tmp_path, {"sys/block/zram0/comp_algorithm": "[lzo-rle] lz4", "sys/block/zram0/queue/nr_requests": "1"}
    )
    (instance,) = parse("sys:block/zram0/comp_algorithm", root=root).instances()
    assert (instance.name, instance.read()) == ("sys:block/zram0/comp_algorithm", "lzo-rle")
    (queue,) = parse("sys:block/zram0/queue/nr_requests", root=root).instances()
    assert queue.name == "block:zram0/nr_requests"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("block:sda/nr_requests", "256"),
        ("block:sda/scheduler", "mq-deadline"),
        ("block:sda/queue/nr_requests", "256"),
        ("sysctl:vm.vfs_cache_pressure", "100"),
        ("sysctl:vm/vfs_cache_pressure", "100"),
        ("sysctl:net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("sys:kernel/mm/transparent_hugepage/enabled", "madvise"),
        ("sys:/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
    ],
)
def test_a_value_is_read_without_what_stands_around_it(root: Path, name: str, value: str) -> None:
    (instance,) = parse(name, root=root).instances()
    assert instance.read() == value


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("blok:sda/nr_requests", "blok:sda/nr_requests: no such kind of settings; did you mean `block`?"),
        ("block:sda/nr_request", "block:sda/nr_request: no such parameter; did you mean `nr_requests`?"),
        ("block:sdaa/nr_requests", "block:sdaa/nr_requests: no such block device; did you mean `sda`?"),
        ("block:sda/../sdb", "names no parameter"),
        ("block:sda", "names no parameter"),
        ("sysctl:vm.vfs_cache_presure", "no such parameter; did you mean `vfs_cache_pressure`?"),
        ("sysctl:vn.swappiness", "no such parameter; use one of `kernel`, `net`, `vm`"),
        ("sysctl:vm", "names no sysctl"),
        ("sysctl:net.ipv4", "a directory, not a parameter"),
        ("sysctl:../etc/passwd", "names no sysctl"),
        ("sys:kernel/mm/transparent_hugepage/enable", "no such file; did you mean `enabled`?"),
        ("sys:kernel/mm", "a directory, not a file"),
        ("sys:../etc/machine-id", "names no file"),
        ("module:loop/max_loop", "loop is not loaded"),
        ("mount:scratch", "names no option"),
        ("stripe:/lustre/dir/counts", "no such parameter; did you mean `count`?"),
        ("stripe:dir/count", "names no directory"),
        ("lctl:max_dirty_mb", "names no parameter"),
        ("command:raid", "no commands are defined"),
        ("nr_requests", "nr_requests is not a setting"),
        ("block:", "block: is not a setting"),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_the_nearest_one(root: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(name, root=root)
    assert message in refused.value.message


def test_a_loop_device_in_use_is_proposed_and_an_empty_one_is_not(root: Path) -> None:
    write_tree(root, {"sys/block/loop0/size": "8192", "sys/block/loop1/size": "0"})
    with pytest.raises(UsageError, match="did you mean `loop0`"):
        parse("block:lop0/nr_requests", root=root)
    with pytest.raises(UsageError, match="use one of `loop0`, `sda`, `sdb`"):
        parse("block:x/nr_requests", root=root)


def test_a_partition_is_refused_with_its_device(root: Path) -> None:
    (root / "sys/block/sda/sda1").mkdir()
    with pytest.raises(UsageError, match="sda1 is a partition: write sda"):
        parse("block:sda1/nr_requests", root=root)


def test_a_pattern_stands_for_each_file_that_it_names(root: Path) -> None:
    files = {f"sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor": "powersave" for n in range(3)}
    write_tree(root, files)
    matching = names("sys:devices/system/cpu/cpu*/cpufreq/scaling_governor", root)
    assert matching == [f"sys:devices/system/cpu/cpu{n}/cpufreq/scaling_governor" for n in range(3)]
    assert names("block:sd*/nr_requests", root) == ["block:sda/nr_requests", "block:sdb/nr_requests"]


def test_a_parameter_below_a_device_has_a_slash(root: Path) -> None:
    write_tree(root, {"sys/block/md0/md/stripe_cache_size": "256", "sys/block/sda/device/queue_depth": "32"})
    assert parse("block:md0/md/stripe_cache_size", root=root).instances()[0].read() == "256"
    assert parse("block:sda/device/queue_depth", root=root).instances()[0].read() == "32"


@pytest.mark.parametrize(("text", "value"), [("1000 (system)", "system"), ("50000 (local)", "50000")])
def test_the_speed_of_md_is_read_as_it_is_written(root: Path, text: str, value: str) -> None:
    write_tree(root, {"sys/block/md0/md/sync_speed_min": text})
    (instance,) = parse("block:md0/md/sync_speed_min", root=root).instances()
    assert instance.read() == value
    assert instance.check("20000", value) == "20000"


def test_whichever_way_leads_to_a_file_of_a_device_it_has_one_name(root: Path) -> None:
    devices = root / "sys/devices/pci0/block"
    devices.mkdir(parents=True)
    (root / "sys/block/sda").rename(devices / "sda")
    (root / "sys/block/sda").symlink_to("../devices/pci0/block/sda")
    (root / "sys/class/block").mkdir(parents=True)
    (root / "sys/class/block/sda").symlink_to("../../devices/pci0/block/sda")
    for way in ("block/sda", "class/block/sda", "devices/pci0/block/sda"):
        assert names(f"sys:{way}/queue/max_sectors_kb", root) == ["block:sda/max_sectors_kb"]


def test_a_disk_whose_directory_is_not_in_one_of_disks_is_known_by_its_device_too(root: Path) -> None:
    """As of NVMe: its namespaces lie below their controller."""
    made_up_machine(root, "nvme0n1")
    controller = root / "sys/devices/pci0/nvme/nvme0"
    controller.mkdir(parents=True)
    (root / "sys/block/nvme0n1").rename(controller / "nvme0n1")
    (root / "sys/block/nvme0n1").symlink_to("../devices/pci0/nvme/nvme0/nvme0n1")
    write_tree(root, {"sys/block/nvme0n1/holders/dm-0/dm/uuid": "mpath-eui.0001"})
    for way in ("block", "devices/pci0/nvme/nvme0"):
        (instance,) = parse(f"sys:{way}/nvme0n1/queue/max_sectors_kb", root=root).instances()
        assert instance.name == "block:nvme0n1/max_sectors_kb"
        with pytest.raises(NotLive, match="whose paths would fail"):
            instance.write("256")


def test_a_sysctl_with_a_dot_in_a_part_has_slashes(root: Path) -> None:
    write_tree(root, {"proc/sys/net/ipv4/conf/eth0.100/rp_filter": "1"})
    assert names("sysctl:net/ipv4/conf/eth0.100/rp_filter", root) == ["sysctl:net/ipv4/conf/eth0.100/rp_filter"]
    assert names("sysctl:net.ipv4.conf.eth0/100.rp_filter", root) == ["sysctl:net/ipv4/conf/eth0.100/rp_filter"]
    assert instance_named("sysctl:net/ipv4/conf/eth0.100/rp_filter", root=root).read() == "1"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("block:sda/scheduler", "mq-deadlin", "no such choice; did you mean `mq-deadline`?"),
        ("block:sda/nr_requests", "many", "not an integer; it is 256 now"),
        ("block:sda/nr_requests", "1k", "not an integer"),
        ("block:sda/nr_requests", " ", "the value is empty"),
        ("block:sda/nr_requests", "1\x1b", "cannot be printed"),
        ("block:sda/max_sectors_kb", "2048", "takes at most 1024 KiB"),
        ("sysctl:net.ipv4.tcp_rmem", "4096", "1 of 3 numbers"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_before_it_is_written(
    root: Path, name: str, value: str, message: str
) -> None:
    (instance,) = parse(name, root=root).instances()
    now = instance.read()
    with pytest.raises(UsageError) as refused:
        instance.check(value, now)
    assert message in refused.value.message
    assert instance.read() == now


@pytest.mark.parametrize("value", ["0x100", "-1"])
def test_an_integer_that_only_the_kernel_can_judge_is_left_to_it(root: Path, value: str) -> None:
    (instance,) = parse("block:sda/max_sectors_kb", root=root).instances()
    assert instance.check(value, "512") == value


def test_a_file_that_the_kernel_only_shows_is_refused(root: Path) -> None:
    (root / "sys/block/sda/queue/max_hw_sectors_kb").chmod(0o444)
    (instance,) = parse("block:sda/max_hw_sectors_kb", root=root).instances()
    with pytest.raises(CannotSet, match="is read-only: the kernel only shows it"):
        instance.check("512", "1024")


def test_a_device_that_is_gone_has_vanished(root: Path) -> None:
    instance = instance_named("block:sdz/nr_requests", root=root)
    with pytest.raises(Vanished, match="No such file or directory"):
        instance.read()
    with pytest.raises(CannotSet, match="is not there"):
        instance.write("1")


@pytest.mark.parametrize("device", ["sda", "dm-0"])
def test_max_sectors_kb_is_not_changed_live_below_dm_multipath(root: Path, device: str) -> None:
    made_up_machine(root, "dm-0")
    write_tree(
        root,
        {
            "sys/block/dm-0/dm/uuid": "mpath-3600a0b80001234",
            "sys/block/sda/holders/dm-0/dm/uuid": "mpath-3600a0b80001234",
        },
    )
    (instance,) = parse(f"block:{device}/max_sectors_kb", root=root).instances()
    assert "3600a0b80001234" in instance.not_live()
    with pytest.raises(NotLive, match="whose paths would fail"):
        instance.write("256")
    assert instance.read() == "512"
    assert parse(f"block:{device}/nr_requests", root=root).instances()[0].not_live() == ""
    assert parse("block:sdb/max_sectors_kb", root=root).instances()[0].not_live() == ""


def test_a_partition_below_dm_multipath_counts_for_its_device(root: Path) -> None:
    write_tree(root, {"sys/block/sda/sda1/holders/dm-3/dm/uuid": "part1-mpath-360"})
    assert parse("block:sda/max_sectors_kb", root=root).instances()[0].not_live()


def test_a_module_parameter_is_read_from_the_loaded_module_or_from_modprobe_d(root: Path) -> None:
    write_tree(root, {"sys/module/mpt3sas/parameters/max_sgl_entries": "128"})
    (root / "sys/module/mpt3sas/parameters/max_sgl_entries").chmod(0o444)
    (loaded,) = parse("module:mpt3sas/max_sgl_entries", root=root).instances()
    assert loaded.read() == "128"
    assert loaded.not_live() == "the module mpt3sas reads it only when it is loaded"
    with pytest.raises(NotLive):
        loaded.write("256")
    assert loaded.check("256", "128") == "256"
    with pytest.raises(UsageError, match="did you mean `max_sgl_entries`"):
        parse("module:mpt3sas/max_sgl_entrys", root=root)
    write_tree(
        root,
        {
            "etc/modprobe.d/a.conf": "# options qla2xxx ql2xmaxqdepth=9\noptions qla2xxx other=1 \\\n ql2xmaxqdepth=32",
            "etc/modprobe.d/b.conf": "options qla2xxx ql2xmaxqdepth=64",
        },
    )
    (configured,) = parse("module:qla2xxx/ql2xmaxqdepth", root=root).instances()
    assert configured.read() == "64"


def test_a_module_parameter_with_a_writable_file_is_set_live(root: Path) -> None:
    write_tree(root, {"sys/module/nvme_core/parameters/io_timeout": "30"})
    (instance,) = parse("module:nvme-core/io_timeout", root=root).instances()
    assert not instance.not_live()
    instance.write("60")
    assert instance.read() == "60"
    assert names("sys:module/nvme_core/parameters/io_timeout", root) == ["module:nvme_core/io_timeout"]


def test_0_is_refused_where_the_kernel_does_not_take_it(root: Path) -> None:
    write_tree(root, {"proc/sys/vm/dirty_bytes": "0", "proc/sys/vm/dirty_ratio": "20"})
    (instance,) = parse("sysctl:vm.dirty_bytes", root=root).instances()
    with pytest.raises(UsageError) as refused:
        instance.check("0", "1")
    assert refused.value.remedy == "Set sysctl:vm.dirty_ratio instead; that makes this one 0."


def test_an_assignment_is_split_at_the_first_equals_sign() -> None:
    assert parse_assignment("command:raid=a=b") == Assignment("command:raid", "a=b")
    for text in ("block:sda/nr_requests", "nr_requests=1", ""):
        with pytest.raises(UsageError, match="is not an assignment"):
            parse_assignment(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none [mq-deadline] kyber", ("mq-deadline", ["none", "mq-deadline", "kyber"])),
        ("[none]", ("none", ["none"])),
        ("none", ("none", [])),
        ("1\t2\t3\n", ("1 2 3", [])),
        ("[a] [b]", ("[a] [b]", [])),
        ("write back", ("write back", [])),
    ],
)
def test_the_chosen_word_stands_in_brackets(text: str, expected: tuple[str, list[str]]) -> None:
    assert (chosen(text), choices(text)) == expected


@pytest.mark.skipif(os.geteuid() != 0, reason="it gives up the rights of root")
def test_settings_an_unprivileged_user_cannot_write_are_refused_with_a_remedy() -> None:
    (instance,) = parse("sysctl:vm.swappiness").instances()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(65534)
            instance.check("10", instance.read())
        except CannotSet as error:
            code = 0 if "Permission denied (EACCES)" in error.message and error.remedy == "Run as root." else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

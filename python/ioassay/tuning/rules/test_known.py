from __future__ import annotations

import pytest

from ioassay.testing import storage_nodes, tuned_systems
from ioassay.tuning.rule import Change
from ioassay.tuning.rules import RULES
from ioassay.tuning.rules.known import out_of_bounds, rule_of
from ioassay.tuning.system import System


@pytest.mark.parametrize(
    ("setting", "file_system", "rule"),
    [
        ("block:sda/nr_requests", "", "nr-requests"),
        ("block:md/nr_requests", "", "nr-requests"),
        ("block:md0/md/stripe_cache_size", "", "md-stripe-cache"),
        ("block:sda/device/queue_depth", "", "queue-depth"),
        ("sys:block/sda/queue/scheduler", "", "scheduler"),
        ("sys:block/md0/md/group_thread_cnt", "", "md-worker-threads"),
        ("sysctl:vm.dirty_bytes", "", "dirty-limit"),
        ("sysctl:net.ipv4.tcp_rmem", "", "tcp-buffers"),
        ("sysctl:dev.raid.speed_limit_min", "", "md-sync-speed"),
        ("sys:kernel/mm/transparent_hugepage/enabled", "", "transparent-hugepage"),
        ("sys:class/bdi/0:52/read_ahead_kb", "", "nfs-read-ahead"),
        ("sys:module/mpt3sas/parameters/max_queue_depth", "", "max-queue-depth"),
        ("module:mpt3sas/max_sgl_entries", "", "max-sgl-entries"),
        ("lctl:osc.scratch-*.max_rpcs_in_flight", "", "lustre-max-rpcs-in-flight"),
        ("stripe:/scratch/dir/count", "", "lustre-default-layout"),
        ("mount:/home/sync", "nfs4", "nfs-synchronous-writes"),
        ("mount:/home/async", "nfs4", "nfs-synchronous-writes"),
        ("mount:/data/noatime", "xfs", "access-times"),
        ("sys:class/nvme-subsystem/nvme-subsys0/iopolicy", "", "nvme-path-policy"),
        ("mount:/data/compress", "btrfs", "btrfs-compression"),
        ("mount:/home/max_connect", "nfs4", "nfs-trunking"),
        ("module:zfs/zfs_arc_max", "", "zfs-arc-limit"),
        ("sys:module/zfs/parameters/zfs_prefetch_disable", "", "zfs-prefetch"),
        ("block:sda/async_depth", "", "async-depth"),
        ("mount:/data/sync", "ext4", None),
        ("sys:kernel/mm/transparent_hugepage/defrag", "", "transparent-hugepage"),
        ("sysctl:kernel.scheduler", "", None),
        ("block:sda/nr_zones", "", None),
        ("command:nr_requests", "", None),
        ("block:", "", None),
        ("enabled", "", None),
    ],
)
def test_the_rule_of_a_setting(setting: str, file_system: str, rule: str | None) -> None:
    known_rule = rule_of(setting, file_system)
    assert (known_rule.name if known_rule else None) == rule


def test_each_setting_that_a_rule_recommends_is_known_to_a_rule() -> None:
    nodes = (
        storage_nodes.nfs_client(),
        storage_nodes.nfs_server(),
        storage_nodes.ext4_host(),
        storage_nodes.zfs_server().with_files({"sys/module/zfs/parameters/zfs_prefetch_disable": 1}),
        storage_nodes.network_client().with_files({"sys/class/nvme-subsystem/nvme-subsys0/iopolicy": "numa"}),
    )
    snapshots = [node.snapshot() for node in nodes]
    snapshots += [tuned_systems.md3460_oss(), tuned_systems.lustre_client(), tuned_systems.nvme_node()]
    judged = [judgement for known in snapshots for rule in RULES for judgement in rule.judgements(System(known))]
    names = {setting.name for judgement in judged if isinstance(judgement, Change) for setting in judgement.assignments}
    assert len(names) > 20
    assert [name for name in sorted(names) if rule_of(name, "nfs4") is None] == []


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("block:sda/nr_requests", "4", "all others wait; keep it at least 16"),
        ("sysctl:vm.dirty_ratio", "95", "; keep it at least 1 % and at most 80 %"),
        ("sysctl:vm.dirty_bytes", "4096", "every writer waits for the disk; keep it at least 8388608 bytes"),
        ("sysctl:vm.swappiness", "200", "keep it at most 100"),
        ("sysctl:net.ipv4.tcp_rmem", "4096 8192 16384", "keep it at least 131072 bytes as its maximum"),
        ("sysctl:net.ipv4.tcp_sack", "0", "keep it at least 1"),
        ("mount:/home/rsize", "1024", "keep it at least 8192 bytes"),
    ],
)
def test_a_value_that_harms_any_node_is_out_of_bounds(setting: str, value: str, says: str) -> None:
    rule = rule_of(setting, "nfs4")
    assert rule is not None
    assert out_of_bounds(rule, setting, value).endswith(says)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("block:sda/nr_requests", "16"),
        ("block:sda/scheduler", "none"),
        ("sysctl:vm.dirty_bytes", "0"),
        ("sysctl:net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("mount:/home/noatime", "present"),
    ],
)
def test_other_values_are_within_bounds(setting: str, value: str) -> None:
    rule = rule_of(setting, "nfs4")
    assert rule is not None
    assert out_of_bounds(rule, setting, value) == ""

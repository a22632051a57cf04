from __future__ import annotations

import pytest

from ioassay.testing import tuned_systems
from ioassay.testing.rule_judgements import judged, only, settings_of
from ioassay.testing.snapshots import below
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable
from ioassay.tuning.rules.memory import (
    dirty_limit,
    min_free_kbytes,
    transparent_hugepage,
    vfs_cache_pressure,
    zone_reclaim_mode,
)

_NFS_SERVER = {"proc/net/rpc/nfsd": "rc 0 0 0\nth 64 0 0.000\n"}
_NFS_CLIENT = {"proc/self/mountinfo": "40 21 0:38 / /nfs rw - nfs4 server:/export rw,vers=4.2"}
_LUSTRE_SERVER = {"sys/fs/lustre/ost/OSS/ost_io/threads_max": "512"}


def huge(enabled: str, defrag: str = "always defer [madvise] never") -> dict[str, str]:
    """What the kernel says of huge pages."""
    return below("sys/kernel/mm/transparent_hugepage", {"enabled": enabled, "defrag": defrag})


@pytest.mark.parametrize(("value", "good"), [(100, False), (200, False), (0, False), (50, True), (1, True)])
@pytest.mark.parametrize("role", [_NFS_SERVER, _LUSTRE_SERVER, {}], ids=["NFS", "Lustre", "none"])
def test_vfs_cache_pressure(value: int, good: bool, role: dict[str, str]) -> None:
    judgements = judged(vfs_cache_pressure.RULE, {"proc/sys/vm/vfs_cache_pressure": str(value), **role})
    if value == 100 and not role:
        assert "serves no storage" in only(judgements, NotApplicable).why
        return
    only(judgements, Fine if good else Change)
    assert settings_of(judgements) == ([] if good else ["sysctl:vm.vfs_cache_pressure=50"])


def test_vfs_cache_pressure_that_cannot_be_read() -> None:
    path = "proc/sys/vm/vfs_cache_pressure"
    assert only(judged(vfs_cache_pressure.RULE, {path: "100"}, unreadable=path), NotReadable).what == f"/{path}"
    assert "lacks it" in only(judged(vfs_cache_pressure.RULE, {}), NotReadable).reason


def test_huge_pages_of_a_server_with_an_old_kernel() -> None:
    judgements = judged(transparent_hugepage.RULE, tuned_systems.md3460_oss())
    assert settings_of(judgements) == ["sys:kernel/mm/redhat_transparent_hugepage/enabled=never"]


def test_huge_pages_of_a_server_of_today() -> None:
    server = dict(_NFS_SERVER)
    only(judged(transparent_hugepage.RULE, server | huge("[always] madvise never")), Fine)
    stalls = judged(transparent_hugepage.RULE, server | huge("[always] madvise never", "[always] defer madvise never"))
    assert settings_of(stalls) == ["sys:kernel/mm/transparent_hugepage/enabled=madvise"]
    only(judged(transparent_hugepage.RULE, server | huge("always [madvise] never", "[always] never")), Fine)
    only(judged(transparent_hugepage.RULE, server | huge("always madvise [never]")), Fine)


def test_huge_pages_of_a_compute_node_stay() -> None:
    assert "serves no storage" in only(judged(transparent_hugepage.RULE, huge("always [never]")), NotApplicable).why
    assert "defrag at madvise" in only(judged(transparent_hugepage.RULE, huge("[always] never")), Fine).value
    only(judged(transparent_hugepage.RULE, _NFS_SERVER), NotApplicable)
    path = "sys/kernel/mm/transparent_hugepage/enabled"
    assert only(judged(transparent_hugepage.RULE, huge("[always]"), unreadable=path), NotReadable).what == f"/{path}"
    only(judged(transparent_hugepage.RULE, _NFS_SERVER | huge("[sometimes]")), NotReadable)


def test_on_any_node_no_page_fault_waits_for_compaction() -> None:
    assert settings_of(judged(transparent_hugepage.RULE, huge("[always] madvise never", "[always] madvise never"))) == [
        "sys:kernel/mm/transparent_hugepage/defrag=madvise"
    ]
    assert not settings_of(judged(transparent_hugepage.RULE, huge("[always] never", "[always] never")))
    without = {path: text for path, text in huge("[always] never").items() if not path.endswith("defrag")}
    assert "defrag" in only(judged(transparent_hugepage.RULE, without), NotReadable).what


def test_an_nfs_client_with_much_memory_starts_writing_early() -> None:
    ratio = below("proc/sys/vm", {"dirty_ratio": 20, "dirty_background_ratio": 10, "dirty_bytes": 0})
    assert settings_of(judged(dirty_limit.RULE, _NFS_CLIENT | ratio)) == [
        "sysctl:vm.dirty_background_bytes=314572800",
        "sysctl:vm.dirty_bytes=629145600",
    ]
    in_bytes = below("proc/sys/vm", {"dirty_ratio": 0, "dirty_bytes": 629145600, "dirty_background_bytes": 314572800})
    only(judged(dirty_limit.RULE, _NFS_CLIENT | in_bytes), Fine)


def test_an_nfs_server_writes_in_the_background_from_five_percent() -> None:
    server = dict(_NFS_SERVER)
    ten = server | below("proc/sys/vm", {"dirty_ratio": 20, "dirty_background_ratio": 10})
    assert settings_of(judged(dirty_limit.RULE, ten)) == ["sysctl:vm.dirty_background_ratio=5"]
    for background in ({"dirty_background_ratio": 5}, {"dirty_background_bytes": 1 << 30}):
        only(judged(dirty_limit.RULE, server | below("proc/sys/vm", {"dirty_ratio": 20, **background})), Fine)


def test_a_limit_that_the_snapshot_lacks_is_not_zero() -> None:
    for known, lacking in (
        ({}, "dirty_ratio"),
        ({"dirty_ratio": 20}, "dirty_background_ratio"),
        ({"dirty_ratio": 0, "dirty_background_ratio": 10}, "dirty_bytes"),
    ):
        judgement = only(judged(dirty_limit.RULE, _NFS_SERVER | below("proc/sys/vm", known)), NotReadable)
        assert judgement.what == f"/proc/sys/vm/{lacking}"
    old = below("proc/sys/vm", {"dirty_ratio": 40, "dirty_background_ratio": 10})  # before 2.6.29 there are no bytes
    assert "dirty_ratio 40" in only(judged(dirty_limit.RULE, _NFS_CLIENT | old), Change).value


def test_the_dirty_limit_of_other_nodes_stays() -> None:
    usual = below("proc/sys/vm", {"dirty_ratio": 20, "dirty_background_ratio": 10})
    assert "past the page cache" in only(judged(dirty_limit.RULE, _LUSTRE_SERVER | usual), NotApplicable).why
    assert "neither mounts nor exports" in only(judged(dirty_limit.RULE, usual), NotApplicable).why
    path = "proc/sys/vm/dirty_ratio"
    assert only(judged(dirty_limit.RULE, {}, unreadable=path), NotReadable).what == f"/{path}"


def test_min_free_kbytes_of_a_server() -> None:
    path = "proc/sys/vm/min_free_kbytes"
    assert settings_of(judged(min_free_kbytes.RULE, {**_NFS_SERVER, path: "67584"})) == [
        "sysctl:vm.min_free_kbytes=262144"
    ]
    only(judged(min_free_kbytes.RULE, {**_NFS_SERVER, path: "262144"}), Fine)
    threads = {"proc/fs/nfsd/threads": "64", path: "67584"}
    assert settings_of(judged(min_free_kbytes.RULE, threads)) == ["sysctl:vm.min_free_kbytes=262144"]
    only(judged(min_free_kbytes.RULE, {path: "67584"}), NotApplicable)
    only(judged(min_free_kbytes.RULE, _NFS_SERVER), NotReadable)
    assert only(judged(min_free_kbytes.RULE, _NFS_SERVER, unreadable=path), NotReadable).what == f"/{path}"


def test_zone_reclaim_mode_is_off() -> None:
    path = "proc/sys/vm/zone_reclaim_mode"
    assert settings_of(judged(zone_reclaim_mode.RULE, {path: "1"})) == ["sysctl:vm.zone_reclaim_mode=0"]
    only(judged(zone_reclaim_mode.RULE, {path: "0"}), Fine)
    only(judged(zone_reclaim_mode.RULE, {}), NotApplicable)
    assert only(judged(zone_reclaim_mode.RULE, {}, unreadable=path), NotReadable).what == f"/{path}"

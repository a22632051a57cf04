from __future__ import annotations

import pytest

from ioassay.testing import tuned_systems
from ioassay.testing.rule_judgements import judged, only, settings_of
from ioassay.testing.snapshots import below
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable
from ioassay.tuning.rules.memory import (
    DIRTY_LIMIT,
    MIN_FREE_KBYTES,
    TRANSPARENT_HUGEPAGE,
    VFS_CACHE_PRESSURE,
    ZONE_RECLAIM_MODE,
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
    judgements = judged(VFS_CACHE_PRESSURE, {"proc/sys/vm/vfs_cache_pressure": str(value), **role})
    if value == 100 and not role:
        assert "serves no storage" in only(judgements, NotApplicable).why
        return
    only(judgements, Fine if good else Change)
    assert settings_of(judgements) == ([] if good else ["sysctl:vm.vfs_cache_pressure=50"])


def test_vfs_cache_pressure_that_cannot_be_read() -> None:
    path = "proc/sys/vm/vfs_cache_pressure"
    assert only(judged(VFS_CACHE_PRESSURE, {path: "100"}, unreadable=path), NotReadable).what == f"/{path}"
    assert "lacks it" in only(judged(VFS_CACHE_PRESSURE, {}), NotReadable).reason


def test_huge_pages_of_a_server_with_an_old_kernel() -> None:
    judgements = judged(TRANSPARENT_HUGEPAGE, tuned_systems.md3460_oss())
    assert settings_of(judgements) == ["sys:kernel/mm/redhat_transparent_hugepage/enabled=never"]


def test_huge_pages_of_a_server_of_today() -> None:
    server = dict(_NFS_SERVER)
    only(judged(TRANSPARENT_HUGEPAGE, server | huge("[always] madvise never")), Fine)
    stalls = judged(TRANSPARENT_HUGEPAGE, server | huge("[always] madvise never", "[always] defer madvise never"))
    assert settings_of(stalls) == ["sys:kernel/mm/transparent_hugepage/enabled=madvise"]
    only(judged(TRANSPARENT_HUGEPAGE, server | huge("always [madvise] never", "[always] never")), Fine)
    only(judged(TRANSPARENT_HUGEPAGE, server | huge("always madvise [never]")), Fine)


def test_huge_pages_of_a_compute_node_stay() -> None:
    assert "serves no storage" in only(judged(TRANSPARENT_HUGEPAGE, huge("always [never]")), NotApplicable).why
    assert "defrag at madvise" in only(judged(TRANSPARENT_HUGEPAGE, huge("[always] never")), Fine).value
    only(judged(TRANSPARENT_HUGEPAGE, _NFS_SERVER), NotApplicable)
    path = "sys/kernel/mm/transparent_hugepage/enabled"
    assert only(judged(TRANSPARENT_HUGEPAGE, huge("[always]"), unreadable=path), NotReadable).what == f"/{path}"
    only(judged(TRANSPARENT_HUGEPAGE, _NFS_SERVER | huge("[sometimes]")), NotReadable)


def test_no_page_fault_waits_for_compaction_on_any_node() -> None:
    assert settings_of(judged(TRANSPARENT_HUGEPAGE, huge("[always] madvise never", "[always] madvise never"))) == [
        "sys:kernel/mm/transparent_hugepage/defrag=madvise"
    ]
    assert not settings_of(judged(TRANSPARENT_HUGEPAGE, huge("[always] never", "[always] never")))
    without = {path: text for path, text in huge("[always] never").items() if not path.endswith("defrag")}
    assert "defrag" in only(judged(TRANSPARENT_HUGEPAGE, without), NotReadable).what


def test_an_nfs_client_with_much_memory_starts_writing_early() -> None:
    ratio = below("proc/sys/vm", {"dirty_ratio": 20, "dirty_background_ratio": 10, "dirty_bytes": 0})
    assert settings_of(judged(DIRTY_LIMIT, _NFS_CLIENT | ratio)) == [
        "sysctl:vm.dirty_background_bytes=314572800",
        "sysctl:vm.dirty_bytes=629145600",
    ]
    in_bytes = below("proc/sys/vm", {"dirty_ratio": 0, "dirty_bytes": 629145600, "dirty_background_bytes": 314572800})
    only(judged(DIRTY_LIMIT, _NFS_CLIENT | in_bytes), Fine)


def test_an_nfs_server_writes_in_the_background_from_five_percent() -> None:
    server = dict(_NFS_SERVER)
    ten = server | below("proc/sys/vm", {"dirty_ratio": 20, "dirty_background_ratio": 10})
    assert settings_of(judged(DIRTY_LIMIT, ten)) == ["sysctl:vm.dirty_background_ratio=5"]
    for background in ({"dirty_background_ratio": 5}, {"dirty_background_bytes": 1 << 30}):
        only(judged(DIRTY_LIMIT, server | below("proc/sys/vm", {"dirty_ratio": 20, **background})), Fine)


def test_a_limit_that_the_snapshot_lacks_is_not_zero() -> None:
    for known, lacking in (
        ({}, "dirty_ratio"),
        ({"dirty_ratio": 20}, "dirty_background_ratio"),
        ({"dirty_ratio": 0, "dirty_background_ratio": 10}, "dirty_bytes"),
    ):
        judgement = only(judged(DIRTY_LIMIT, _NFS_SERVER | below("proc/sys/vm", known)), NotReadable)
        assert judgement.what == f"/proc/sys/vm/{lacking}"
    old = below("proc/sys/vm", {"dirty_ratio": 40, "dirty_background_ratio": 10})  # before 2.6.29 there are no bytes
    assert "dirty_ratio 40" in only(judged(DIRTY_LIMIT, _NFS_CLIENT | old), Change).value


def test_the_dirty_limit_of_other_nodes_stays() -> None:
    usual = below("proc/sys/vm", {"dirty_ratio": 20, "dirty_background_ratio": 10})
    assert "past the page cache" in only(judged(DIRTY_LIMIT, _LUSTRE_SERVER | usual), NotApplicable).why
    assert "neither mounts nor exports" in only(judged(DIRTY_LIMIT, usual), NotApplicable).why
    path = "proc/sys/vm/dirty_ratio"
    assert only(judged(DIRTY_LIMIT, {}, unreadable=path), NotReadable).what == f"/{path}"


def test_min_free_kbytes_of_a_server() -> None:
    path = "proc/sys/vm/min_free_kbytes"
    assert settings_of(judged(MIN_FREE_KBYTES, {**_NFS_SERVER, path: "67584"})) == ["sysctl:vm.min_free_kbytes=262144"]
    only(judged(MIN_FREE_KBYTES, {**_NFS_SERVER, path: "262144"}), Fine)
    threads = {"proc/fs/nfsd/threads": "64", path: "67584"}
    assert settings_of(judged(MIN_FREE_KBYTES, threads)) == ["sysctl:vm.min_free_kbytes=262144"]
    only(judged(MIN_FREE_KBYTES, {path: "67584"}), NotApplicable)
    only(judged(MIN_FREE_KBYTES, _NFS_SERVER), NotReadable)
    assert only(judged(MIN_FREE_KBYTES, _NFS_SERVER, unreadable=path), NotReadable).what == f"/{path}"


def test_zone_reclaim_mode_is_off() -> None:
    path = "proc/sys/vm/zone_reclaim_mode"
    assert settings_of(judged(ZONE_RECLAIM_MODE, {path: "1"})) == ["sysctl:vm.zone_reclaim_mode=0"]
    only(judged(ZONE_RECLAIM_MODE, {path: "0"}), Fine)
    only(judged(ZONE_RECLAIM_MODE, {}), NotApplicable)
    assert only(judged(ZONE_RECLAIM_MODE, {}, unreadable=path), NotReadable).what == f"/{path}"

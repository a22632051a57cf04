from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ioassay.testing import snapshots
from ioassay.testing.rule_judgements import judged, only, settings_of
from ioassay.testing.snapshots import below
from ioassay.testing.tuned_systems import MD3460, brw_stats, rpc_stats
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotJudged, NotReadable, Rule
from ioassay.tuning.rules import lustre
from ioassay.tuning.rules.lustre import (
    LUSTRE_BRW_SIZE,
    LUSTRE_CHECKSUMS,
    LUSTRE_DEFAULT_LAYOUT,
    LUSTRE_FRAGMENTED_BULK,
    LUSTRE_MAX_DIRTY_MB,
    LUSTRE_MAX_PAGES_PER_RPC,
    LUSTRE_MAX_READ_AHEAD,
    LUSTRE_MAX_RPCS_IN_FLIGHT,
    LUSTRE_OSS_THREADS,
    LUSTRE_READ_CACHE,
    LUSTRE_SMALL_RPCS,
    LUSTRE_STATAHEAD,
)
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array, System, Workload
from ioassay.tuning.system import lustre as parameters


def osc(target: int = 0, **values: object) -> dict[str, str]:
    """A client's parameters for an OST."""
    return below(f"sys/fs/lustre/osc/s-OST{target:04x}-osc-ffff8880aabbcc00", {"max_pages_per_rpc": 256, **values})


def llite(**values: object) -> dict[str, str]:
    """A client's parameters for a mount."""
    return below("sys/fs/lustre/llite/s-ffff8880aabbcc00", values)


def ost_io(**values: object) -> dict[str, str]:
    """A server's parameters of its I/O threads."""
    return below("sys/fs/lustre/ost/OSS/ost_io", values)


def target(**values: object) -> dict[str, str]:
    """A server's parameters of a target."""
    return below("sys/fs/lustre/obdfilter/s-OST0000", values)


def osd(**values: object) -> dict[str, str]:
    """A server's parameters of a target's storage."""
    return below("sys/fs/lustre/osd-ldiskfs/s-OST0000", values)


_Make = Callable[..., dict[str, str]]
# Rule, where its parameter is, bad and good values, what is then set.
_SIMPLE: list[tuple[Rule, _Make, Mapping[str, object], Mapping[str, object], list[str]]] = [
    (
        LUSTRE_OSS_THREADS,
        ost_io,
        {"threads_min": 3, "threads_max": 192},
        {"threads_min": 512, "threads_max": 512},
        ["lctl:ost.OSS.ost_io.threads_max=512", "lctl:ost.OSS.ost_io.threads_min=512"],
    ),
    (
        LUSTRE_MAX_RPCS_IN_FLIGHT,
        osc,
        {"max_rpcs_in_flight": 8},
        {"max_rpcs_in_flight": 256},
        ["lctl:osc.s-*.max_rpcs_in_flight=256"],
    ),
    (LUSTRE_MAX_DIRTY_MB, osc, {"max_dirty_mb": 32}, {"max_dirty_mb": 2000}, ["lctl:osc.s-*.max_dirty_mb=1024"]),
    (
        LUSTRE_MAX_PAGES_PER_RPC,
        osc,
        {"max_pages_per_rpc": 64},
        {"max_pages_per_rpc": 256},
        ["lctl:osc.s-*.max_pages_per_rpc=256"],
    ),
    (
        LUSTRE_CHECKSUMS,
        osc,
        {"checksums": 1, "checksum_type": "crc32 [adler] crc32c"},
        {"checksums": 1, "checksum_type": "crc32 adler [crc32c] t10ip512"},
        ["lctl:osc.s-*.checksum_type=crc32c"],
    ),
    (
        LUSTRE_MAX_READ_AHEAD,
        llite,
        {"max_read_ahead_mb": 64, "max_read_ahead_per_file_mb": 64},
        {"max_read_ahead_mb": 1024, "max_read_ahead_per_file_mb": 256},
        ["lctl:llite.s-*.max_read_ahead_mb=1024", "lctl:llite.s-*.max_read_ahead_per_file_mb=256"],
    ),
    (LUSTRE_STATAHEAD, llite, {"statahead_max": 0}, {"statahead_max": 128}, ["lctl:llite.s-*.statahead_max=32"]),
    (
        LUSTRE_READ_CACHE,
        osd,
        {"readcache_max_filesize": 2**64 - 1, "read_cache_enable": 1},
        {"readcache_max_filesize": 32 << 20, "read_cache_enable": 1},
        ["lctl:osd-ldiskfs.s-*.readcache_max_filesize=33554432"],
    ),
]
of_a_parameter = pytest.mark.parametrize(
    ("rule", "make", "bad", "good", "wanted"),
    [pytest.param(*parameters, id=parameters[0].name) for parameters in _SIMPLE],
)


@of_a_parameter
def test_a_bad_value_is_changed(
    rule: Rule, make: _Make, bad: Mapping[str, object], good: Mapping[str, object], wanted: list[str]
) -> None:
    judgements = judged(rule, make(**bad))
    only(judgements, Change)
    assert settings_of(judgements) == wanted


@of_a_parameter
def test_a_good_value_is_fine(
    rule: Rule, make: _Make, bad: Mapping[str, object], good: Mapping[str, object], wanted: list[str]
) -> None:
    only(judged(rule, make(**good)), Fine)


@of_a_parameter
def test_a_value_that_cannot_be_read_is_named(
    rule: Rule, make: _Make, bad: Mapping[str, object], good: Mapping[str, object], wanted: list[str]
) -> None:
    files = make(**bad)
    path = next(path for path in files if path.endswith(next(iter(bad))))
    assert only(judged(rule, files, unreadable=path), NotReadable).what == f"/{path}"


@pytest.mark.parametrize("rule", lustre.RULES, ids=lambda rule: rule.name)
def test_rules_of_lustre_do_not_apply_to_a_node_without_it(rule: Rule) -> None:
    assert "Lustre" in only(judged(rule, {}), NotApplicable).why


def test_threads_may_be_rounded_down_for_the_partitions_of_the_processors() -> None:
    only(judged(LUSTRE_OSS_THREADS, ost_io(threads_min=504, threads_max=504)), Fine)


def test_more_threads_than_wanted_are_kept() -> None:
    judgements = judged(LUSTRE_OSS_THREADS, ost_io(threads_min=64, threads_max=768))
    assert settings_of(judgements)[0] == "lctl:ost.OSS.ost_io.threads_max=768"


def test_large_rpcs_and_little_memory_allow_fewer_threads() -> None:
    # 64 GiB, of which an eighth: threads with buffers of 64 MiB.
    change = only(judged(LUSTRE_OSS_THREADS, ost_io(threads_min=3, threads_max=16) | target(brw_size=64)), Change)
    assert change.wanted == "127, all started at once"
    assert "an eighth of memory" in change.because


@pytest.mark.parametrize(("pages", "wanted"), [(256, 256), (1024, 64), (4096, 16), (16384, 0)])
def test_the_larger_the_rpc_the_fewer_are_needed(pages: int, wanted: int) -> None:
    judgements = judged(LUSTRE_MAX_RPCS_IN_FLIGHT, osc(max_rpcs_in_flight=8, max_pages_per_rpc=pages))
    assert settings_of(judgements) == ([f"lctl:osc.s-*.max_rpcs_in_flight={wanted}"] if wanted else [])


def test_larger_values_are_not_made_smaller() -> None:
    files = osc(0, max_dirty_mb=32) | osc(1, max_dirty_mb=2000)
    change = only(judged(LUSTRE_MAX_DIRTY_MB, files), Change)
    assert change.value == "32 to 2000 MiB"
    assert change.assignments[0].value == "2000"


@pytest.mark.parametrize(("rpcs", "pages", "wanted"), [(256, 256, "1024"), (128, 1024, "2047"), (8, 4096, "1024")])
def test_dirty_data_is_four_times_what_is_on_the_way(rpcs: int, pages: int, wanted: str) -> None:
    files = osc(max_dirty_mb=512, max_rpcs_in_flight=rpcs, max_pages_per_rpc=pages)
    assert only(judged(LUSTRE_MAX_DIRTY_MB, files), Change).assignments[0].value == wanted


def test_each_file_system_is_judged_for_itself() -> None:
    files = osc(max_rpcs_in_flight=8) | below(
        "sys/fs/lustre/osc/home-OST0000-osc-ffff8880aabbcc11", {"max_rpcs_in_flight": 256, "max_pages_per_rpc": 256}
    )
    fine, change = judged(LUSTRE_MAX_RPCS_IN_FLIGHT, files)
    assert isinstance(fine, Fine)
    assert fine.subject == "home"
    assert isinstance(change, Change)
    assert change.subject == "s"


def test_rpcs_are_as_large_as_the_servers_take() -> None:
    offer = "import:\n    connect_data:\n       flags: 0x80\n       max_brw_size: 4194304\n"
    files = osc() | {"sys/fs/lustre/osc/s-OST0000-osc-ffff8880aabbcc00/import": offer}
    change = only(judged(LUSTRE_MAX_PAGES_PER_RPC, files), Change)
    assert change.wanted == "1024 pages, 4 MiB"
    assert "servers take RPCs of 4 MiB" in change.because


@pytest.mark.parametrize(
    ("size", "array", "wanted"),
    [
        (1, MD3460, None),
        (4, MD3460, None),
        (1, Array(8, 512 << 10, 2), "lctl:obdfilter.s-*.brw_size=4"),
        (2, Array(16, 512 << 10, 2), "lctl:obdfilter.s-*.brw_size=8"),
    ],
)
def test_a_server_takes_rpcs_of_whole_stripes(size: int, array: Array, wanted: str | None) -> None:
    judgements = judged(LUSTRE_BRW_SIZE, target(brw_size=size), array)
    only(judgements, Change if wanted else Fine)
    assert settings_of(judgements) == ([wanted] if wanted else [])


def test_rpcs_and_stripes_that_cannot_be_compared() -> None:
    assert "give --raid" in only(judged(LUSTRE_BRW_SIZE, target(brw_size=4)), NotApplicable).why
    odd = only(judged(LUSTRE_BRW_SIZE, target(brw_size=4), Array(9, 64 << 10, 1)), NotApplicable)
    assert "raid-segment-size" in odd.why
    files = target(brw_size=4)
    assert only(judged(LUSTRE_BRW_SIZE, files, unreadable=next(iter(files))), NotReadable).reason == "Permission denied"


def test_checksums_that_are_off_are_no_all_clear() -> None:
    off = only(judged(LUSTRE_CHECKSUMS, osc(checksums=0, checksum_type="crc32 [adler]")), Change)
    assert "stored unnoticed" in off.because
    assert settings_of([off]) == ["lctl:osc.s-*.checksums=1"]
    # The slow one is kept where the faster one is not offered.
    only(judged(LUSTRE_CHECKSUMS, osc(checksums=1, checksum_type="[crc32] adler")), Fine)


def test_flash_targets_have_no_read_cache_to_limit() -> None:
    only(judged(LUSTRE_READ_CACHE, osd(readcache_max_filesize=2**64 - 1, read_cache_enable=0)), Fine)


def test_rpcs_that_reach_the_disks_in_pieces_are_measured() -> None:
    counted = brw_stats({1: (900, 100), 2: (100, 900)}, {"512K": (300, 1800), "1M": (850, 100)})
    change = only(judged(LUSTRE_FRAGMENTED_BULK, osd(brw_stats=counted)), Change)
    assert change.subject == "s-OST0000"
    assert change.value == "90 % of writes reach the disks in pieces, mostly in pieces of 512 KiB"
    assert "max-sgl-entries" in change.command
    assert not change.assignments


def test_whole_or_few_rpcs_are_no_finding() -> None:
    only(judged(LUSTRE_FRAGMENTED_BULK, osd(brw_stats=brw_stats({1: (1000, 950), 2: (0, 50)}, {}))), Fine)
    assert "too few" in only(judged(LUSTRE_FRAGMENTED_BULK, osd(brw_stats=brw_stats({}, {}))), NotApplicable).why
    files = osd(brw_stats="")
    assert only(judged(LUSTRE_FRAGMENTED_BULK, files, unreadable=next(iter(files))), NotReadable).what.endswith(
        "brw_stats"
    )


def test_rpcs_that_are_not_filled_are_measured() -> None:
    change = only(judged(LUSTRE_SMALL_RPCS, osc(rpc_stats=rpc_stats({1: (300, 300), 256: (100, 100)}))), Change)
    assert change.value.startswith("75 % of 800 RPCs are at most half of 1 MiB")
    only(judged(LUSTRE_SMALL_RPCS, osc(rpc_stats=rpc_stats({1: (1, 1), 256: (100, 100)}))), Fine)
    only(judged(LUSTRE_SMALL_RPCS, osc(rpc_stats=rpc_stats({}))), NotApplicable)
    files = osc(rpc_stats="")
    path = next(path for path in files if path.endswith("rpc_stats"))
    assert only(judged(LUSTRE_SMALL_RPCS, files, unreadable=path), NotReadable).what == f"/{path}"


def client(layout: str | None) -> Snapshot:
    """A mount with what `lfs getstripe -d` printed."""
    files = {"proc/self/mountinfo": "40 21 0:38 / /s rw - lustre 10.0.0.1@o2ib:/s rw,flock"}
    return snapshots.snapshot(files, printed={"lfs getstripe -d /s": layout} if layout is not None else None)


@pytest.mark.parametrize(
    ("layout", "command"),
    [
        ("stripe_count:  4 stripe_size:   1048576 pattern: raid0 stripe_offset: -1", None),
        ("  lcm_layout_gen: 0\n  lcm_mirror_count: 1\n  lcme_extent.e_end: 4294967296", None),
        ("stripe_count:  4 stripe_size:   65536 stripe_offset: -1", "lfs setstripe -S 1M -c 4 /s"),
        ("stripe_count:  1 stripe_size:   1638400 stripe_offset: -1", "lfs setstripe -S 1M -c 1 /s"),
        (
            "stripe_count:  -1 stripe_size:   1048576 stripe_offset: -1",
            "lfs setstripe -E 256M -c 1 -E 4G -c 4 -E -1 -c -1 /s",
        ),
    ],
)
def test_the_default_layout(layout: str, command: str | None) -> None:
    judgement = only(judged(LUSTRE_DEFAULT_LAYOUT, client(layout)), Change if command else Fine)
    if isinstance(judgement, Change):
        assert judgement.command == command


_ONE = "stripe_count:  1 stripe_size:   1048576 pattern: raid0 stripe_offset: -1"
_ALL = "stripe_count:  -1 stripe_size:   1048576 stripe_offset: -1"
_ENDS_ON_ONE = (
    "  lcm_entry_count:   2\n      stripe_count:  4       stripe_size:   1048576\n"
    "      stripe_count:  1       stripe_size:   1048576"
)


@pytest.mark.parametrize("layout", [_ONE, _ENDS_ON_ONE, _ONE.replace("1 stripe_size", "0 stripe_size")])
def test_one_stripe_is_judged_by_how_files_are_used(layout: str) -> None:
    def judgement(workload: Workload | None) -> Judgement:
        (judgement,) = LUSTRE_DEFAULT_LAYOUT.judgements(System(client(layout), workload=workload))
        return judgement

    unknown = judgement(None)
    assert isinstance(unknown, NotJudged)
    assert "say --workload shared-file, file-per-process or small-files" in unknown.why
    assert isinstance(judgement("file-per-process"), Fine)
    assert isinstance(judgement("small-files"), Fine)
    shared = judgement("shared-file")
    assert isinstance(shared, Change)
    assert "one OST" in shared.because or "1 OST" in shared.because


def test_a_file_that_many_nodes_share_may_lie_on_all_osts() -> None:
    (judgement,) = LUSTRE_DEFAULT_LAYOUT.judgements(System(client(_ALL), workload="shared-file"))
    assert isinstance(judgement, Fine)


def test_the_layout_of_a_target_is_that_of_the_directory_itself() -> None:
    node = snapshots.snapshot(
        {"proc/self/mountinfo": "40 21 0:38 / /s rw - lustre 10.0.0.1@o2ib:/s rw,flock"},
        printed={"lfs getstripe -d /s/wide": "stripe_count:  -1 stripe_size:   1048576 stripe_offset: -1"},
        target="/s/wide",
    )
    judgement = only(judged(LUSTRE_DEFAULT_LAYOUT, node), Change)
    assert judgement.subject == "/s/wide"
    assert judgement.command == "lfs setstripe -E 256M -c 1 -E 4G -c 4 -E -1 -c -1 /s/wide"


def test_a_layout_that_is_not_known() -> None:
    assert "lfs getstripe" in only(judged(LUSTRE_DEFAULT_LAYOUT, client(None)), NotReadable).reason
    assert "no default layout" in only(judged(LUSTRE_DEFAULT_LAYOUT, client("")), NotApplicable).why
    path = "proc/self/mountinfo"
    assert only(judged(LUSTRE_DEFAULT_LAYOUT, {}, unreadable=path), NotReadable).what == f"/{path}"


def test_histograms_as_versions_of_lustre_print_them() -> None:
    # Lustre 2.12: a blank line ends a section, sizes have letters.
    text = (
        "snapshot_time:         1578496432.123456789 (secs.nsecs)\n\n"
        "                           read      |     write\n"
        "disk I/O size          ios   % cum % |  ios         % cum %\n"
        "4K:\t\t         1   0   0   |    3   0   0\n"
        "512K:\t\t         0   0   0   |  400  49  50\n"
        "1M:\t\t       512  99 100   |  400  49 100\n\n"
        "                           read      |     write\n"
        "block maps msec        maps  % cum % |  maps        % cum %\n"
        "1:\t\t       513 100 100   |  803 100 100\n"
    )
    assert [(row.value, row.reads, row.writes) for row in parameters.histogram(text, "disk I/O size")] == [
        (4096, 1, 3),
        (512 << 10, 0, 400),
        (1 << 20, 512, 400),
    ]
    assert parameters.histogram(text, "pages per bulk") == []


@pytest.mark.parametrize(
    ("name", "file_system"),
    [
        ("osc.scratch-OST0000-osc-ffff8880aabbcc00.max_dirty_mb", "scratch"),
        ("obdfilter.my-fs-OST00ff.brw_size", "my-fs"),
        ("llite.scratch-ffff8880aabbcc00.statahead_max", "scratch"),
        ("osc.scratch-OST0000-osc-MDT0000.active", "scratch"),
    ],
)
def test_the_file_system_of_a_parameter(name: str, file_system: str) -> None:
    assert parameters.file_system(name) == file_system

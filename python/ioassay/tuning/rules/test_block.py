from __future__ import annotations

import pytest

from ioassay.testing import snapshots, tuned_systems
from ioassay.testing.rule_judgements import judged, only, settings_of
from ioassay.testing.snapshots import below, disk
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable, Rule
from ioassay.tuning.rules.block import (
    ASYNC_DEPTH,
    MAX_SECTORS_KB,
    NOMERGES,
    NR_REQUESTS,
    READ_AHEAD_KB,
    RQ_AFFINITY,
    SCHEDULER,
    WBT_LAT_USEC,
    WRITE_CACHE_FLUSHES,
)
from ioassay.tuning.system import Array

_MD34XX = {"vendor": "DELL", "model": "MD34xx"}
_STRIPE_1M = Array(8, 128 << 10, 2)

# Rule, attribute, a bad value, a good one, what is then set: of a LUN of an array.
_LUN = [
    (
        SCHEDULER,
        "scheduler",
        "[bfq] mq-deadline none",
        "bfq [mq-deadline] none",
        "block:sda/scheduler=mq-deadline",
    ),
    (SCHEDULER, "scheduler", "noop deadline [cfq]", "noop [deadline] cfq", "block:sda/scheduler=deadline"),
    (SCHEDULER, "scheduler", "[none] mq-deadline", "none [mq-deadline]", "block:sda/scheduler=mq-deadline"),
    (SCHEDULER, "scheduler", "[kyber] none", "[mq-deadline] none", "block:sda/scheduler=mq-deadline"),
    (NR_REQUESTS, "nr_requests", "64", "1024", "block:sda/nr_requests=1024"),
    (MAX_SECTORS_KB, "max_sectors_kb", "512", "1024", "block:sda/max_sectors_kb=1024"),
    (READ_AHEAD_KB, "read_ahead_kb", "128", "4096", "block:sda/read_ahead_kb=8192"),
    (RQ_AFFINITY, "rq_affinity", "1", "2", "block:sda/rq_affinity=2"),
    (NOMERGES, "nomerges", "2", "0", "block:sda/nomerges=0"),
    (WBT_LAT_USEC, "wbt_lat_usec", "75000", "0", "block:sda/wbt_lat_usec=0"),
]
of_a_lun = pytest.mark.parametrize(("rule", "attribute", "bad", "good", "setting"), _LUN)


def lun(**queue: object) -> dict[str, str]:
    """A LUN of an MD3460 that hangs on nothing."""
    return disk("sda", queue=queue, **_MD34XX)


@of_a_lun
def test_a_bad_value_of_a_lun_is_changed(rule: Rule, attribute: str, bad: str, good: str, setting: str) -> None:
    judgements = judged(rule, lun(**{attribute: bad}))
    only(judgements, Change)
    assert settings_of(judgements) == [setting]


@of_a_lun
def test_a_good_value_of_a_lun_is_fine(rule: Rule, attribute: str, bad: str, good: str, setting: str) -> None:
    only(judged(rule, lun(**{attribute: good})), Fine)


@of_a_lun
def test_a_value_that_cannot_be_read_is_named(rule: Rule, attribute: str, bad: str, good: str, setting: str) -> None:
    path = f"sys/block/sda/queue/{attribute}"
    judgement = only(judged(rule, lun(), unreadable=path), NotReadable)
    assert judgement.what == f"/{path}"
    assert judgement.reason == "Permission denied"


@pytest.mark.parametrize("rule", [rule for rule, *_ in _LUN])
@pytest.mark.parametrize("name", ["loop0", "zram0"])
def test_files_and_memory_have_no_queue_to_tune(rule: Rule, name: str) -> None:
    why = only(judged(rule, disk(name)), NotApplicable).why
    assert name in why


@pytest.mark.parametrize("rule", [rule for rule, *_ in _LUN])
def test_a_target_on_a_server_has_no_queue_here(rule: Rule) -> None:
    files = {**lun(), "proc/self/mountinfo": "21 1 0:40 / /nfs rw - nfs4 server:/export rw"}
    why = only(judged(rule, snapshots.snapshot(files, target="/nfs")), NotApplicable).why
    assert "below the target" in why


def test_nvme_goes_without_a_scheduler() -> None:
    queue = {"scheduler": "none [mq-deadline] kyber", "rotational": 0}
    assert settings_of(judged(SCHEDULER, disk("nvme0n1", queue=queue))) == ["block:nvme0n1/scheduler=none"]


@pytest.mark.parametrize("chosen", ["[none] mq-deadline", "none [mq-deadline]"])
def test_a_sas_ssd_may_have_either_scheduler(chosen: str) -> None:
    only(judged(SCHEDULER, disk("sda", queue={"scheduler": chosen, "rotational": 0})), Fine)


def test_a_virtual_disk_may_have_either_scheduler_but_no_fair_queueing() -> None:
    only(judged(SCHEDULER, disk("vda", queue={"scheduler": "none [mq-deadline] bfq"})), Fine)
    bfq = disk("vda", queue={"scheduler": "none mq-deadline [bfq]"})
    assert settings_of(judged(SCHEDULER, bfq)) == ["block:vda/scheduler=none"]


def test_a_long_queue_is_restored_after_the_scheduler_has_reset_it() -> None:
    assert settings_of(judged(SCHEDULER, lun(scheduler="[bfq] mq-deadline", nr_requests=2048))) == [
        "block:sda/scheduler=mq-deadline",
        "block:sda/nr_requests=2048",
    ]


def test_a_path_is_scheduled_by_its_multipath_device() -> None:
    judgements = judged(SCHEDULER, tuned_systems.md3460_oss())
    assert [judgement.subject for judgement in judgements if isinstance(judgement, Change)] == [
        f"dm-{index}" for index in range(6)
    ]
    paths = [judgement.why for judgement in judgements if isinstance(judgement, NotApplicable)]
    assert len(paths) == 12
    assert all("bypass the path's scheduler" in why for why in paths)


def test_a_stacked_device_without_a_queue_is_left_alone() -> None:
    files = disk("md0", queue={"scheduler": "none"})
    assert "passes requests on" in only(judged(SCHEDULER, files), NotApplicable).why
    assert "passes requests on" in only(judged(NR_REQUESTS, files), NotApplicable).why


def test_nvme_says_why_its_queue_is_long_enough() -> None:
    why = only(judged(NR_REQUESTS, disk("nvme0n1", queue={"rotational": 0, "nr_requests": 1023})), NotApplicable).why
    assert "1023 commands per queue" in why


def test_the_adapter_limits_requests_without_a_scheduler() -> None:
    real = "devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda"
    files = {path.replace("sys/block/sda", f"sys/{real}"): text for path, text in lun(scheduler="[none]").items()}
    files |= below("sys/class/scsi_host/host0", {"proc_name": "mpt3sas", "sg_tablesize": 128, "can_queue": 500})
    captured = snapshots.snapshot(files, links={"sys/block/sda": f"../{real}"})
    change = only(judged(NR_REQUESTS, captured), Change)
    assert change.wanted == "500"
    assert "host0 limits it to 500" in change.because


def test_requests_are_split_where_the_stripe_ends() -> None:
    # Linux's default of 1280 KiB is larger than the stripe, and shifts every second request against it.
    change = only(judged(MAX_SECTORS_KB, lun(max_sectors_kb=1280), _STRIPE_1M), Change)
    assert change.wanted == "1024 KiB"
    wide = Array(16, 256 << 10, 2)
    assert settings_of(judged(MAX_SECTORS_KB, lun(max_sectors_kb=1280), wide)) == ["block:sda/max_sectors_kb=4096"]


def test_a_stripe_that_the_array_reports_counts_too() -> None:
    assert settings_of(judged(MAX_SECTORS_KB, lun(max_sectors_kb=1280, optimal_io_size=2 << 20))) == [
        "block:sda/max_sectors_kb=2048"
    ]


def test_a_larger_limit_is_fine_without_parity() -> None:
    only(judged(MAX_SECTORS_KB, disk("sda", queue={"max_sectors_kb": 1280}), _STRIPE_1M), Fine)


def test_the_largest_rpc_of_the_server_is_not_to_be_split() -> None:
    files = {**lun(max_sectors_kb=1024), "sys/fs/lustre/obdfilter/s-OST0000/brw_size": "4"}
    assert only(judged(MAX_SECTORS_KB, files), Change).wanted == "4096 KiB"


def test_the_limit_of_the_adapter_is_all_that_can_be_had() -> None:
    fine = only(judged(MAX_SECTORS_KB, lun(max_sectors_kb=256, max_hw_sectors_kb=256)), Fine)
    assert fine.value == "256 KiB, the adapter's limit"
    change = only(judged(MAX_SECTORS_KB, lun(max_sectors_kb=128, max_hw_sectors_kb=256)), Change)
    assert change.because == "its adapter or controller takes no more than 256 KiB"


def test_too_few_segments_are_named() -> None:
    change = only(judged(MAX_SECTORS_KB, lun(max_sectors_kb=512, max_segments=128)), Change)
    assert "128 segments hold only 512 KiB" in change.because
    assert "256 are needed" in change.because


def test_paths_below_multipath_are_not_changed_live() -> None:
    judgements = judged(MAX_SECTORS_KB, tuned_systems.md3460_oss(), _STRIPE_1M)
    changes = [judgement for judgement in judgements if isinstance(judgement, Change)]
    assert len(changes) == len(judgements) == 6
    assert not settings_of(judgements)
    assert 'vendor "DELL" product "MD34xx" max_sectors_kb 1024' in changes[0].command
    assert "multipath -f ost0" in changes[0].command


def test_paths_that_differ_from_their_multipath_device_are_named() -> None:
    tuned = tuned_systems.md3460_oss_tuned()
    path = tuned.resolve("sys/block/sdb/queue/max_sectors_kb")
    differing = snapshots.snapshot(
        {**{name: text.decode() for name, text in tuned.files.items()}, path: "512"}, links=tuned.links
    )
    change = next(judgement for judgement in judged(MAX_SECTORS_KB, differing) if isinstance(judgement, Change))
    assert change.subject == "dm-0"
    assert change.value == "512 KiB and 1024 KiB"
    assert change.because.startswith("sdb below it differ")


def test_a_path_alone_keeps_to_its_multipath_device() -> None:
    tuned = tuned_systems.md3460_oss()
    files = {path: text.decode() for path, text in tuned.files.items()}
    alone = snapshots.snapshot(files, links=tuned.links, target="/dev/sdb")
    assert "must keep to the same limit" in only(judged(MAX_SECTORS_KB, alone), NotApplicable).why


def test_read_ahead_is_that_of_the_upper_device() -> None:
    judgements = judged(READ_AHEAD_KB, tuned_systems.md3460_oss())
    assert settings_of(judgements) == [f"block:dm-{index}/read_ahead_kb=8192" for index in range(6)]
    assert sum("part of dm-" in judgement.why for judgement in judgements if isinstance(judgement, NotApplicable)) == 12


@pytest.mark.parametrize("rule", [READ_AHEAD_KB, NOMERGES, RQ_AFFINITY, WBT_LAT_USEC])
def test_rules_for_disks_say_why_not_for_nvme(rule: Rule) -> None:
    queue = {"rotational": 0, "scheduler": "[none] mq-deadline", "nomerges": 2}
    assert "nvme0n1" in only(judged(rule, disk("nvme0n1", queue=queue)), NotApplicable).why


def test_throttling_that_is_not_registered_does_not_apply() -> None:
    files = {path: text for path, text in lun().items() if not path.endswith("wbt_lat_usec")}
    refused = snapshots.snapshot(
        files, unreadable={"sys/block/sda/queue/wbt_lat_usec": "Invalid argument (os error 22)"}
    )
    assert "no writeback throttling" in only(judged(WBT_LAT_USEC, refused), NotApplicable).why
    assert "no writeback throttling" in only(judged(WBT_LAT_USEC, files), NotApplicable).why


def test_an_array_that_asks_for_flushes_is_asked_about_its_battery() -> None:
    change = only(judged(WRITE_CACHE_FLUSHES, lun(write_cache="write back")), Change)
    assert not change.assignments
    assert "Do not write to queue/write_cache" in change.command
    only(judged(WRITE_CACHE_FLUSHES, lun(write_cache="write through")), Fine)
    only(judged(WRITE_CACHE_FLUSHES, disk("sda", queue={"write_cache": "write back"})), Fine)
    assert only(judged(WRITE_CACHE_FLUSHES, lun(), unreadable="sys/block/sda/queue/write_cache"), NotReadable)
    old = {path: text for path, text in lun().items() if not path.endswith("write_cache")}
    assert "does not say" in only(judged(WRITE_CACHE_FLUSHES, old), NotApplicable).why


class TestAsyncDepth:
    @pytest.mark.parametrize(
        ("scheduler_now", "depth", "wanted"),
        [("[mq-deadline] none", 64, "256"), ("[kyber] none", 64, "192"), ("[bfq] none", 191, "192")],
    )
    def test_less_than_the_scheduler_sets_by_itself(self, scheduler_now: str, depth: int, wanted: str) -> None:
        queue = {"scheduler": scheduler_now, "nr_requests": 256, "async_depth": depth}
        judgements = judged(ASYNC_DEPTH, lun(**queue))
        assert settings_of(judgements) == [f"block:sda/async_depth={wanted}"]

    @pytest.mark.parametrize(("scheduler_now", "depth"), [("[mq-deadline] none", 256), ("[kyber] none", 192)])
    def test_a_depth_that_the_scheduler_sets_by_itself_is_fine(self, scheduler_now: str, depth: int) -> None:
        queue = {"scheduler": scheduler_now, "nr_requests": 256, "async_depth": depth}
        only(judged(ASYNC_DEPTH, lun(**queue)), Fine)

    def test_without_a_scheduler_and_on_older_kernels(self) -> None:
        bare = lun(scheduler="[none] mq-deadline", nr_requests=256, async_depth=256)
        assert "always nr_requests" in only(judged(ASYNC_DEPTH, bare), NotApplicable).why
        assert "6.18" in only(judged(ASYNC_DEPTH, lun()), NotApplicable).why

    def test_one_that_cannot_be_read(self) -> None:
        path = "sys/block/sda/queue/async_depth"
        assert only(judged(ASYNC_DEPTH, lun(async_depth=1), unreadable=path), NotReadable).what == f"/{path}"

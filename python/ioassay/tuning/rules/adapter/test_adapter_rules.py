from __future__ import annotations

from collections.abc import Mapping

import pytest

from ioassay.testing import snapshots, tuned_systems
from ioassay.testing.rule_judgements import judged, only, settings_of
from ioassay.testing.snapshots import below, disk
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotReadable, Rule
from ioassay.tuning.rules.adapter import max_queue_depth, max_sgl_entries, multipath_paths, path_selector, queue_depth
from ioassay.tuning.snapshot import Snapshot

_REAL = "devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda"


def behind(driver: str, unreadable: str = "", option: int = -1, host: Mapping[str, object] | None = None) -> Snapshot:
    """A disk on an adapter of this driver."""
    files = {path.replace("sys/block/sda", f"sys/{_REAL}"): text for path, text in disk("sda").items()}
    files |= below(
        "sys/class/scsi_host/host0", {"proc_name": driver, "sg_tablesize": 128, "can_queue": 500, **(host or {})}
    )
    files |= below(f"sys/module/{driver}/parameters", {"max_queue_depth": option, "max_sgl_entries": -1})
    denied = {unreadable: "Permission denied"} if unreadable else None
    files = {path: text for path, text in files.items() if path != unreadable}
    return snapshots.snapshot(files, links={"sys/block/sda": f"../{_REAL}"}, unreadable=denied)


@pytest.mark.parametrize(
    ("rule", "attribute", "good", "setting"),
    [
        (max_sgl_entries.RULE, "sg_tablesize", 256, "module:mpt3sas/max_sgl_entries=256"),
        (max_queue_depth.RULE, "can_queue", 597, "module:mpt3sas/max_queue_depth=600"),
    ],
)
def test_a_limit_of_a_sas_adapter(rule: Rule, attribute: str, good: int, setting: str) -> None:
    judgements = judged(rule, behind("mpt3sas"))
    assert settings_of(judgements) == [setting]
    assert "/etc/modprobe.d/" in only(judgements, Change).command
    only(judged(rule, behind("mpt3sas", host={attribute: good})), Fine)
    path = f"sys/class/scsi_host/host0/{attribute}"
    assert only(judged(rule, behind("mpt3sas", path)), NotReadable).what == f"/{path}"
    assert "megaraid_sas" in only(judged(rule, behind("megaraid_sas")), NotApplicable).why
    assert "no disk hangs" in only(judged(rule, disk("nvme0n1")), NotApplicable).why


def test_the_old_driver_needs_its_module_rebuilt() -> None:
    change = only(judged(max_sgl_entries.RULE, behind("mpt2sas")), Change)
    assert change.assignments[0].name == "module:mpt2sas/max_sgl_entries"
    assert "rebuild the module" in change.because


def test_pages_of_64_kib_need_fewer_segments() -> None:
    made = behind("mpt3sas", host={"sg_tablesize": 16})
    files = {path: text.decode() for path, text in made.files.items()}
    files["sys/kernel/mm/transparent_hugepage/hpage_pmd_size"] = str(512 << 20)
    only(judged(max_sgl_entries.RULE, snapshots.snapshot(files, links=made.links)), Fine)


def test_a_deep_adapter_is_not_made_shallower() -> None:
    # The option is an upper limit: adapters of 12 Gbit/s take thousands without it.
    only(judged(max_queue_depth.RULE, behind("mpt3sas", host={"can_queue": 9680})), Fine)


def test_an_option_that_limits_the_adapter_is_named() -> None:
    change = only(judged(max_queue_depth.RULE, behind("mpt3sas", option=256, host={"can_queue": 253})), Change)
    assert change.because == "the option max_queue_depth=256 limits it"


def test_firmware_may_take_less_than_asked_for() -> None:
    fine = only(judged(max_queue_depth.RULE, behind("mpt3sas", option=600, host={"can_queue": 400})), Fine)
    assert "firmware" in fine.value


def test_command_queueing_is_switched_on() -> None:
    assert settings_of(judged(queue_depth.RULE, disk("sda", queue_depth=1))) == ["block:sda/device/queue_depth=32"]
    only(judged(queue_depth.RULE, disk("sda", queue_depth=254)), Fine)
    path = "sys/block/sda/device/queue_depth"
    assert only(judged(queue_depth.RULE, disk("sda", queue_depth=1), unreadable=path), NotReadable).what == f"/{path}"
    only(judged(queue_depth.RULE, disk("nvme0n1")), NotApplicable)


def test_all_paths_of_a_lun_get_the_deepest_queue() -> None:
    made = tuned_systems.md3460_oss()
    files = {path: text.decode() for path, text in made.files.items()}
    files[made.resolve("sys/block/sdb/device/queue_depth")] = "64"
    judgements = judged(queue_depth.RULE, snapshots.snapshot(files, links=made.links))
    assert settings_of(judgements) == ["block:sdb/device/queue_depth=254"]


def multipath(table: str | None, failed: Mapping[str, str] | None = None) -> Snapshot:
    """The study's server with what `dmsetup table` printed, or how that failed."""
    made = tuned_systems.md3460_oss()
    files = {path: text.decode() for path, text in made.files.items() if "block/dm-" not in path or "dm-0" in path}
    printed = {"dmsetup table": table} if table else None
    return snapshots.snapshot(files, links=made.links, printed=printed, failed=failed)


def test_paths_are_chosen_by_load() -> None:
    line = "ost0: 0 7814037168 multipath 1 queue_if_no_path 0 1 1 {} 0 2 1 8:16 1 8:112 1\n"
    change = only(judged(path_selector.RULE, multipath(line.format("round-robin"))), Change)
    assert change.wanted == "service-time"
    assert "multipath.conf" in change.command
    assert only(judged(path_selector.RULE, multipath(line.format("service-time"))), Fine).value == "service-time"
    only(judged(path_selector.RULE, multipath(line.format("of-a-vendor"))), NotReadable)
    assert "dmsetup" in only(judged(path_selector.RULE, multipath(None)), NotReadable).reason
    failed = multipath(None, {"dmsetup table": "need to be root"})
    assert only(judged(path_selector.RULE, failed), NotReadable).reason == "exit status 1: need to be root"
    only(judged(path_selector.RULE, disk("sda")), NotApplicable)


_PATHS = """\
mpatha (3600a098000b1c2d30000025a5f7e1c2d) dm-2 DELL,MD34xx
size=100G features='3 queue_if_no_path pg_init_retries 50' hwhandler='1 rdac' wp=rw
|-+- policy='service-time 0' prio=14 status=active
| `- 1:0:0:1 sdb 8:16 active ready running
`-+- policy='service-time 0' prio=9 status=enabled
  `- 2:0:0:1 sdc 8:32 active ghost running
3600a098000b1c2d30000025b5f7e1c2d dm-3 DELL,MD34xx
size=100G features='0' hwhandler='0' wp=rw
`-+- policy='service-time 0' prio=0 status=enabled
  `- 1:0:0:2 sdd 8:48 failed faulty offline
"""
"""In the form of multipath-tools 0.9."""


def _with_multipath(printed: str | None) -> Snapshot:
    files = below("sys/block/dm-2", {"size": 1 << 31, "dev": "253:2", "dm/uuid": "mpath-36", "dm/name": "mpatha"})
    return snapshots.snapshot(files, printed={"multipath -ll": printed} if printed is not None else {})


def test_all_paths_are_up() -> None:
    assert only(judged(multipath_paths.RULE, _with_multipath(_PATHS)), Fine).value == "2 paths up"


@pytest.mark.parametrize("states", ["failed faulty running", "active ready offline", "failed undef unknown"])
def test_a_path_is_down(states: str) -> None:
    found = only(judged(multipath_paths.RULE, _with_multipath(_PATHS.replace("active ready running", states))), Change)
    assert (found.value, found.wanted) == (f"sdb: {states}", "2 paths up")


def test_paths_that_are_not_known() -> None:
    only(judged(multipath_paths.RULE, _with_multipath(None)), NotReadable)
    only(judged(multipath_paths.RULE, _with_multipath(_PATHS.replace("dm-2", "dm-9"))), NotReadable)
    assert "no multipath" in only(judged(multipath_paths.RULE, disk("sda")), NotApplicable).why

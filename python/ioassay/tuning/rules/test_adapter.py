from __future__ import annotations

from collections.abc import Mapping

import pytest

from ioassay.testing import snapshots, tuned_systems
from ioassay.testing.rule_judgements import (
    assignments,
    change_of,
    changes_of,
    fine,
    judged,
    not_applicable,
    not_readable,
    only,
    settings_of,
)
from ioassay.testing.snapshots import below, disk
from ioassay.testing.storage_nodes import Node, ext4_host, network_client
from ioassay.tuning.rule import Change, Fine, NotApplicable, NotJudged, NotReadable, Rule
from ioassay.tuning.rules.adapter import (
    MAX_QUEUE_DEPTH,
    MAX_SGL_ENTRIES,
    MULTIPATH_PATH_SELECTOR,
    MULTIPATH_PATHS,
    NVME_CONNECTION_STATE,
    NVME_PATH_POLICY,
    NVME_QUEUE_COUNT,
    NVME_QUEUE_SIZE,
    QUEUE_DEPTH,
    RULES,
)
from ioassay.tuning.snapshot import Snapshot

NVME_RULES = [rule for rule in RULES if rule.area == "NVMe over fabrics"]
_NVME_CONTROLLER = "sys/devices/virtual/nvme-fabrics/ctl/nvme0"
_NVME_POLICY = "sys/class/nvme-subsystem/nvme-subsys0/iopolicy"


def _nvme_with(**attributes: object) -> Node:
    return network_client().with_files({f"{_NVME_CONTROLLER}/{name}": value for name, value in attributes.items()})


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
        (MAX_SGL_ENTRIES, "sg_tablesize", 256, "module:mpt3sas/max_sgl_entries=256"),
        (MAX_QUEUE_DEPTH, "can_queue", 597, "module:mpt3sas/max_queue_depth=600"),
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
    change = only(judged(MAX_SGL_ENTRIES, behind("mpt2sas")), Change)
    assert change.assignments[0].name == "module:mpt2sas/max_sgl_entries"
    assert "rebuild the module" in change.because


def test_pages_of_64_kib_need_fewer_segments() -> None:
    node = behind("mpt3sas", host={"sg_tablesize": 16})
    files = {path: text.decode() for path, text in node.files.items()}
    files["sys/kernel/mm/transparent_hugepage/hpage_pmd_size"] = str(512 << 20)
    only(judged(MAX_SGL_ENTRIES, snapshots.snapshot(files, links=node.links)), Fine)


def test_a_deep_adapter_is_not_made_shallower() -> None:
    # The option is an upper limit: adapters of 12 Gbit/s take thousands without it.
    only(judged(MAX_QUEUE_DEPTH, behind("mpt3sas", host={"can_queue": 9680})), Fine)


def test_an_option_that_limits_the_adapter_is_named() -> None:
    change = only(judged(MAX_QUEUE_DEPTH, behind("mpt3sas", option=256, host={"can_queue": 253})), Change)
    assert change.because == "the option max_queue_depth=256 limits it"


def test_firmware_may_take_less_than_asked_for() -> None:
    fine = only(judged(MAX_QUEUE_DEPTH, behind("mpt3sas", option=600, host={"can_queue": 400})), Fine)
    assert "firmware" in fine.value


def test_command_queueing_is_switched_on() -> None:
    assert settings_of(judged(QUEUE_DEPTH, disk("sda", queue_depth=1))) == ["block:sda/device/queue_depth=32"]
    only(judged(QUEUE_DEPTH, disk("sda", queue_depth=254)), Fine)
    path = "sys/block/sda/device/queue_depth"
    assert only(judged(QUEUE_DEPTH, disk("sda", queue_depth=1), unreadable=path), NotReadable).what == f"/{path}"
    only(judged(QUEUE_DEPTH, disk("nvme0n1")), NotApplicable)


def test_all_paths_of_a_lun_get_the_deepest_queue() -> None:
    captured = tuned_systems.md3460_oss()
    files = {path: text.decode() for path, text in captured.files.items()}
    files[captured.resolve("sys/block/sdb/device/queue_depth")] = "64"
    judgements = judged(QUEUE_DEPTH, snapshots.snapshot(files, links=captured.links))
    assert settings_of(judgements) == ["block:sdb/device/queue_depth=254"]


def multipath(table: str | None, failed: Mapping[str, str] | None = None) -> Snapshot:
    """The study's server with what `dmsetup table` printed, or how that failed."""
    captured = tuned_systems.md3460_oss()
    files = {path: text.decode() for path, text in captured.files.items() if "block/dm-" not in path or "dm-0" in path}
    printed = {"dmsetup table": table} if table else None
    return snapshots.snapshot(files, links=captured.links, printed=printed, failed=failed)


def test_paths_are_chosen_by_load() -> None:
    line = "ost0: 0 7814037168 multipath 1 queue_if_no_path 0 1 1 {} 0 2 1 8:16 1 8:112 1\n"
    change = only(judged(MULTIPATH_PATH_SELECTOR, multipath(line.format("round-robin"))), Change)
    assert change.wanted == "service-time"
    assert "multipath.conf" in change.command
    assert only(judged(MULTIPATH_PATH_SELECTOR, multipath(line.format("service-time"))), Fine).value == "service-time"
    only(judged(MULTIPATH_PATH_SELECTOR, multipath(line.format("of-a-vendor"))), NotReadable)
    assert "dmsetup" in only(judged(MULTIPATH_PATH_SELECTOR, multipath(None)), NotReadable).reason
    failed = multipath(None, {"dmsetup table": "need to be root"})
    assert only(judged(MULTIPATH_PATH_SELECTOR, failed), NotReadable).reason == "exit status 1: need to be root"
    only(judged(MULTIPATH_PATH_SELECTOR, disk("sda")), NotApplicable)


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
    assert only(judged(MULTIPATH_PATHS, _with_multipath(_PATHS)), Fine).value == "2 paths up"


@pytest.mark.parametrize("states", ["failed faulty running", "active ready offline", "failed undef unknown"])
def test_a_path_is_down(states: str) -> None:
    change = only(judged(MULTIPATH_PATHS, _with_multipath(_PATHS.replace("active ready running", states))), Change)
    assert (change.value, change.wanted) == (f"sdb: {states}", "2 paths up")


def test_paths_that_are_not_known() -> None:
    only(judged(MULTIPATH_PATHS, _with_multipath(None)), NotReadable)
    only(judged(MULTIPATH_PATHS, _with_multipath(_PATHS.replace("dm-2", "dm-9"))), NotReadable)
    assert "no multipath" in only(judged(MULTIPATH_PATHS, disk("sda")), NotApplicable).why


class TestNvmeOverFabrics:
    @pytest.mark.parametrize("rule", NVME_RULES, ids=lambda rule: rule.name)
    def test_well_set_connections_are_fine(self, rule: Rule) -> None:
        assert len(fine(rule, network_client())) == (1 if rule is NVME_PATH_POLICY else 2)

    @pytest.mark.parametrize("rule", NVME_RULES, ids=lambda rule: rule.name)
    def test_a_node_without_fabrics(self, rule: Rule) -> None:
        assert "NVMe over fabrics" in not_applicable(rule, ext4_host())

    @pytest.mark.parametrize("rule", NVME_RULES, ids=lambda rule: rule.name)
    def test_only_connections_below_the_target_are_judged(self, rule: Rule) -> None:
        assert fine(rule, network_client().with_target("/dev/nvme0n1"))
        assert not_applicable(rule, network_client().with_target("/cephfs"))

    @pytest.mark.parametrize(
        ("rule", "attribute"),
        [(NVME_CONNECTION_STATE, "state"), (NVME_QUEUE_COUNT, "queue_count"), (NVME_QUEUE_SIZE, "sqsize")],
    )
    def test_attributes_that_cannot_be_read(self, rule: Rule, attribute: str) -> None:
        assert not_readable(rule, network_client().with_unreadable(f"{_NVME_CONTROLLER}/{attribute}"))
        assert not_readable(rule, _nvme_with(**{attribute: None}))

    def test_a_connection_that_is_down(self) -> None:
        change = change_of(NVME_CONNECTION_STATE, _nvme_with(state="connecting"))
        assert (change.subject, change.value) == ("nvme0 (tcp)", "connecting")

    def test_the_default_policy_uses_one_path(self) -> None:
        change = change_of(NVME_PATH_POLICY, network_client().with_files({_NVME_POLICY: "numa"}))
        assert assignments(change) == {"sys:class/nvme-subsystem/nvme-subsys0/iopolicy": "round-robin"}
        assert fine(NVME_PATH_POLICY, network_client().with_files({_NVME_POLICY: "queue-depth"}))
        assert not_readable(NVME_PATH_POLICY, network_client().with_files({_NVME_POLICY: None, f"{_NVME_POLICY}x": ""}))

    def test_a_single_path_has_no_policy(self) -> None:
        node = network_client()
        links = {name: to for name, to in node.links.items() if not name.endswith("nvme-subsys0/nvme1")}
        assert "one path" in not_applicable(NVME_PATH_POLICY, Node(node.host, node.files, links))

    @pytest.mark.parametrize(("count", "kind"), [(17, Fine), (9, NotJudged)])
    def test_fewer_queues_than_processors_may_be_all_that_the_target_grants(self, count: int, kind: type) -> None:
        assert isinstance(judged(NVME_QUEUE_COUNT, _nvme_with(queue_count=count))[0], kind)

    def test_one_queue_for_all_processors(self) -> None:
        assert change_of(NVME_QUEUE_COUNT, _nvme_with(queue_count=2)).wanted == "16 queues"

    def test_a_short_queue(self) -> None:
        assert [change.value for change in changes_of(NVME_QUEUE_SIZE, _nvme_with(sqsize=31))] == ["32 commands"]

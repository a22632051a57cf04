"""The study of large I/O on a Dell MD3460 with Lustre: its Tables 3 to 6 come out, and nothing after its tuning."""

from __future__ import annotations

from ioassay.testing import tuned_systems
from ioassay.testing.rule_judgements import settings_of
from ioassay.tuning.rule import Change, Judgement, Rule
from ioassay.tuning.rules import RULES, sources
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array, System

_TABLES = (sources.LINUX_LARGE_IO, sources.RAID_LARGE_IO, sources.LUSTRE_SERVER, sources.LUSTRE_CLIENT)
_AREAS = ("block queue", "adapter", "RAID controller", "memory", "Lustre")
_OF_THE_STUDY = tuple(rule for rule in RULES if rule.area in _AREAS and set(rule.sources).intersection(_TABLES))


def recommended_changes(snapshot: Snapshot, array: Array | None = None) -> dict[str, list[Judgement]]:
    """What the study's rules would change, by their names."""
    system = System(snapshot, array)
    judgements_by_rule: dict[str, list[Judgement]] = {}
    for rule in _OF_THE_STUDY:
        if of_rule := [judgement for judgement in rule.judgements(system) if isinstance(judgement, Change)]:
            judgements_by_rule[rule.name] = [*of_rule]
    return judgements_by_rule


def test_an_untuned_server_gets_the_values_of_tables_3_to_5() -> None:
    recommended = recommended_changes(tuned_systems.md3460_oss(), tuned_systems.MD3460_UNTUNED)
    assert settings_of(recommended["scheduler"]) == [f"block:dm-{index}/scheduler=deadline" for index in range(6)]
    assert set(settings_of(recommended["max-sgl-entries"])) == {"module:mpt3sas/max_sgl_entries=256"}
    assert set(settings_of(recommended["max-queue-depth"])) == {"module:mpt3sas/max_queue_depth=600"}
    assert {change.wanted for change in recommended["max-sectors-kb"] if isinstance(change, Change)} == {"1024 KiB"}
    assert {setting.partition("/")[2] for setting in settings_of(recommended["nr-requests"])} == {"nr_requests=1024"}
    assert len(recommended["nr-requests"]) == 18  # the six multipath devices and their twelve paths
    assert {setting.partition("/")[2] for setting in settings_of(recommended["read-ahead-kb"])} == {
        "read_ahead_kb=8192"
    }
    assert {setting.partition("/")[2] for setting in settings_of(recommended["rq-affinity"])} == {"rq_affinity=2"}
    assert settings_of(recommended["transparent-hugepage"]) == [
        "sys:kernel/mm/redhat_transparent_hugepage/enabled=never"
    ]
    assert settings_of(recommended["vfs-cache-pressure"]) == ["sysctl:vm.vfs_cache_pressure=50"]
    wanted = {name: change.wanted for name, (change, *_) in recommended.items() if isinstance(change, Change)}
    assert wanted["raid-cache-block"] == "32 KiB"
    assert wanted["raid-cache-flush"] == "98 % full"
    assert wanted["raid-write-cache"] == "on, mirrored"
    assert wanted["raid-read-cache"] == "off"
    assert settings_of(recommended["lustre-oss-threads"]) == [
        "lctl:ost.OSS.ost_io.threads_max=512",
        "lctl:ost.OSS.ost_io.threads_min=512",
    ]


def test_untuned_clients_get_the_values_of_table_6() -> None:
    recommended = recommended_changes(tuned_systems.lustre_client())
    assert settings_of(recommended["lustre-max-rpcs-in-flight"]) == ["lctl:osc.ltestfs2-*.max_rpcs_in_flight=256"]
    assert settings_of(recommended["lustre-max-dirty-mb"]) == ["lctl:osc.ltestfs2-*.max_dirty_mb=1024"]
    assert set(recommended) == {"lustre-max-rpcs-in-flight", "lustre-max-dirty-mb"}


def test_another_segment_comes_out_as_that_of_table_4() -> None:
    recommended = recommended_changes(tuned_systems.md3460_oss(), Array(8, 512 << 10, 2))
    (change,) = recommended["raid-segment-size"]
    assert isinstance(change, Change)
    assert change.wanted == "8 data disks × 128 KiB = 1 MiB"


def test_a_tuned_system_gets_no_value_of_the_study() -> None:
    assert recommended_changes(tuned_systems.md3460_oss_tuned(), tuned_systems.MD3460_TUNED) == {}
    assert recommended_changes(tuned_systems.lustre_client(tuned=True)) == {}


def test_every_rule_of_the_study_has_something_to_say_before_its_tuning() -> None:
    server = recommended_changes(tuned_systems.md3460_oss(), tuned_systems.MD3460_UNTUNED)
    silent = {rule.name for rule in _OF_THE_STUDY} - {*server, *recommended_changes(tuned_systems.lustre_client())}
    assert silent == {"raid-segment-size"}  # as the study has it from the start


def test_the_halved_requests_are_found_in_what_the_server_counted() -> None:
    rule: Rule = next(rule for rule in RULES if rule.name == "lustre-fragmented-bulk")
    before = rule.judgements(System(tuned_systems.md3460_oss()))
    assert len(before) == 6
    assert all(isinstance(judgement, Change) and "pieces of 512 KiB" in judgement.value for judgement in before)
    after = rule.judgements(System(tuned_systems.md3460_oss_tuned()))
    assert not [judgement for judgement in after if isinstance(judgement, Change)]


def test_a_node_with_nvme_gets_none_of_the_values_for_disks() -> None:
    assert recommended_changes(tuned_systems.nvme_node()) == {}

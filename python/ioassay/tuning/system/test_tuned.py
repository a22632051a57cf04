"""What TuneD's active profile sets."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ioassay.testing.snapshots import snapshot
from ioassay.testing.tuned_machine import write_tree
from ioassay.tuning.system.tuned import ActiveProfile, LiveFiles, active_profile, is_running, matches, user_directory

PARENT = """[main]
summary=x

[variables]
dirty=40
include=/etc/tuned/extra.conf

[disk]
readahead=>4096

[sysctl]
# how much may be dirty
vm.dirty_ratio = ${dirty}
vm.swappiness=10   # low

[sysctl.arm]
type=sysctl
cpuinfo_regex=CPU part
vm.swappiness=5
"""

CHILD = """[main]
include=parent

[sysctl]
vm.swappiness=30
net.core.somaxconn=>2048

[disk-slow]
type=disk
devices=sdb
priority=-1
readahead=8192 s
elevator=mq-deadline

[sysfs]
/sys/block/sd*/queue/nr_requests=${requests}
/sys/kernel/mm/ksm/run=0

[vm]
transparent_hugepages=never
"""


def profile(root: Path, child: str = CHILD, **others: str) -> ActiveProfile:
    write_tree(
        root,
        {
            "etc/tuned/active_profile": "child",
            "etc/tuned/child/tuned.conf": child,
            "usr/lib/tuned/parent/tuned.conf": PARENT,
            "usr/lib/tuned/child/tuned.conf": "[sysctl]\nvm.swappiness=99",
            "etc/tuned/extra.conf": "requests=512",
            "proc/cpuinfo": "model name : x",
            "sys/block/sda/queue/nr_requests": "64",
            "sys/block/sdb/queue/nr_requests": "64",
            "sys/kernel/mm/ksm/run": "1",
        }
        | {name.replace("__", "/"): text for name, text in others.items()},
    )
    active = active_profile(LiveFiles(root))
    assert active is not None
    return active


def values(root: Path, **others: str) -> dict[str, str]:
    return {name: option.value for name, option in profile(root, **others).options.items()}


def test_a_profile_sets_what_it_includes_and_what_it_says_itself(tmp_path: Path) -> None:
    assert values(tmp_path) == {
        "block:sda/read_ahead_kb": "4096",
        "block:sdb/read_ahead_kb": "4096",
        "block:sdb/scheduler": "mq-deadline",
        "sysctl:vm.dirty_ratio": "40",
        "sysctl:vm.swappiness": "30",
        "sysctl:net.core.somaxconn": "2048",
        "block:sda/nr_requests": "512",
        "block:sdb/nr_requests": "512",
        "sys:kernel/mm/ksm/run": "0",
        "sys:kernel/mm/transparent_hugepage/enabled": "never",
    }


def test_each_setting_names_profile_file_and_line(tmp_path: Path) -> None:
    options = profile(tmp_path).options
    assert options["sysctl:vm.swappiness"].where == "TuneD's profile child (/etc/tuned/child/tuned.conf:5)"
    assert options["sysctl:vm.dirty_ratio"].where == "TuneD's profile parent (/usr/lib/tuned/parent/tuned.conf:13)"


def test_a_bound_changes_only_what_is_beyond_it(tmp_path: Path) -> None:
    option = profile(tmp_path).options["block:sda/read_ahead_kb"]
    assert (option.bound, option.value_after("128"), option.value_after("8192")) == ("at least", "4096", "8192")


def test_a_section_for_other_processors_does_not_count(tmp_path: Path) -> None:
    assert values(tmp_path, proc__cpuinfo="CPU part : 0x516")["sysctl:vm.swappiness"] == "5"


def test_a_section_without_the_file_that_decides_is_reported_as_uncertain(tmp_path: Path) -> None:
    profile(tmp_path)
    (tmp_path / "proc/cpuinfo").unlink()
    active = active_profile(LiveFiles(tmp_path))
    assert active is not None
    assert "cpuinfo_regex" in active.options["sysctl:vm.swappiness"].condition


def test_a_value_that_tuned_computes_is_reported_as_unknown(tmp_path: Path) -> None:
    child = "[sysctl]\nvm.swappiness=${f:exec:cat:/etc/hostname}"
    assert profile(tmp_path, child).options["sysctl:vm.swappiness"].condition == "TuneD computes the value"


def test_sysctl_d_counts_after_the_profile_unless_tuned_is_configured_otherwise(tmp_path: Path) -> None:
    written = {"etc__sysctl.d__50-site.conf": "# x\nvm.swappiness = 1"}
    option = profile(tmp_path, **written).options["sysctl:vm.swappiness"]
    assert (option.value, option.where) == (
        "1",
        "/etc/sysctl.d/50-site.conf:2 (TuneD applies it again after its profile: reapply_sysctl)",
    )
    assert values(tmp_path, **{"etc__tuned__tuned-main.conf": "reapply_sysctl = 0"})["sysctl:vm.swappiness"] == "30"


def test_a_dropped_option_and_a_replaced_section_are_gone(tmp_path: Path) -> None:
    child = "[main]\ninclude=parent\n[sysctl]\ndrop=vm.dirty_ratio\n[disk]\nreplace=1\nelevator=none"
    assert profile(tmp_path, child).options.keys() == {
        "sysctl:vm.swappiness",
        "block:sda/scheduler",
        "block:sdb/scheduler",
    }


@pytest.mark.parametrize(
    ("child", "problem"),
    [
        ("[main]\ninclude=nowhere", "there is no profile nowhere"),
        ("[main]\ninclude=${f:x}", "/etc/tuned/child/tuned.conf:2 includes ${f:x}"),
        ("vm.swappiness=1", "/etc/tuned/child/tuned.conf cannot be parsed: File contains no section headers."),
        (
            "[disk]\nreadahead",
            "/etc/tuned/child/tuned.conf cannot be parsed: Source contains parsing errors: '<string>'",
        ),
        ("[main]\ninclude=-nowhere", ""),
        ("[main]\ninclude=child", ""),
    ],
)
def test_unknown_parts_of_a_profile_are_reported(tmp_path: Path, child: str, problem: str) -> None:
    (tmp_path / "usr/lib/tuned/child").mkdir(parents=True)
    child_profile = profile(tmp_path, child)
    assert child_profile.problem == problem


def test_a_node_without_tuned_has_no_profile(tmp_path: Path) -> None:
    assert active_profile(LiveFiles(tmp_path)) is None
    assert not is_running(tmp_path)


def test_profiles_of_administrators_are_where_this_version_of_tuned_looks(tmp_path: Path) -> None:
    assert user_directory(LiveFiles(tmp_path)) == "etc/tuned"
    write_tree(tmp_path, {"usr/lib/tuned/profiles/balanced/tuned.conf": "[main]"})
    assert user_directory(LiveFiles(tmp_path)) == "etc/tuned/profiles"
    write_tree(tmp_path, {"etc/tuned/tuned-main.conf": "profile_dirs = /usr/lib/tuned, /srv/tuned"})
    assert user_directory(LiveFiles(tmp_path)) == "srv/tuned"


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [("*", True), ("sd*,!sda", False), ("!sdb", True), ("sdb sda", True), ("nvme*", False)],
)
def test_devices_are_matched_as_tuned_does(pattern: str, is_match: bool) -> None:
    assert matches(pattern, "sda") == is_match


_MERGED_BY_TUNED = """
import json, sys
sys.dont_write_bytecode = True
from tuned.profiles import Factory, Loader, Locator, Merger
from tuned.profiles.variables import Variables
import tuned.consts, tuned.logs
tuned.logs.get().setLevel("CRITICAL")
directories = getattr(tuned.consts, "LOAD_DIRECTORIES", None) or tuned.consts.CFG_DEF_PROFILE_DIRS
loader = Loader(Locator(directories), Factory(), Merger(), None, Variables())
made = loader.load(sys.argv[1])
print(json.dumps({name: {key: str(value) for key, value in unit.options.items() if key != "script"}
                  for name, unit in made.units.items()}))
"""


@pytest.mark.parametrize(
    "name", ["virtual-guest", "hpc-compute", "spectrumscale-ece", "realtime-virtual-host", "oracle"]
)
def test_a_profile_of_this_machine_is_merged_as_tuned_merges_it(tmp_path: Path, name: str) -> None:
    merged = subprocess.run(["/usr/bin/python3", "-c", _MERGED_BY_TUNED, name], capture_output=True, check=False)
    if not Path("/usr/sbin/tuned-adm").exists():
        pytest.skip("no TuneD on this machine")
    assert merged.returncode == 0, merged.stderr
    (tmp_path / "usr").symlink_to("/usr")
    write_tree(tmp_path, {"etc/tuned/active_profile": name})
    active = active_profile(LiveFiles(tmp_path))
    assert active is not None
    ours = {
        unit.name: {key: line.value for key, line in unit.options.items() if key != "script"}
        for unit in active.units.values()
    }
    merged_by_tuned = json.loads(merged.stdout)
    assert sorted(ours) == sorted(merged_by_tuned)
    assert ours == merged_by_tuned


def test_a_snapshot_says_the_same_as_the_machine_that_it_was_taken_of(tmp_path: Path) -> None:
    live = profile(tmp_path)
    files = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    active = active_profile(snapshot(files))
    assert active is not None
    assert active.paths == live.paths
    assert {name: option.where for name, option in active.options.items()} == {
        name: option.where for name, option in live.options.items()
    }

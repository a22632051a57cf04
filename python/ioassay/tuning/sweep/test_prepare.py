"""From options and YAML to a sweep that can begin: today's values, what rules recommend, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.execution.places import Place
from ioassay.store.sweep_document import SweepDocument
from ioassay.studies.target import Target
from ioassay.testing.snapshots import snapshot
from ioassay.text.units import parse_bytes
from ioassay.tuning.rules import RULES
from ioassay.tuning.settings import Instance
from ioassay.tuning.sweep import cache
from ioassay.tuning.sweep.experiment import Experiment, read
from ioassay.tuning.sweep.options import Options, experiment
from ioassay.tuning.sweep.prepare import about, prepare, todays_value
from ioassay.tuning.system import System
from ioassay.yaml_models.source import read_source

_PRESSURE = "sysctl:vm.vfs_cache_pressure"
_SERVER = System(snapshot({"proc/fs/nfsd/threads": "64", "proc/sys/vm/vfs_cache_pressure": "100"}))


def _asked(*vary: str, **changed: object) -> Experiment:
    return experiment(Options(vary=vary, **changed))  # type: ignore[arg-type]


def _prepared(request: Experiment, system: System | None = None) -> SweepDocument:
    return prepare(request, Place(Target("directory", "/mnt/store")), system)


def test_a_setting_has_todays_value_and_what_a_rule_recommends() -> None:
    (entry,) = _prepared(_asked(f"{_PRESSURE}=10,50,200"), _SERVER).parameters
    assert entry.today == Path("/proc/sys/vm/vfs_cache_pressure").read_text().strip()
    assert (entry.suggested, entry.rule) == ("50", "vfs-cache-pressure")
    assert (entry.name, entry.setting) == ("vm.vfs_cache_pressure", _PRESSURE)


def test_no_rule_is_asked_without_a_system() -> None:
    (entry,) = _prepared(_asked(f"{_PRESSURE}=10,50")).parameters
    assert entry.suggested is None


def test_a_setting_of_the_study_has_the_value_that_the_study_gives_it() -> None:
    transfer, ranks = _prepared(_asked("transfer=64KiB,1MiB", "ranks=1,4", settings=["ranks=2"])).parameters
    assert (transfer.key, transfer.today) == ("transfer", "1MiB")
    assert (ranks.key, ranks.today) == ("ranks", "2")


def test_a_pair_of_commands_is_read_by_its_own_command(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    value = tmp_path / "value"
    value.write_text("3\n")
    file.write_text(
        f"name: pair\nparameters:\n  width: {{get: cat {value}, set: 'echo {{value}} > {value}', values: [3, 4]}}\n"
    )
    (entry,) = _prepared(read(file)).parameters
    assert (entry.today, entry.values) == ("3", ["3", "4"])


def test_options_replace_parts_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text("name: file\nparameters:\n  transfer: {key: transfer, values: [4KiB, 1MiB]}\nbudget: {trials: 3}\n")
    tree = read_source(file, "experiment").tree
    prepared = experiment(
        Options(vary=["transfer=64KiB,256KiB"], objective="read:p99", keep=["write=90%"], budget={"time": "2h"}), tree
    )
    assert prepared.parameters["transfer"].values == ["64KiB", "256KiB"]
    assert (prepared.objective.phase, prepared.objective.measure) == ("read", "p99")
    assert prepared.constraints[0].at_least == 0.9
    assert (prepared.budget.trials, prepared.budget.time) == (3, 7_200_000_000_000)


def _conditions(place: Path, *vary: str, **changed: object) -> SweepDocument:
    machine = System(snapshot({}))
    return prepare(_asked(*vary, **changed), Place(Target("directory", str(place))), machine)


def test_settings_of_the_block_layer_are_measured_past_the_page_cache() -> None:
    device = next(
        name for name in sorted(os.listdir("/sys/block")) if Path(f"/sys/block/{name}/queue/nomerges").exists()
    )
    conditions = _conditions(Path("/tmp"), f"block:{device}/nomerges=0,1")
    assert conditions.study_settings == ["direct=yes"]
    assert conditions.notes == ["Direct I/O (direct=yes), so that the device answers, not the page cache."]
    assert (
        _conditions(Path("/tmp"), f"block:{device}/nomerges=0,1", settings=["direct=no"]).study_settings[0]
        == "direct=no"
    )


def test_settings_of_the_page_cache_are_measured_with_files_beyond_memory_or_the_reason_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 1 << 40
    monkeypatch.setattr(cache, "_free_bytes", lambda place: free)
    memory = System(snapshot({})).memory_bytes
    (setting,) = _conditions(tmp_path, f"{_PRESSURE}=10,50", "ranks=1,4").study_settings
    assert memory < parse_bytes(setting.removeprefix("size=")) * 4 < 1.2 * memory
    free = 6 << 30
    conditions = _conditions(tmp_path, f"{_PRESSURE}=10,50", "ranks=1,4")
    assert conditions.study_settings == ["size=1228MiB"]
    assert "because the target has 6 GiB free" in conditions.notes[0]
    free = 1 << 30
    assert _conditions(tmp_path, f"{_PRESSURE}=10,50").study_settings == []
    assert _conditions(tmp_path, f"{_PRESSURE}=10,50", settings=["size=2GiB"]).study_settings == ["size=2GiB"]


class _Value(Instance):
    """A setting with a value."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(name)
        self._value = value

    def read(self) -> str:
        return self._value

    def write(self, value: str) -> None:
        self._value = value


def test_a_pattern_stands_for_settings_that_are_alike() -> None:
    alike = [_Value(f"lctl:osc.{number}.max_dirty_mb", "32") for number in range(4)]
    assert todays_value("lctl:osc.*.max_dirty_mb", alike) == "32"
    alike[2].write("64")
    with pytest.raises(UsageError, match=r"stands for 4 settings with different values: .*osc\.2\.max_dirty_mb is 64"):
        todays_value("lctl:osc.*.max_dirty_mb", alike)


@pytest.mark.parametrize(
    ("vary", "changed", "message"),
    [
        (["transfre=1MiB,2MiB"], {}, "`transfre` is not a setting of the study"),
        (["transfer=1MiB"], {}, "nothing to try"),
        (["transfer"], {}, "is not NAME=VALUE"),
        (["transfer="], {}, "is empty"),
        (["transfer=1MiB,1MiB"], {}, "has a value twice"),
        ([], {}, "nothing to vary"),
        ([f"{_PRESSURE}=high"], {}, "not an integer"),
        (["sysctl:vm.no_such=1"], {}, "no such parameter"),
        (["nfs:x=1"], {}, "no such kind of settings"),
        (["transfer=1MiB,2MiB"], {"objective": "reed"}, "has no phase `reed`"),
        (["transfer=1MiB,2MiB"], {"objective": "read:p42"}, "read:p42"),
        (["transfer=1MiB,2MiB"], {"keep": ["read"]}, "is not NAME=VALUE"),
        (["transfer=1MiB,2MiB"], {"keep": ["read=20ms"]}, "read=20ms"),
        (["transfer=1MiB,2MiB"], {"study": "tun"}, "There is no study `tun`"),
        (["transfer=1MiB,2MiB"], {"budget": {"pairs": "2"}}, "--pairs 2"),
    ],
)
def test_an_experiment_that_makes_no_sense_is_refused_with_its_place(
    vary: list[str], changed: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message.replace("*", r"\*")) as refused:
        _prepared(_asked(*vary, **changed))
    assert refused.value.message


def test_a_rule_about_some_settings_of_a_pattern_is_about_the_pattern() -> None:
    rule = next(rule for rule in RULES if rule.name == "lustre-max-rpcs-in-flight")
    recommended = {"lctl:osc.scratch-*.max_rpcs_in_flight": ("256", rule)}
    assert about("lctl:osc.*.max_rpcs_in_flight", recommended) == ("256", rule)
    assert about("lctl:osc.scratch-OST0000-osc-ffff.max_rpcs_in_flight", recommended) == ("256", rule)
    assert about("lctl:osc.*.max_dirty_mb", recommended) == (None, None)

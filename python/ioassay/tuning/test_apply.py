"""Applying, switching, checking and rolling back, on made-up machines."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.execution.interruption import Interruption
from ioassay.testing.tuned_machine import lustre_programs, made_up_machine, write_tree
from ioassay.tuning import apply as apply_module
from ioassay.tuning.apply import Applied, Drifted, applied, apply, settle
from ioassay.tuning.change_plan import ChangePlan, plan_changes
from ioassay.tuning.journal import Journal, State, journals, open_journals, read
from ioassay.tuning.rollback import exit_code, roll_back
from ioassay.tuning.settings import CannotRead, CannotSet, NotLive, NotTaken, parse_assignment
from ioassay.tuning.settings.command import Command
from ioassay.tuning.settings.files import FileInstance
from ioassay.tuning.settings.lustre import LctlInstance
from ioassay.tuning.verify import drifted

NR = "block:sda/nr_requests"
PRESSURE = "sysctl:vm.vfs_cache_pressure"
SWAPPINESS = "sysctl:vm.swappiness"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_up_machine(tmp_path / "root", "sda", "sdb")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "journals"


def plan(root: Path, *texts: str) -> ChangePlan:
    return plan_changes(map(parse_assignment, texts), root=root)


def value(root: Path, path: str) -> str:
    return (root / path).read_text().strip()


def nr_requests(root: Path) -> str:
    return value(root, "sys/block/sda/queue/nr_requests")


def pressure(root: Path) -> str:
    return value(root, "proc/sys/vm/vfs_cache_pressure")


def state(place: Path) -> State:
    (path,) = journals(place)
    return read(path)[0]


def rolled_back(place: Path, root: Path) -> dict[str, tuple[str, str]]:
    (path,) = journals(place)
    with Journal.reopen(path, root) as journal:
        return {result.name: (result.outcome, result.why) for result in roll_back(journal, root)}


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has a file refuse a value, or make another one of it, as the kernel does."""
    write = FileInstance.write

    def install(name: str, refused: str, instead: str | None = None) -> None:
        def changed(instance: FileInstance, value: str) -> None:
            if instance.name == name and value == refused:
                if instead is None:
                    raise CannotSet(f"{name}={value}: Invalid argument (EINVAL).")
                value = instead
            write(instance, value)

        monkeypatch.setattr(FileInstance, "write", changed)

    return install


def test_settings_are_changed_and_put_back(root: Path, place: Path) -> None:
    done = apply(plan(root, f"{NR}=64", f"{PRESSURE}=50"), place)
    done.close()
    assert (nr_requests(root), pressure(root)) == ("64", "50")
    assert [(change.name, change.before, change.read_back) for change in done.changes.values()] == [
        (NR, "256", "64"),
        (PRESSURE, "100", "50"),
    ]
    assert rolled_back(place, root) == {PRESSURE: ("restored", ""), NR: ("restored", "")}
    assert (nr_requests(root), pressure(root)) == ("256", "100")
    assert state(place).is_closed


def test_a_value_that_is_there_already_is_neither_written_nor_journalled(root: Path, place: Path) -> None:
    changes = plan(root, f"{NR}=256")
    assert not changes.is_needed
    apply(changes, place).close()
    assert state(place).entries == {}


def test_the_scheduler_is_set_before_what_it_changes(root: Path) -> None:
    changes = plan(root, f"{PRESSURE}=1", f"{NR}=64", "block:sda/scheduler=kyber")
    assert [step.name for step in changes.steps] == ["block:sda/scheduler", PRESSURE, NR]
    assert [follower.instance.name for follower in changes.steps[0].followers] == [NR]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([f"{NR}=64", f"{NR}=128"], "is given twice"),
        (["block:sd*/nr_requests=64", "block:sdb/nr_requests=32"], "block:sdb/nr_requests is given twice"),
        (["sysctl:vm.dirty_ratio=10", "sysctl:vm.dirty_bytes=9999999"], "exclude each other"),
    ],
)
def test_assignments_that_contradict_each_other_are_refused(root: Path, texts: list[str], message: str) -> None:
    write_tree(root, {"proc/sys/vm/dirty_ratio": "20", "proc/sys/vm/dirty_bytes": "0"})
    with pytest.raises(UsageError, match=message):
        plan(root, *texts)


def test_settings_that_only_a_file_changes_are_refused_live_and_planned_for_the_file(root: Path, place: Path) -> None:
    write_tree(root, {"sys/block/sda/holders/dm-0/dm/uuid": "mpath-360"})
    with pytest.raises(NotLive) as refused:
        plan(root, "block:sda/max_sectors_kb=256")
    assert "--persist /" in refused.value.remedy
    changes = plan_changes([parse_assignment("block:sda/max_sectors_kb=256")], root=root, is_persistent=True)
    apply(changes, place).close()
    assert value(root, "sys/block/sda/queue/max_sectors_kb") == "512"


def test_a_refused_value_puts_everything_back(root: Path, place: Path, refuse: Callable[..., None]) -> None:
    refuse(PRESSURE, "50")
    with pytest.raises(CannotSet, match="Invalid argument") as refused:
        apply(plan(root, f"{NR}=64", f"{PRESSURE}=50", f"{SWAPPINESS}=1"), place)
    assert refused.value.remedy == "All settings are as before."
    assert (nr_requests(root), pressure(root)) == ("256", "100")
    assert state(place).is_closed


def test_a_value_that_is_ignored_puts_everything_back(root: Path, place: Path, refuse: Callable[..., None]) -> None:
    refuse(PRESSURE, "50", "100")
    with pytest.raises(CannotSet, match=f"{PRESSURE}: asked 50, the kernel kept 100"):
        apply(plan(root, f"{NR}=64", f"{PRESSURE}=50"), place)
    assert nr_requests(root) == "256"


def test_a_value_that_the_kernel_changes_puts_everything_back(
    root: Path, place: Path, refuse: Callable[..., None]
) -> None:
    refuse(PRESSURE, "50", "48")
    with pytest.raises(NotTaken) as refused:
        apply(plan(root, f"{NR}=64", f"{PRESSURE}=50"), place)
    assert refused.value.message == f"{PRESSURE}: asked 50, the kernel made it 48: restored to 100."
    assert "All settings are as before." in refused.value.remedy
    assert (nr_requests(root), pressure(root)) == ("256", "100")
    assert state(place).is_closed


def test_a_value_that_is_shown_in_another_form_is_ours_as_it_was_read_back(
    root: Path, place: Path, refuse: Callable[..., None]
) -> None:
    refuse(PRESSURE, "0x32", "50")
    done = apply(plan(root, f"{PRESSURE}=0x32"), place)
    done.close()
    assert not done.changes[PRESSURE].is_as_wanted
    assert drifted(done.journal.state, root) == []
    assert rolled_back(place, root) == {PRESSURE: ("restored", "")}


def test_a_setting_that_vanishes_half_way_puts_the_others_back(
    root: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = plan(root, f"{NR}=64", f"{PRESSURE}=50", "block:sdb/nr_requests=32")
    write = FileInstance.write

    def vanishing(instance: FileInstance, value: str) -> None:
        write(instance, value)
        if instance.name == PRESSURE and value == "50":
            (root / "sys/block/sdb/queue/nr_requests").unlink()

    monkeypatch.setattr(FileInstance, "write", vanishing)
    with pytest.raises(CannotRun, match=r"block:sdb/nr_requests: .* is not there"):
        apply(changes, place)
    assert (nr_requests(root), pressure(root)) == ("256", "100")


def test_settings_changed_by_something_else_are_left_alone_and_named(root: Path, place: Path) -> None:
    done = apply(plan(root, f"{NR}=64", f"{PRESSURE}=50"), place)
    write_tree(root, {"proc/sys/vm/vfs_cache_pressure": "77"})
    (drift,) = settle(done, 0)
    assert (drift.name, drift.applied, drift.now) == (PRESSURE, "50", "77")
    assert done.check() == [drift]
    done.close()
    assert rolled_back(place, root) == {
        PRESSURE: ("left alone", "it has 77 instead of 50"),
        NR: ("restored", ""),
    }
    assert (nr_requests(root), pressure(root)) == ("256", "77")


def test_settings_already_back_are_distinguished_from_restored_ones(root: Path, place: Path) -> None:
    apply(plan(root, f"{NR}=64"), place).close()
    write_tree(root, {"sys/block/sda/queue/nr_requests": "256"})
    assert rolled_back(place, root) == {NR: ("already back", "")}


def test_a_device_that_is_gone_is_named(root: Path, place: Path) -> None:
    apply(plan(root, f"{NR}=64", f"{PRESSURE}=50"), place).close()
    (root / "sys/block/sda/queue/nr_requests").unlink()
    outcome, why = rolled_back(place, root)[NR]
    assert outcome == "left alone"
    assert "it is gone" in why
    assert pressure(root) == "100"


def test_another_device_of_the_same_name_is_left_alone(root: Path, place: Path) -> None:
    apply(plan(root, f"{NR}=64"), place).close()
    write_tree(root, {"sys/block/sda/diskseq": "99"})
    assert rolled_back(place, root) == {NR: ("left alone", "another device has this name now")}
    assert nr_requests(root) == "64"


def test_another_device_of_the_same_name_and_value_has_drifted(root: Path, place: Path) -> None:
    """Also before Linux 5.15, which does not count disks."""
    (root / "sys/block/sda/diskseq").unlink()
    write_tree(root, {"sys/block/sda/device/wwid": "naa.1"})

    def experiment() -> None:
        with applied([parse_assignment(f"{NR}=64")], place, root=root) as settings:
            write_tree(root, {"sys/block/sda/device/wwid": "naa.2"})
            switch(settings, f"{NR}=32")

    with pytest.raises(Drifted) as refused:
        experiment()
    assert refused.value.message == f"{NR}: another device has this name now, or the machine was rebooted."
    assert nr_requests(root) == "64"


def test_kernel_defaults_after_a_reboot_are_not_taken_for_anothers_change(root: Path, place: Path) -> None:
    apply(plan(root, f"{NR}=64", f"{PRESSURE}=50", f"{SWAPPINESS}=1"), place).close()
    write_tree(
        root,
        {
            "proc/sys/kernel/random/boot_id": "another",
            "sys/block/sda/diskseq": "1",
            "sys/block/sda/queue/nr_requests": "256",
            "proc/sys/vm/swappiness": "30",
        },
    )
    assert rolled_back(place, root) == {
        SWAPPINESS: ("left alone", "the machine was rebooted since, it has 30 instead of 1"),
        PRESSURE: ("restored", ""),
        NR: ("already back", ""),
    }


def test_a_write_that_the_journal_could_not_confirm_counts_as_ours(root: Path, place: Path) -> None:
    changes = plan(root, f"{PRESSURE}=50")
    done = apply(changes, place)
    done.close()
    (path,) = journals(place)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    write_tree(root, {"proc/sys/vm/vfs_cache_pressure": "48"})  # what the kernel made of it
    assert rolled_back(place, root) == {PRESSURE: ("restored", "")}
    assert pressure(root) == "100"


def test_an_unconfirmed_write_is_ours_after_a_reboot_only_with_its_value(root: Path, place: Path) -> None:
    apply(plan(root, f"{PRESSURE}=50"), place).close()
    (path,) = journals(place)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    write_tree(root, {"proc/sys/vm/vfs_cache_pressure": "48", "proc/sys/kernel/random/boot_id": "another"})
    assert rolled_back(place, root)[PRESSURE][0] == "left alone"


def test_a_setting_that_cannot_be_put_back_keeps_the_journal_open(
    root: Path, place: Path, refuse: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(plan(root, f"{NR}=64", f"{PRESSURE}=50"), place).close()
    with monkeypatch.context():
        refuse(PRESSURE, "100")
        (path,) = journals(place)
        with Journal.reopen(path, root) as journal:
            results = roll_back(journal, root)
        assert exit_code(results) == 3
        assert {result.name: result.outcome for result in results} == {PRESSURE: "failed", NR: "restored"}
    assert not state(place).is_closed
    monkeypatch.undo()
    assert rolled_back(place, root) == {PRESSURE: ("restored", "")}


def test_values_set_by_others_after_a_failed_rollback_are_left_alone(
    root: Path, place: Path, refuse: Callable[..., None]
) -> None:
    apply(plan(root, f"{PRESSURE}=50"), place).close()
    refuse(PRESSURE, "100", "99")
    assert rolled_back(place, root) == {PRESSURE: ("failed", "it reads 99 after 100 was written")}
    assert state(place).entries[PRESSURE].ours == "99"
    write_tree(root, {"proc/sys/vm/vfs_cache_pressure": "77"})
    assert rolled_back(place, root) == {PRESSURE: ("left alone", "it has 77 instead of 99")}
    assert pressure(root) == "77"


def test_a_full_disk_does_not_keep_settings_from_going_back(
    root: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(journal: Journal, *records: object) -> None:
        if len(journal.state.entries) == 2:
            raise CannotRun("The journal cannot be written: No space left on device.")
        write(journal, *records)  # type: ignore[arg-type]

    write = Journal.write
    changes = plan(root, f"{NR}=64", f"{PRESSURE}=50", f"{SWAPPINESS}=1")
    monkeypatch.setattr(Journal, "write", full)
    with pytest.raises(CannotRun) as refused:
        apply(changes, place)
    assert "It stays open" in refused.value.remedy
    assert (nr_requests(root), pressure(root)) == ("256", "100")
    monkeypatch.undo()
    assert rolled_back(place, root) == {PRESSURE: ("already back", ""), NR: ("already back", "")}
    assert state(place).is_closed


def switch(settings: Applied, *texts: str) -> None:
    settings.switch(map(parse_assignment, texts))


def test_an_experiment_moves_between_values_and_ends_with_those_of_before(root: Path, place: Path) -> None:
    with applied([parse_assignment(f"{NR}=64")], place, root=root) as settings:
        assert (nr_requests(root), pressure(root)) == ("64", "100")
        switch(settings, f"{PRESSURE}=50")
        assert (nr_requests(root), pressure(root)) == ("256", "50")
        for number in range(10):
            switch(settings, f"{NR}={number + 1}", f"{PRESSURE}={number + 1}")
            assert (nr_requests(root), pressure(root)) == (str(number + 1), str(number + 1))
            assert settings.check() == []
        switch(settings)
        assert (nr_requests(root), pressure(root)) == ("256", "100")
        switch(settings, f"{NR}=64")
        write_tree(root, {"proc/sys/vm/swappiness": "1"})
    assert (nr_requests(root), pressure(root)) == ("256", "100")
    assert {result.name: result.outcome for result in settings.put_back} == {NR: "restored", PRESSURE: "already back"}
    assert state(place).is_closed


def test_a_value_that_is_shown_in_another_form_can_be_asked_for_again(
    root: Path, place: Path, refuse: Callable[..., None]
) -> None:
    refuse(PRESSURE, "0x30", "48")
    with applied([], place, root=root) as settings:
        for _ in range(3):
            switch(settings, f"{PRESSURE}=0x30", f"{NR}=64")
            switch(settings, f"{PRESSURE}=0x30")
            assert pressure(root) == "48"


def test_a_switch_that_is_refused_leaves_the_values_of_before(
    root: Path, place: Path, refuse: Callable[..., None]
) -> None:
    refuse(PRESSURE, "50")
    with applied([parse_assignment(f"{SWAPPINESS}=1")], place, root=root) as settings:
        with pytest.raises(CannotSet):
            switch(settings, f"{NR}=64", f"{PRESSURE}=50")
        assert (nr_requests(root), value(root, "proc/sys/vm/swappiness")) == ("256", "60")
        switch(settings, f"{PRESSURE}=40")
        assert pressure(root) == "40"
    assert pressure(root) == "100"


def test_a_switch_does_not_write_over_what_something_else_has_set(root: Path, place: Path) -> None:
    def experiment() -> None:
        with applied([parse_assignment(f"{PRESSURE}=50")], place, root=root) as settings:
            write_tree(root, {"proc/sys/vm/vfs_cache_pressure": "77"})
            switch(settings, f"{PRESSURE}=40")

    with pytest.raises(Drifted) as refused:
        experiment()
    assert f"{PRESSURE}: something else changed it from 50 to 77" in refused.value.message
    assert f"{PRESSURE} was left alone: it has 77 instead of 50." in refused.value.remedy
    assert pressure(root) == "77"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_puts_everything_back(root: Path, place: Path, number: int) -> None:
    reached = []

    def experiment() -> None:
        with applied([parse_assignment(f"{NR}=64")], place, root=root):
            os.kill(os.getpid(), number)
            reached.append("after the signal")

    before = signal.getsignal(number)
    with pytest.raises(CannotRun, match="Interrupted by SIG"):
        experiment()
    assert reached == []
    assert nr_requests(root) == "256"
    assert signal.getsignal(number) is before


def test_a_signal_during_a_trial_is_the_trials_first_and_ends_the_experiment_then(root: Path, place: Path) -> None:
    reached = []

    def experiment() -> None:
        with applied([parse_assignment(f"{NR}=64")], place, root=root) as settings:
            with Interruption() as trial:
                os.kill(os.getpid(), signal.SIGTERM)
                reached.append(f"end of the trial by {trial.name}")
            switch(settings, f"{NR}=32")
            reached.append("another trial")

    with pytest.raises(CannotRun, match="Interrupted by SIGTERM"):
        experiment()
    assert reached == ["end of the trial by SIGTERM"]
    assert nr_requests(root) == "256"


def test_a_signal_while_settings_are_changed_puts_them_back(
    root: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = FileInstance.write

    def interrupted(instance: FileInstance, value: str) -> None:
        if value == "50":
            os.kill(os.getpid(), signal.SIGTERM)
        write(instance, value)

    monkeypatch.setattr(FileInstance, "write", interrupted)
    with pytest.raises(CannotRun, match="Interrupted by SIGTERM") as refused:
        apply(plan(root, f"{NR}=64", f"{PRESSURE}=50"), place)
    assert refused.value.remedy == "All settings are as before."
    assert (nr_requests(root), pressure(root)) == ("256", "100")


def test_an_error_of_the_experiment_puts_everything_back_and_stays_what_it_is(root: Path, place: Path) -> None:
    with pytest.raises(ZeroDivisionError), applied([parse_assignment(f"{NR}=64")], place, root=root):
        raise ZeroDivisionError
    assert nr_requests(root) == "256"
    assert state(place).is_closed


def test_parameters_that_lustre_raises_along_go_back_along(
    root: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{lustre_programs(tmp_path / 'bin')}:/usr/bin:/bin")
    monkeypatch.setenv("LUSTRE_TREE", str(tmp_path / "tree"))
    osts = [f"osc.scratch-OST000{n}-osc-ff" for n in range(2)]
    tree = write_tree(
        tmp_path / "tree", {f"{ost}.{name}": "8" for ost in osts for name in ("max_rpcs_in_flight", "max_dirty_mb")}
    )
    write_tree(tree, {f"{ost}.max_dirty_mb": "32" for ost in osts})

    def values() -> list[str]:
        return [value(tree, f"{ost}.{name}") for ost in osts for name in ("max_rpcs_in_flight", "max_dirty_mb")]

    with applied([parse_assignment("lctl:osc.*.max_rpcs_in_flight=64")], place, root=root) as settings:
        assert values() == ["64", "256"] * 2
        switch(settings, "lctl:osc.*.max_rpcs_in_flight=16")
        assert values() == ["16", "64"] * 2
        switch(settings, "lctl:osc.*.max_rpcs_in_flight=16", "lctl:osc.*.max_dirty_mb=512")
        assert values() == ["16", "512"] * 2
        switch(settings, "lctl:osc.*.max_dirty_mb=512")
        assert values() == ["8", "512"] * 2
        switch(settings, "lctl:osc.*.max_rpcs_in_flight=16")
        assert values() == ["16", "64"] * 2
    assert values() == ["8", "32"] * 2


def test_the_users_commands_are_rolled_back_without_their_file(root: Path, place: Path, tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text("1\n")
    commands = {"raid": Command(get=f"cat {file}", set=f"echo {{value}} > {file}")}
    apply(plan_changes([parse_assignment("command:raid=2")], commands, root), place).close()
    assert file.read_text() == "2\n"
    assert rolled_back(place, root) == {"command:raid": ("restored", "")}
    assert file.read_text() == "1\n"


def test_a_value_unreadable_after_a_change_is_not_taken_for_unchanged(root: Path, place: Path, tmp_path: Path) -> None:
    file, broken = tmp_path / "value", tmp_path / "broken"
    file.write_text("1\n")
    raid = Command(get=f"test ! -e {broken} && cat {file}", set=f"echo {{value}} > {file}; touch {broken}")
    with pytest.raises(CannotRead) as refused:
        apply(plan_changes([parse_assignment("command:raid=2")], {"raid": raid}, root), place)
    assert "command:raid was not put back" in refused.value.remedy
    assert not state(place).is_closed
    broken.unlink()
    assert rolled_back(place, root)["command:raid"][0] == "failed"
    assert file.read_text() == "1\n"
    broken.unlink()
    assert rolled_back(place, root) == {"command:raid": ("already back", "")}


def test_an_unreadable_follower_goes_back_with_its_setting(
    root: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{lustre_programs(tmp_path / 'bin')}:/usr/bin:/bin")
    monkeypatch.setenv("LUSTRE_TREE", str(tmp_path / "tree"))
    ost = "osc.scratch-OST0000-osc-ff"
    tree = write_tree(tmp_path / "tree", {f"{ost}.max_rpcs_in_flight": "8", f"{ost}.max_dirty_mb": "32"})
    read_value = LctlInstance.read

    def failing(instance: LctlInstance) -> str:
        value = read_value(instance)
        if value == "256":
            raise CannotRead(f"{instance.name}: `lctl get_param` took longer than 30 s and was ended.")
        return value

    with monkeypatch.context() as context:
        context.setattr(LctlInstance, "read", failing)
        apply(plan(root, f"lctl:{ost}.max_rpcs_in_flight=64"), place).close()
    assert value(tree, f"{ost}.max_dirty_mb") == "256"
    assert {outcome for outcome, _ in rolled_back(place, root).values()} == {"restored"}
    assert value(tree, f"{ost}.max_dirty_mb") == "32"


def test_a_signal_at_any_line_of_an_experiment_puts_everything_back(root: Path, place: Path) -> None:
    def experiment(line: int) -> int:
        """Gets the signal before the line of that number; the number of lines."""
        count = 0

        def local(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal count
            if event == "line":
                count += 1
                if count == line:
                    os.kill(os.getpid(), signal.SIGTERM)
            return local

        def each_call(frame: FrameType, event: str, argument: object) -> Any:
            return local if frame.f_code.co_filename == apply_module.__file__ else None

        with Interruption(), contextlib.suppress(CannotRun):
            sys.settrace(each_call)
            try:
                with applied([parse_assignment(f"{NR}=64")], place, root=root):
                    pass
            finally:
                sys.settrace(None)
        return count

    lines = experiment(0)
    for line in range(1, lines + 1):
        experiment(line)
        assert nr_requests(root) == "256", f"line {line}"
        left = open_journals(place, root).states.values()
        assert [entry.name for state in left for entry in state.open_entries] == [], f"line {line}"
    assert lines > 50

"""Real settings: of a loop device that is gone afterwards and sysctls that are put back, with SIGKILL in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.testing.tuned_machine import loop_device, queue, remove_loop_device, set_queue, sysctls_kept
from ioassay.tuning.apply import applied, apply
from ioassay.tuning.change_plan import plan_changes
from ioassay.tuning.journal import Journal, journals, open_journals, read
from ioassay.tuning.rollback import PutBack, roll_back
from ioassay.tuning.settings import CannotSet, NotTaken, parse_assignment
from ioassay.tuning.settings.files import FileInstance
from ioassay.tuning.settings.mount import mounted_at

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("losetup") is None or not Path("/dev/loop-control").exists(),
        reason="needs root and loop devices",
    ),
]

DIRTY = ("vm.dirty_bytes", "vm.dirty_ratio", "vm.dirty_background_bytes", "vm.dirty_background_ratio")


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    with loop_device(tmp_path) as name:
        if "mq-deadline" not in Path(f"/sys/block/{name}/queue/scheduler").read_text():
            pytest.skip("the kernel has no mq-deadline")
        set_queue(name, "nr_requests", "100")
        yield name


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "journals"


@pytest.fixture
def sysctls() -> Iterator[None]:
    with sysctls_kept(*DIRTY, "vm.vfs_cache_pressure"):
        yield


def sysctl(name: str) -> str:
    return Path("/proc/sys", *name.split(".")).read_text().strip()


def values(device: str) -> dict[str, str]:
    """Every parameter of the queue."""
    texts = {}
    for path in sorted(Path(f"/sys/block/{device}/queue").rglob("*")):
        if path.is_file():
            try:
                texts[path.name] = path.read_text()
            except OSError:
                continue
    return texts


def put_back(place: Path) -> list[PutBack]:
    (path,) = open_journals(place).states
    with Journal.reopen(path) as journal:
        return roll_back(journal)


def test_the_queue_of_a_device_is_changed_and_put_back(device: str, place: Path) -> None:
    before = values(device)
    names = {"scheduler": "mq-deadline", "nr_requests": "64", "max_sectors_kb": "64", "read_ahead_kb": "1020"}
    names |= {"rq_affinity": "2", "nomerges": "2", "wbt_lat_usec": "0"}
    done = apply(
        plan_changes(parse_assignment(f"block:{device}/{name}={value}") for name, value in names.items()), place
    )
    done.close()
    assert {name: queue(device, name) for name in names} == names
    assert {result.outcome for result in put_back(place)} == {"restored"}
    assert values(device) == before


@pytest.mark.parametrize(
    ("assignment", "outcome"),
    [
        ("nr_requests=0", "made it 4"),
        ("nr_requests=1", "made it 4"),
        ("read_ahead_kb=1023", "made it 1020"),
        ("rq_affinity=7", "kept 1"),
        ("nomerges=9", "made it 1"),
        ("queue/iosched/read_expire=77", "made it 80"),
    ],
)
def test_a_value_that_the_kernel_clamps_or_rounds_is_refused_and_restored(
    device: str, place: Path, assignment: str, outcome: str
) -> None:
    set_queue(device, "scheduler", "mq-deadline")
    set_queue(device, "nr_requests", "100")
    before = values(device)
    with pytest.raises(NotTaken, match=f"the kernel {outcome}"):
        apply(plan_changes([parse_assignment(f"block:{device}/{assignment}")]), place)
    assert values(device) == before


def test_words_for_the_kernels_own_value_are_accepted_whatever_is_shown(device: str, place: Path) -> None:
    kernel_value = queue(device, "max_sectors_kb")
    set_queue(device, "max_sectors_kb", "64")
    names = [f"block:{device}/max_sectors_kb=0", f"block:{device}/wbt_lat_usec=-1"]
    apply(plan_changes(map(parse_assignment, names)), place).close()
    assert queue(device, "max_sectors_kb") == kernel_value
    put_back(place)
    assert queue(device, "max_sectors_kb") == "64"


@pytest.mark.parametrize("scheduler", ["mq-deadline", "kyber", "bfq"])
def test_a_scheduler_moves_other_settings_which_go_back_with_it(device: str, place: Path, scheduler: str) -> None:
    if scheduler not in Path(f"/sys/block/{device}/queue/scheduler").read_text():
        pytest.skip(f"the kernel has no {scheduler}")
    before = values(device)
    apply(plan_changes([parse_assignment(f"block:{device}/scheduler={scheduler}")]), place).close()
    assert queue(device, "nr_requests") != "100"
    put_back(place)
    assert values(device) == before


def test_settings_of_a_scheduler_go_back_with_it(device: str, place: Path) -> None:
    set_queue(device, "scheduler", "mq-deadline")
    set_queue(device, "iosched/read_expire", "200")
    before = values(device)
    apply(plan_changes([parse_assignment(f"block:{device}/scheduler=none")]), place).close()
    assert not Path(f"/sys/block/{device}/queue/iosched/read_expire").exists()
    put_back(place)
    assert values(device) == before
    assert queue(device, "iosched/read_expire") == "200"


def test_values_set_by_others_stay_when_the_scheduler_goes_back(device: str, place: Path) -> None:
    apply(plan_changes([parse_assignment(f"block:{device}/scheduler=mq-deadline")]), place).close()
    set_queue(device, "nr_requests", "33")
    outcomes = {result.name.rpartition("/")[2]: result.outcome for result in put_back(place)}
    assert outcomes["scheduler"] == "restored"
    assert outcomes["nr_requests"] == "left alone"
    assert (queue(device, "scheduler"), queue(device, "nr_requests")) == ("none", "33")


def test_a_value_that_the_kernel_refuses_puts_everything_back(device: str, place: Path) -> None:
    before = values(device)
    changes = plan_changes(
        map(parse_assignment, (f"block:{device}/read_ahead_kb=512", f"block:{device}/nr_requests=100000"))
    )
    with pytest.raises(CannotSet, match=r"nr_requests: Invalid argument \(EINVAL\)") as refused:
        apply(changes, place)
    assert refused.value.remedy.endswith("All settings are as before.")
    assert values(device) == before
    (path,) = journals(place)
    assert read(path)[0].is_closed


@pytest.mark.usefixtures("sysctls")
def test_a_device_that_is_removed_half_way_is_named_and_the_rest_put_back(device: str, place: Path) -> None:
    pressure = sysctl("vm.vfs_cache_pressure")

    def experiment() -> None:
        texts = (f"block:{device}/nr_requests=64", "sysctl:vm.vfs_cache_pressure=90")
        with applied(map(parse_assignment, texts), place) as settings:
            remove_loop_device(device)
            assert [drift.now for drift in settings.check()] == [None]
            settings.switch([])

    with pytest.raises(CannotRun, match="nr_requests: it is gone") as refused:
        experiment()
    assert f"block:{device}/nr_requests was left alone: it is gone" in refused.value.remedy
    assert sysctl("vm.vfs_cache_pressure") == pressure


def test_a_device_that_is_removed_while_it_is_set_puts_the_rest_back(
    device: str, place: Path, sysctls: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressure = sysctl("vm.vfs_cache_pressure")
    changes = plan_changes(map(parse_assignment, ("sysctl:vm.vfs_cache_pressure=90", f"block:{device}/nr_requests=64")))
    write = FileInstance.write

    def removing(instance: FileInstance, value: str) -> None:
        if value == "64":
            remove_loop_device(device)
        write(instance, value)

    monkeypatch.setattr(FileInstance, "write", removing)
    with pytest.raises(CannotRun, match=r"nr_requests: .* is not there: No such file or directory"):
        apply(changes, place)
    assert sysctl("vm.vfs_cache_pressure") == pressure


def test_another_file_behind_the_same_device_is_another_device(device: str, place: Path, tmp_path: Path) -> None:
    apply(plan_changes([parse_assignment(f"block:{device}/nr_requests=64")]), place).close()
    (tmp_path / "other").write_bytes(b"\0" * (1 << 20))
    subprocess.run(["losetup", "--detach", f"/dev/{device}"], check=True)
    deadline = time.monotonic() + 10
    while Path(f"/sys/block/{device}/loop/backing_file").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    subprocess.run(["losetup", f"/dev/{device}", tmp_path / "other"], check=True)
    (result,) = put_back(place)
    assert (result.outcome, result.why) == ("left alone", "another device has this name now")


@pytest.mark.usefixtures("sysctls")
@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("vm.dirty_bytes", "100000000", "vm.dirty_ratio"),
        ("vm.dirty_background_bytes", "50000000", "vm.dirty_background_ratio"),
    ],
)
def test_the_sysctl_that_was_not_0_is_written_back_of_an_exclusive_pair(
    place: Path, name: str, value: str, other: str
) -> None:
    before = {name: sysctl(name) for name in DIRTY}
    if before[name] != "0":
        pytest.skip(f"{name} is set on this machine")
    apply(plan_changes([parse_assignment(f"sysctl:{name}={value}")]), place).close()
    assert (sysctl(name), sysctl(other)) == (value, "0")
    assert {result.outcome for result in put_back(place)} == {"restored"}
    assert {name: sysctl(name) for name in DIRTY} == before


@pytest.mark.usefixtures("sysctls")
def test_the_pair_goes_back_also_from_the_ratio_to_the_bytes(place: Path) -> None:
    Path("/proc/sys/vm/dirty_bytes").write_text("100000000")
    apply(plan_changes([parse_assignment("sysctl:vm.dirty_ratio=30")]), place).close()
    assert (sysctl("vm.dirty_bytes"), sysctl("vm.dirty_ratio")) == ("0", "30")
    put_back(place)
    assert (sysctl("vm.dirty_bytes"), sysctl("vm.dirty_ratio")) == ("100000000", "0")


@pytest.mark.usefixtures("sysctls")
def test_the_pair_is_left_alone_where_something_else_has_set_one_of_them(place: Path) -> None:
    if sysctl("vm.dirty_ratio") == "0":
        pytest.skip("vm.dirty_bytes is set on this machine")
    apply(plan_changes([parse_assignment("sysctl:vm.dirty_bytes=100000000")]), place).close()
    Path("/proc/sys/vm/dirty_bytes").write_text("90000000")
    assert {result.outcome for result in put_back(place)} == {"left alone"}
    assert (sysctl("vm.dirty_bytes"), sysctl("vm.dirty_ratio")) == ("90000000", "0")


@pytest.mark.usefixtures("sysctls")
def test_an_experiment_moves_between_ratio_and_bytes(place: Path) -> None:
    before = {name: sysctl(name) for name in DIRTY}
    if before["vm.dirty_ratio"] == "0":
        pytest.skip("vm.dirty_bytes is set on this machine")
    with applied([], place) as settings:
        for text in ("dirty_ratio=30", "dirty_bytes=100000000", "dirty_ratio=25", "dirty_bytes=90000000"):
            settings.switch([parse_assignment(f"sysctl:vm.{text}")])
            name, _, value = text.partition("=")
            assert sysctl(f"vm.{name}") == value
            assert settings.check() == []
        settings.switch([])
        assert {name: sysctl(name) for name in DIRTY} == before
    assert {name: sysctl(name) for name in DIRTY} == before


@pytest.mark.usefixtures("sysctls")
def test_an_experiment_goes_back_to_a_pair_that_was_0_and_0(place: Path) -> None:
    if sysctl("vm.dirty_background_ratio") == "0":
        pytest.skip("vm.dirty_background_bytes is set on this machine")
    Path("/proc/sys/vm/dirty_background_ratio").write_text("0")
    with applied([], place) as settings:
        for text in ("bytes=50000000", "ratio=5"):
            settings.switch([parse_assignment(f"sysctl:vm.dirty_background_{text}")])
            settings.switch([])
            assert (sysctl("vm.dirty_background_bytes"), sysctl("vm.dirty_background_ratio")) == ("0", "0")


def test_the_same_trial_has_the_same_values_whatever_came_before_it(device: str, place: Path) -> None:
    before = values(device)
    seen = []
    scheduler = f"block:{device}/scheduler=mq-deadline"
    with applied([], place) as settings:
        for texts in ((scheduler,), (scheduler, f"block:{device}/nr_requests=64"), (scheduler,), (), (scheduler,)):
            settings.switch(map(parse_assignment, texts))
            seen.append(queue(device, "nr_requests"))
    assert seen == ["256", "64", "256", "100", "256"]
    assert values(device) == before


_KILLED = """
import os, signal, sys
from pathlib import Path
from ioassay.tuning.apply import applied
from ioassay.tuning.settings import parse_assignment
from ioassay.tuning.settings.files import FileInstance
from ioassay.tuning.settings.mount import mounted_at

place, die_at, *trials = sys.argv[1:]
write, count = FileInstance.write, 0

def dying(instance, value):
    global count
    count += 1
    if count == int(die_at):
        os.kill(os.getpid(), signal.SIGKILL)
    write(instance, value)

def dying_after(instance, value):
    global count
    count += 1
    write(instance, value)
    if count == -int(die_at):
        os.kill(os.getpid(), signal.SIGKILL)

FileInstance.write = dying if int(die_at) > 0 else dying_after
with applied([], Path(place)) as settings:
    for trial in trials:
        settings.switch(map(parse_assignment, trial.split()))
"""


@pytest.mark.usefixtures("sysctls")
@pytest.mark.parametrize("line", [*range(1, 14), *range(-13, 0)])
def test_kill_9_at_any_write_of_an_experiment_leaves_what_a_rollback_puts_back(
    device: str, place: Path, line: int
) -> None:
    """Positive: just before the write of that number; negative: just after it, before the journal knows."""
    before = values(device), {name: sysctl(name) for name in (*DIRTY, "vm.vfs_cache_pressure")}
    queue_ = f"block:{device}"
    trials = [
        f"{queue_}/scheduler=mq-deadline {queue_}/nr_requests=64 sysctl:vm.vfs_cache_pressure=90",
        f"{queue_}/scheduler=mq-deadline {queue_}/read_ahead_kb=1020 sysctl:vm.dirty_bytes=100000000",
        f"{queue_}/max_sectors_kb=64 sysctl:vm.vfs_cache_pressure=80",
    ]
    killed = subprocess.run([sys.executable, "-c", _KILLED, place, str(line), *trials], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    results = put_back(place)
    assert {result.outcome for result in results} <= {"restored", "already back"}, results
    assert (values(device), {name: sysctl(name) for name in (*DIRTY, "vm.vfs_cache_pressure")}) == before
    assert open_journals(place).states == {}


@pytest.mark.usefixtures("sysctls")
@pytest.mark.parametrize("line", [1, 2, 3, -1, -2, -3])
def test_kill_9_at_any_write_of_a_rollback_is_repaired_by_the_next_one(device: str, place: Path, line: int) -> None:
    before = values(device)
    texts = (
        f"block:{device}/scheduler=mq-deadline",
        f"block:{device}/read_ahead_kb=512",
        "sysctl:vm.vfs_cache_pressure=90",
    )
    pressure = sysctl("vm.vfs_cache_pressure")
    apply(plan_changes(map(parse_assignment, texts)), place).close()
    program = _KILLED.partition("with applied")[0] + (
        "from ioassay.tuning.journal import Journal, open_journals\n"
        "from ioassay.tuning.rollback import roll_back\n"
        "roll_back(Journal.reopen(next(iter(open_journals(Path(place)).states))))\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, place, str(line)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert {result.outcome for result in put_back(place)} <= {"restored", "already back"}
    assert values(device) == before
    assert sysctl("vm.vfs_cache_pressure") == pressure


def test_sigterm_to_an_experiment_puts_everything_back(device: str, place: Path) -> None:
    before = values(device)
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom ioassay.tuning.apply import applied\n"
        "from ioassay.tuning.settings import parse_assignment\n"
        "with applied(map(parse_assignment, sys.argv[2:]), Path(sys.argv[1])):\n    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, place, f"block:{device}/scheduler=mq-deadline"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert queue(device, "scheduler") == "mq-deadline"
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert "Interrupted by SIGTERM." in errors
    assert values(device) == before


def test_settings_go_back_when_the_disk_is_full(device: str, tmp_path: Path) -> None:
    before = values(device)
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k", "none", place], check=True)
    try:
        (place / "filler").write_bytes(b"\0" * 4096)  # a page for the lock, and one for the first lines
        texts = [
            f"block:{device}/{setting}"
            for setting in ("nr_requests=64", "read_ahead_kb=512", "rq_affinity=2", "nomerges=2")
        ]
        with pytest.raises(CannotRun, match="cannot be written: No space left on device") as refused:
            apply(plan_changes(map(parse_assignment, texts)), place, command=["x" * 3000])
        assert values(device) == before
        (path,) = open_journals(place).states
        assert f"ioassay tune rollback {path.stem}" in refused.value.remedy
        assert [entry.name for entry in read(path)[0].open_entries][:1] == [f"block:{device}/nr_requests"]
        (place / "filler").unlink()
        assert {result.outcome for result in put_back(place)} == {"already back"}
        assert open_journals(place).states == {}
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("name", ["block:zram0/read_ahead_kb=256", "sys:kernel/mm/transparent_hugepage/defrag=never"])
def test_other_files_of_the_kernel_are_changed_and_put_back(place: Path, name: str) -> None:
    try:
        changes = plan_changes([parse_assignment(name)])
    except UsageError:
        pytest.skip("this kernel does not have it")
    before = changes.steps[0].now
    if before == changes.steps[0].wanted:
        pytest.skip("it has the value already")
    try:
        apply(changes, place).close()
        assert changes.steps[0].instance.read() == changes.steps[0].wanted
        assert [result.outcome for result in put_back(place)] == ["restored"]
        assert changes.steps[0].instance.read() == before
    finally:
        if changes.steps[0].instance.read() != before:
            changes.steps[0].instance.write(before)


@contextmanager
def mounted(place: Path, kind: str, options: str) -> Iterator[Path]:
    """A file system of its own, and where it is mounted."""
    if shutil.which(f"mkfs.{kind}") is None or kind not in Path("/proc/filesystems").read_text():
        pytest.skip(f"needs {kind}")
    point = place / "mounted"
    point.mkdir()
    with loop_device(place, 256 << 20) as name:
        subprocess.run([f"mkfs.{kind}", "-q", f"/dev/{name}"], check=True, capture_output=True)
        subprocess.run(["mount", "-o", options, f"/dev/{name}", point], check=True)
        try:
            yield point
        finally:
            subprocess.run(["umount", point], check=True)


def options_of(point: Path) -> dict[str, str]:
    mount = mounted_at(str(point), Path("/"))
    assert mount is not None
    return mount.options


@pytest.mark.parametrize(
    ("before", "assignment"),
    [
        ("compress=zstd:1", "nodatacow=on"),
        ("compress=no", "nodatacow=on"),
        ("compress=no", "compress=zstd"),
        ("nodatacow", "compress=lzo"),
        ("nodatacow", "nodatasum=off"),
        ("compress=zstd:1", "compress-force=zlib"),
    ],
)
def test_options_of_btrfs_that_bring_or_end_others_go_back_with_them(
    place: Path, tmp_path: Path, before: str, assignment: str
) -> None:
    with mounted(tmp_path, "btrfs", before) as point:
        known = options_of(point)
        apply(plan_changes([parse_assignment(f"mount:{point}/{assignment}")]), place).close()
        assert options_of(point) != known
        assert "failed" not in {result.outcome for result in put_back(place)}
        assert options_of(point) == known


def test_another_option_does_not_change_when_access_times_are_written(place: Path, tmp_path: Path) -> None:
    with mounted(tmp_path, "ext4", "strictatime") as point:
        known = options_of(point)
        assert "relatime" not in known
        apply(plan_changes([parse_assignment(f"mount:{point}/nodiratime=on")]), place).close()
        assert options_of(point) == {**known, "nodiratime": "present"}
        put_back(place)
        assert options_of(point) == known


def test_a_device_without_schedulers_says_so(place: Path) -> None:
    if not Path("/sys/block/zram0/queue").is_dir():
        pytest.skip("no zram device")
    with pytest.raises(UsageError, match=r"scheduler: no such parameter|no such choice; use `none`"):
        plan_changes([parse_assignment("block:zram0/scheduler=mq-deadline")])

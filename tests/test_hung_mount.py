"""A target with an unresponsive server: every command ends within seconds, reports it, and names possible leftovers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ioassay import mounts
from ioassay.errors import CannotRun
from ioassay.store.run_directory import read_document
from ioassay.testing.hung_mount import FILE_SYSTEM, SOURCE, HungMount, hung_mount

from .support import LONG, Command, Measurement, ioassay, study, until, workload

ENDS_S = 60
"""Far more than the allowed ten seconds, because the machine may be busy."""


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., HungMount]]:
    """Mounts, as many as are asked for, on which operations hang."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        pytest.skip("a mount takes root and /dev/fuse")
    with ExitStack() as stack:

        def do(*operations: str) -> HungMount:
            point = tmp_path / "hung"
            point.mkdir()
            return stack.enter_context(hung_mount(point, *operations))

        yield do


def end_of(command: Command) -> tuple[int, str, str]:
    """The result of a command, which ends although calls on the mount do not."""
    out, err = command.process.communicate(timeout=ENDS_S)
    return command.process.returncode, out, err


def says(printed: str, mount: HungMount) -> bool:
    """True if it names the mount with its file system and its source."""
    return all(word in printed for word in (str(mount.point), SOURCE, FILE_SYSTEM))


@pytest.mark.parametrize("operation", ["getattr", "lookup", "statfs", "opendir"])
def test_a_hanging_path_is_checked_by_a_child_process_that_is_abandoned(
    mounted: Callable[..., HungMount], operation: str, tmp_path: Path
) -> None:
    mount = mounted(operation)
    link = tmp_path / "link"
    link.symlink_to(mount.point)
    ask = {
        "getattr": lambda: os.stat(link),
        "lookup": lambda: os.stat(link / "x"),
        "statfs": lambda: os.statvfs(link),
        "opendir": lambda: os.listdir(link),
    }[operation]
    with pytest.raises(CannotRun) as refused:
        mounts.ask(link, ask, limit_s=0.5)
    assert str(link) in refused.value.message
    assert says(refused.value.message, mount)


def test_a_responsive_path_returns_its_result_or_its_error(tmp_path: Path) -> None:
    assert mounts.ask(tmp_path, lambda: list(tmp_path.iterdir())) == []
    with pytest.raises(FileNotFoundError, match="nowhere"):
        mounts.ask(tmp_path, lambda: os.stat(tmp_path / "nowhere"))


@pytest.mark.parametrize("operation", ["getattr", "lookup", "statfs"])
def test_a_run_on_a_mount_that_hangs_is_refused(
    mounted: Callable[..., HungMount], operation: str, tmp_path: Path
) -> None:
    mount = mounted(operation)
    file, out = study(tmp_path, workload("w")), tmp_path / "run"
    code, _, err = end_of(Command(["run", file, "--target", mount.point, "--out", out]))
    assert code == 3
    assert "has not responded" in err
    assert says(err, mount), err
    assert not out.exists()


def test_a_run_directory_on_a_mount_that_hangs_is_refused(
    mounted: Callable[..., HungMount], target: Path, tmp_path: Path
) -> None:
    mount = mounted("lookup")
    file = study(tmp_path, workload("w"))
    code, _, err = end_of(Command(["run", file, "--target", target, "--out", mount.point / "run"]))
    assert code == 3
    assert says(err, mount), err


def test_a_signal_ends_a_run_that_waits_for_its_target_at_once(
    mounted: Callable[..., HungMount], tmp_path: Path
) -> None:
    mount = mounted("getattr")
    file = study(tmp_path, workload("w"))
    command = Command(["run", file, "--target", mount.point, "--out", tmp_path / "run"])
    until(mount.waiting, "the target to be asked")
    command.process.send_signal(signal.SIGINT)
    code, _, err = end_of(command)
    assert (code, "Traceback" in err, "has not responded" in err) == (3, False, False)


@pytest.mark.parametrize("operation", ["mkdir", "create", "write", "fsync", "unlink", "rmdir"])
def test_a_signal_ends_a_run_whose_target_has_begun_to_hang_and_what_may_remain_is_named(
    mounted: Callable[..., HungMount], operation: str, tmp_path: Path
) -> None:
    mount = mounted(operation)
    file, run = study(tmp_path, workload("w")), tmp_path / "run"
    command = Command(["run", file, "--target", mount.point, "--out", run])
    until(lambda: operation in mount.waiting() or command.process.poll() is not None, "the run to hang")
    command.process.send_signal(signal.SIGTERM)
    code, _, err = end_of(command)
    assert code == 3, err
    workspace = mount.point / f"ioassay-{read_document(run).run}"
    assert f"Left on the target: {workspace}" in err
    assert read_document(run).leftovers == [str(workspace)]

    # While it hangs, not even SIGKILL ends the engine, and it still has the run.
    code, out, err = end_of(Command(["clean", run]))
    assert (code, out) == (2, ""), err
    assert f"{run} is in use by an engine" in err
    assert read_document(run).leftovers == [str(workspace)]

    # The hung call finishes now: the directory appears, and is found.
    mount.answer()
    until(lambda: not mount.waiting(), "what hung to be answered")
    until(lambda: ioassay("clean", run)[0] == 0, "the run to be cleaned")
    assert list(mount.point.iterdir()) == []
    assert read_document(run).leftovers == []


@pytest.mark.parametrize("operation", ["getattr", "lookup", "unlink", "rmdir", "readdir", "opendir"])
def test_clean_of_a_mount_that_hangs_ends_and_names_what_remains(
    mounted: Callable[..., HungMount], operation: str, tmp_path: Path
) -> None:
    mount = mounted()
    measurement = Measurement(study(tmp_path, LONG), mount.point, tmp_path / "run")
    measurement.until_moving()
    engine = measurement.engine
    os.kill(engine, signal.SIGSTOP)
    os.kill(measurement.pid, signal.SIGKILL)
    os.kill(engine, signal.SIGKILL)
    measurement.end()
    (workspace,) = mount.point.iterdir()
    mount.hang(operation)
    code, out, err = end_of(Command(["clean", measurement.out]))
    assert code == 3, out + err
    assert str(workspace) in out
    assert says(out, mount), out
    mount.answer()
    until(lambda: ioassay("clean", measurement.out)[0] == 0, "the run to be cleaned")
    assert list(mount.point.iterdir()) == []


@pytest.mark.parametrize("operation", ["getattr", "lookup", "statfs", "mkdir", "create", "write", "fsync", "unlink"])
def test_doctor_shows_a_target_that_hangs_and_goes_on(
    mounted: Callable[..., HungMount], operation: str, tmp_path: Path
) -> None:
    mount = mounted(operation)
    code, out, err = end_of(Command(["doctor", "--json", "--target", mount.point], tmp_path))
    assert code == 1, err
    (site,) = json.loads(out)["sites"]
    checks = {check["check"]: check for check in site["checks"]}
    assert {"target", "left behind"} & {name for name, check in checks.items() if check["status"] == "failed"}
    assert checks["processors"]["status"] == "ok", "other checks go on"
    assert str(mount.point) in "".join(check["seen"] for check in checks.values() if check["status"] == "failed")


def test_doctor_shows_a_hanging_directory_for_runs_and_continues(
    mounted: Callable[..., HungMount], target: Path, tmp_path: Path
) -> None:
    mount = mounted("mkdir")
    command = Command(["doctor", "--json", "--target", target, "--out", mount.point / "runs"], tmp_path)
    code, out, err = end_of(command)
    assert code == 1, err
    (site,) = json.loads(out)["sites"]
    checks = {check["check"]: check for check in site["checks"]}
    assert [name for name, check in checks.items() if check["status"] == "failed"] == ["run directory"]
    assert says(checks["run directory"]["seen"], mount)
    assert checks["target"]["status"] == "ok"


def test_a_mount_that_a_test_leaves_does_not_stay(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        pytest.skip("a mount takes root and /dev/fuse")
    with hung_mount(tmp_path, "getattr") as mount:
        stuck = subprocess.Popen(["stat", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(mount.waiting, "it to hang")
        stuck.kill()
        time.sleep(0.1)
        assert stuck.poll() is None, "not even SIGKILL ends it"
    stuck.wait(timeout=ENDS_S)
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()

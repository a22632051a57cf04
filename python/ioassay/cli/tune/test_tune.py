"""`ioassay tune apply | verify | rollback` as they are typed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioassay.testing.tuned_machine import loop_device, queue, set_queue, sysctls_kept

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(), reason="needs root and loop devices"
    ),
]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    with loop_device(tmp_path) as name:
        yield name


@pytest.fixture
def tune(tmp_path: Path) -> Tune:
    return Tune(tmp_path / "journals")


class Tune:
    """The command, with a directory of journals of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def words(self, command: str, *words: str) -> list[str]:
        return [sys.executable, "-m", "ioassay", "tune", command, *words, "--journal", str(self.place)]

    def __call__(self, command: str, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.words(command, *words),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=120,
            env=os.environ | {"COLUMNS": "200"},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done


def test_settings_are_shown_applied_verified_and_put_back(device: str, tune: Tune) -> None:
    before = queue(device, "nr_requests"), queue(device, "read_ahead_kb")
    texts = (f"block:{device}/nr_requests=64", f"block:{device}/read_ahead_kb=1020")
    done = tune("apply", *texts, "--yes", "--settle", "100ms")
    assert f"block:{device}/nr_requests" in done.stdout
    assert "Risk (nr-requests): " in done.stdout
    assert "Risk (read-ahead-kb): " in done.stdout
    assert "All settings are unchanged after 100ms." in done.stderr
    assert "These settings do not survive a reboot; to write files that do: --persist /" in done.stderr
    assert (queue(device, "nr_requests"), queue(device, "read_ahead_kb")) == ("64", "1020")
    assert "drifted" not in tune("verify").stdout
    set_queue(device, "nr_requests", "33")
    assert "drifted" in tune("verify", code=1).stdout
    (entry,) = (
        setting for setting in json.loads(tune("verify", "--json", code=1).stdout)["settings"] if setting["drifted"]
    )
    assert (entry["setting"], entry["applied"], entry["now"]) == (texts[0].partition("=")[0], "64", "33")
    set_queue(device, "nr_requests", "64")
    assert tune("rollback").stdout.count("restored") == 2
    assert (queue(device, "nr_requests"), queue(device, "read_ahead_kb")) == before
    assert "Nothing to put back" in tune("rollback").stdout
    assert "Nothing is applied" in tune("verify").stdout


def test_apply_without_a_terminal_or_yes_changes_nothing(device: str, tune: Tune) -> None:
    done = tune("apply", f"block:{device}/nr_requests=64", code=2)
    assert "Nothing was changed" in done.stderr
    assert "64" in done.stdout
    assert queue(device, "nr_requests") == "128"
    assert not tune.place.exists()


def test_a_dry_run_shows_everything_and_changes_nothing(device: str, tune: Tune) -> None:
    done = tune("apply", f"block:{device}/scheduler=mq-deadline", "--dry-run", "--persist", "/", "--json")
    document = json.loads(done.stdout)
    assert document["journal"] is None
    assert document["changes"][0]["moves"][0]["setting"] == f"block:{device}/nr_requests"
    assert document["changes"][0]["rule"] == "scheduler"
    assert document["changes"][0]["risk"]
    assert document["files"][0]["path"].startswith("/etc/udev/rules.d/90-ioassay-tuning-")
    assert queue(device, "scheduler") == "none"
    assert not tune.place.exists()


def test_a_value_that_harms_any_node_is_named_before_it_is_set(device: str, tune: Tune) -> None:
    done = tune("apply", f"block:{device}/nr_requests=8", f"block:{device}/read_ahead_kb=512", "--dry-run")
    assert f"Harmful on any node: block:{device}/nr_requests=8: the device has no more requests" in done.stdout
    assert done.stdout.count("Harmful") == 1
    document = json.loads(tune("apply", f"block:{device}/nr_requests=8", "--dry-run", "--json").stdout)
    assert document["changes"][0]["harmful"].endswith("keep it at least 16")


@pytest.mark.parametrize(("answer", "expected"), [("y", "64"), ("n", "128")])
def test_a_terminal_is_asked(device: str, tune: Tune, answer: str, expected: str) -> None:
    master, slave = pty.openpty()
    words = tune.words("apply", f"block:{device}/nr_requests=64", "--settle", "0")
    process = subprocess.Popen(words, stdin=slave, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(slave)
    os.write(master, f"{answer}\n".encode())
    _, errors = process.communicate(timeout=60)
    os.close(master)
    assert b"Change 1 setting?" in errors
    assert queue(device, "nr_requests") == expected
    assert process.returncode == (0 if answer == "y" else 2)


def test_a_value_that_the_kernel_refuses_is_an_error_and_all_is_as_before(device: str, tune: Tune) -> None:
    texts = (f"block:{device}/read_ahead_kb=512", f"block:{device}/nr_requests=100000")
    before = queue(device, "read_ahead_kb")
    done = tune("apply", *texts, "--yes", code=3)
    assert "Invalid argument (EINVAL)" in done.stderr
    assert "All settings are as before." in done.stderr
    assert queue(device, "read_ahead_kb") == before


def test_a_value_that_the_kernel_changes_is_an_error_and_restored(device: str, tune: Tune) -> None:
    texts = (f"block:{device}/read_ahead_kb=512", f"block:{device}/nr_requests=0")
    before = queue(device, "read_ahead_kb"), queue(device, "nr_requests")
    done = tune("apply", *texts, "--yes", code=3)
    message = f"block:{device}/nr_requests: asked 0, the kernel made it 4: restored to {before[1]}."
    assert message in " ".join(done.stderr.split())
    assert "All settings are as before." in done.stderr
    assert (queue(device, "read_ahead_kb"), queue(device, "nr_requests")) == before


def test_ctrl_c_while_it_waits_keeps_the_settings_and_says_how_to_put_them_back(device: str, tune: Tune) -> None:
    words = tune.words("apply", f"block:{device}/nr_requests=64", "--yes", "--settle", "60s")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "Waiting 60 s" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "The settings stay as they are. Put back with: ioassay tune rollback 2" in errors
    assert queue(device, "nr_requests") == "64"
    tune("rollback")
    assert queue(device, "nr_requests") == "128"


def test_kill_9_in_the_middle_of_an_apply_is_undone_by_rollback(device: str, tune: Tune, tmp_path: Path) -> None:
    (tmp_path / "value").write_text("1\n")
    (tmp_path / "commands.yaml").write_text(
        f"commands:\n  slow:\n    get: cat {tmp_path}/value\n    set: echo {{value}} > {tmp_path}/value; sleep 1\n"
    )
    texts = (f"block:{device}/scheduler=mq-deadline", "command:slow=2", f"block:{device}/nr_requests=64")
    words = tune.words("apply", *texts, "--commands", str(tmp_path / "commands.yaml"), "--yes")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while (tmp_path / "value").read_text() != "2\n":
        assert process.poll() is None
    process.kill()
    process.wait()
    assert queue(device, "scheduler") == "mq-deadline"
    assert "apply was interrupted" in tune("verify", code=1).stdout
    assert tune("rollback").stdout.count("restored") >= 2
    assert (queue(device, "scheduler"), queue(device, "nr_requests")) == ("none", "128")
    assert (tmp_path / "value").read_text() == "1\n"


def test_several_open_journals_are_named_and_all_go_back_the_newest_first(device: str, tune: Tune) -> None:
    for value in ("64", "32"):
        tune("apply", f"block:{device}/nr_requests={value}", "--yes", "--settle", "0")
    refused = tune("rollback", code=2)
    assert "2 journals are open" in refused.stderr
    document = json.loads(tune("rollback", "--all", "--json").stdout)
    assert [[result["outcome"] for result in results] for results in document["journals"].values()] == [
        ["restored"]
    ] * 2
    assert queue(device, "nr_requests") == "128"


def test_a_setting_that_something_else_changed_makes_the_exit_code_1(device: str, tune: Tune) -> None:
    tune("apply", f"block:{device}/nr_requests=64", "--yes", "--settle", "0")
    set_queue(device, "nr_requests", "33")
    done = tune("rollback", code=1)
    assert "left alone" in done.stdout
    assert queue(device, "nr_requests") == "33"


def test_a_damaged_journal_is_named_with_its_line(device: str, tune: Tune) -> None:
    tune("apply", f"block:{device}/nr_requests=64", "--yes", "--settle", "0")
    (path,) = tune.place.glob("*.jsonl")
    with path.open("a") as file:
        file.write("damaged\n")
    for command in (("rollback",), ("rollback", "--all"), ("rollback", path.stem), ("verify",)):
        assert f"{path}:4: not JSON" in tune(*command, code=2).stderr


def test_persistent_files_are_written_and_removed(device: str, tune: Tune, tmp_path: Path) -> None:
    with sysctls_kept("vm.vfs_cache_pressure"):
        texts = (f"block:{device}/nr_requests=64", "sysctl:vm.vfs_cache_pressure=90")
        done = tune("apply", *texts, "--yes", "--settle", "0", "--persist", str(tmp_path / "system"))
        assert "vm.vfs_cache_pressure = 90" in done.stdout
        written = [path for path in (tmp_path / "system").rglob("*") if path.is_file()]
        assert len(written) == 2
        tune("rollback")
        assert not (tmp_path / "system").exists()


def test_the_users_own_commands_are_settings(tune: Tune, tmp_path: Path) -> None:
    (tmp_path / "value").write_text("1\n")
    (tmp_path / "commands.yaml").write_text(
        f"commands:\n  raid:\n    get: cat {tmp_path}/value\n    set: echo {{value}} > {tmp_path}/value\n"
    )
    tune("apply", "command:raid=2", "--commands", str(tmp_path / "commands.yaml"), "--yes", "--settle", "0")
    assert (tmp_path / "value").read_text() == "2\n"
    (tmp_path / "commands.yaml").unlink()
    tune("rollback")
    assert (tmp_path / "value").read_text() == "1\n"


def test_apply_without_the_rights_changes_nothing(device: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "ioassay", "tune", "apply", f"block:{device}/nr_requests=64", "--yes"]
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 3, done.stderr
    assert "Permission denied (EACCES)" in done.stderr
    assert "Run as root." in done.stderr
    assert queue(device, "nr_requests") == "128"

"""A lab from its start to its end: use, disconnected hosts, interruptions; nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ioassay.errors import CannotRun
from ioassay.lab import record
from ioassay.lab.library import LABS, read
from ioassay.lab.namespaces import HOST, LAB, Nursery, recognized
from ioassay.lab.running import running
from ioassay.lab.site import Host
from ioassay.lab.up import LOCKS
from ioassay.store.run_directory import load

from .support import DEADLINE_S, LONG, Measurement, ioassay, measure, skip_without, study, until, up, workload

pytestmark = pytest.mark.machine

NAME = f"test-{os.getpid()}"
MOUNT = "/run/ioassay/mnt/gluster"


def traces() -> dict[str, object]:
    """The state of the machine in which a lab could leave something."""

    def lines_of(*command: str) -> list[str]:
        return sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())

    return {
        "processes": sorted(lab[0] for pid in psutil.pids() for what in (LAB, HOST) if (lab := recognized(what, pid))),
        "mounts": sorted(Path("/proc/mounts").read_text().splitlines()),
        "loop devices": lines_of("losetup", "--all"),
        "links": lines_of("ip", "-oneline", "link"),
        "namespaces": len(_network_namespaces()),
        "listening": lines_of("ss", "--no-header", "--listening", "--tcp", "--udp", "--numeric"),
        "files": [sorted(Path(place).glob("*")) for place in ("/run", "/var/tmp", "/var/log", "/var/lib/glusterd")],
    }


def _network_namespaces() -> set[str]:
    """Those of all processes. `lsns` fails where a process ends while it looks."""
    namespaces = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            namespaces.add(os.readlink(link))
    return namespaces


@pytest.fixture
def untouched() -> Iterator[dict[str, object]]:
    """The machine before a test, which it must be again after it; but for the empty file in which labs are locked."""
    LOCKS.touch(0o600)
    before = traces()
    yield before
    until(lambda: traces() == before, f"{traces()} to be {before}")


@pytest.fixture(scope="module")
def gluster() -> Iterator[str]:
    """GlusterFS for two hosts, with ssh and slow links. Its name."""
    with up("gluster", f"{NAME}-gluster", "--hosts", "2", "--link", "100Mbit") as name:
        yield name


@pytest.fixture
def passing(untouched: dict[str, object]) -> Iterator[str]:
    """A lab that a test may end. Its name."""
    with up("xfs", NAME) as name:
        yield name


def on(lab: str, *command: str) -> tuple[int, str, str]:
    return ioassay("lab", "exec", lab, *command)


def test_hosts_have_names_addresses_ssh_and_memory_of_their_own_and_share_the_storage(gluster: str) -> None:
    client1, client2 = f"{gluster}/client1", f"{gluster}/client2"
    assert on(client1, "ssh", "client2", "hostname") == (0, "client2\n", "")
    assert on(client1, "sh", "-c", f"echo shared > {MOUNT}/file; echo own > /dev/shm/file")[0] == 0
    assert on(client2, "cat", f"{MOUNT}/file")[1] == "shared\n"
    assert on(client2, "cat", "/dev/shm/file")[0] == 1
    assert on(client2, "cat", "/run/ioassay/hosts")[1] == "client1\nclient2\n"
    assert on(client1, "sh", "-c", f"rm {MOUNT}/file; exit 7")[0] == 7


def test_a_disconnected_host_is_not_reached_until_it_is_healed(gluster: str) -> None:
    reach = ("ssh", "-o", "ConnectTimeout=1", "client2", "true")
    assert ioassay("lab", "cut", f"{gluster}/client2")[0] == 0
    assert on(f"{gluster}/client1", *reach)[0] == 255
    assert "client2 10.86.0.2 (cut off)" in ioassay("lab", "status", gluster)[1]
    assert ioassay("lab", "heal", f"{gluster}/client2")[0] == 0
    until(lambda: on(f"{gluster}/client1", *reach)[0] == 0, "client2 to be reached again")


def test_links_have_their_rate_in_both_directions(gluster: str) -> None:
    leaving = on(f"{gluster}/client1", "tc", "qdisc", "show", "dev", "eth0")[1]
    lab = running()[gluster].space
    arriving = lab.run("tc", "qdisc", "show", "dev", "client1")
    assert all("tbf" in listing and "rate 100Mbit" in listing for listing in (leaving, arriving))


def test_status_lists_the_parts_of_a_lab_and_nothing_listens_outside(gluster: str) -> None:
    code, out, _ = ioassay("lab", "status", gluster, "--json")
    status = json.loads(out)
    assert code == 0
    assert status["processes"]["glusterfsd"] == 2
    assert status["memory_bytes"] > 1 << 20
    addresses = {host["name"]: host["address"] for host in status["lab"]["hosts"]}
    for host, ports in status["ports"].items():
        assert ports
        assert all(port.startswith((f"{addresses[host]}:", "127.0.0.1:")) for port in ports)
    assert f"{MOUNT} (fuse.glusterfs, server1:lab)" in status["mounts"]["client2"]
    outside = subprocess.run(["ss", "-Hlntu"], capture_output=True, text=True, check=True).stdout
    assert "10.86.0." not in outside
    assert ":24007" not in outside


def test_a_study_runs_with_each_rank_on_the_host_of_its_client(gluster: str, tmp_path: Path) -> None:
    shared = workload("shared", layout="N-1", steps="[write, {cold-cache: [drop-caches]}, {read: {verify: reads}}]")
    run = measure(study(tmp_path, shared), f"lab:{gluster}", tmp_path / "run")
    assert sorted(run.ranks["node"].to_list()) == ["client1", "client1", "client2", "client2"]
    assert (run.document.storage, run.document.clients) == (f"lab:{gluster}/gluster", f"lab:{gluster}")
    assert run.document.lab is not None
    assert run.document.lab.link_bits_per_s == 10**8
    assert "2 hosts of one machine with links of 100 Mbit/s" in (tmp_path / "run/report.html").read_text()
    assert {node["mount"]["file_system"] for node in run.document.environment} == {"fuse.glusterfs"}
    assert "shared-machine" in run.doubts["kind"].to_list()
    assert on(f"{gluster}/client1", "ls", MOUNT)[1] == ""


def test_any_directory_is_measured_from_the_hosts_of_a_lab(gluster: str, target: Path, tmp_path: Path) -> None:
    run = measure(study(tmp_path, workload("own")), target, tmp_path / "run", "--clients", f"lab:{gluster}")
    assert set(run.ranks["node"]) == {"client1", "client2"}
    assert (run.document.storage, run.document.clients) == (None, f"lab:{gluster}")
    assert list(target.iterdir()) == []


def test_a_lab_in_use_is_not_ended_and_an_interrupted_run_leaves_nothing_on_it(gluster: str, tmp_path: Path) -> None:
    run = Measurement(study(tmp_path, LONG), Path(f"lab:{gluster}"), tmp_path / "run")
    run.until_moving()
    code, _, err = ioassay("lab", "down", gluster)
    assert code == 3
    assert "is in use by ioassay-engine" in err
    os.kill(run.pid, signal.SIGINT)
    assert run.end()[0] == 3
    assert on(f"{gluster}/client1", "ls", MOUNT)[1] == ""
    assert ioassay("clean", tmp_path / "run")[0] == 0
    assert load(tmp_path / "run").document.state == "interrupted"


def test_a_run_reports_the_end_of_its_lab(passing: str, tmp_path: Path) -> None:
    run = Measurement(study(tmp_path, LONG), Path(f"lab:{passing}"), tmp_path / "run")
    run.until_moving()
    assert ioassay("lab", "down", passing, "--force")[0] == 0
    code, _, err = run.end()
    assert code == 3
    assert "The engine exited without a `finished` event" in err
    code, _, err = ioassay("run", "--resume", tmp_path / "run")
    assert code == 3
    assert f"The lab {passing} is not up." in err


def test_two_labs_do_not_see_each_other(gluster: str) -> None:
    other = f"{gluster}-other"
    assert ioassay("lab", "up", "xfs", "--name", other)[0] == 0
    try:
        assert ioassay("lab", "exec", other, "ls", "/run/ioassay/mnt")[0] == 2
        assert ioassay("lab", "exec", other, "ss", "-Hltn")[1] == ""
        assert {gluster, other} <= running().keys()
    finally:
        assert ioassay("lab", "down", other)[0] == 0
    assert on(f"{gluster}/client1", "true")[0] == 0


class Starting:
    """A lab on its way up, as a process that can be sent signals."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            ["env", "--default-signal=INT", sys.executable, "-m", "ioassay", "lab", "up", *arguments, "--name", NAME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_said(self, words: str) -> None:
        """Waits until it prints this step."""
        assert self.process.stderr is not None
        assert any(line.strip().endswith(words) for line in self.process.stderr), f"never said: {words}"

    def end(self, *, text: str | None = None) -> int:
        """Waits for its end and returns its exit code."""
        self.process.communicate(text, timeout=DEADLINE_S)
        return self.process.returncode


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("stage", ["3 hosts on a network", "gluster", "ssh"])
def test_an_interrupted_start_leaves_nothing(stage: str, number: signal.Signals, untouched: dict[str, object]) -> None:
    skip_without(read(LABS.find("gluster")))
    starting = Starting("gluster", "--hosts", "2")
    starting.until_said(f": {stage}")
    assert running().keys() >= {NAME}
    starting.process.send_signal(number)
    assert starting.end() == (-9 if number == signal.SIGKILL else 3)
    until(lambda: NAME not in running(), "the lab to be gone")


def test_a_server_that_ends_before_it_is_ready_is_reported_with_the_end_of_its_log(
    untouched: dict[str, object],
) -> None:
    skip_without(read(LABS.find("xfs")))
    nursery = Nursery(NAME)
    try:
        nursery.space.cover_with_memory("/run")
        nursery.space.path(record.LOGS).mkdir(parents=True)
        member = record.Member(name="server1", role="server", address="10.86.0.1")
        host = Host(member, nursery.space.child("server1"), nursery.space)
        daemon = host.start("liard", "sh", "-c", "echo no; exit 3")
        with pytest.raises(CannotRun, match="liard exited before it was ready: no"):
            daemon.until(lambda: False)
    finally:
        nursery.end()


@pytest.mark.parametrize("victim", ["first process", "who watches it"])
def test_a_killed_lab_leaves_nothing(victim: str, passing: str) -> None:
    first = psutil.Process(running()[passing].space.pid)
    killed = first if victim == "first process" else first.parent()
    assert killed is not None
    killed.kill()
    until(lambda: passing not in running(), "the lab to be gone")


def test_in_the_foreground_it_ends_with_its_input(untouched: dict[str, object]) -> None:
    skip_without(read(LABS.find("xfs")))
    starting = Starting("xfs", "--foreground")
    starting.until_said("to end the lab.")
    assert NAME in running()
    assert starting.end(text="") == 0
    assert NAME not in running()


def test_a_name_is_taken_once(passing: str) -> None:
    code, _, err = ioassay("lab", "up", "xfs", "--name", passing)
    assert code == 2
    assert "is already up" in err


def test_invalid_arguments_are_refused_with_a_remedy() -> None:
    for arguments, words in {
        ("up", "glustr"): "did you mean `gluster`?",
        ("up", "xfs", "--link", "1G"): 'unknown suffix "G"; use kbit Mbit Gbit',
        ("up", "xfs", "--hosts", "many"): '"many" is not a whole number',
        ("down",): "ioassay lab down NAME",
    }.items():
        code, _, err = ioassay("lab", *arguments)
        assert (code, words in err) == (2, True), err
    code, _, err = ioassay("run", "quick", "--target", "lab:")
    assert (code, "needs the name of a lab." in err) == (2, True), err


def test_a_lab_that_is_not_up_is_reported() -> None:
    for arguments in (
        ("lab", "down", "nothing"),
        ("lab", "exec", "nothing", "true"),
        ("lab", "cut", "nothing/client1"),
        ("run", "quick", "--target", "lab:nothing"),
        ("run", "quick", "--target", ".", "--clients", "lab:nothing"),
    ):
        code, _, err = ioassay(*arguments)
        assert (code, "The lab nothing is not up." in err) == (3, True), err


@pytest.mark.parametrize("lab", ["moosefs", "s3", "hdfs", "nfs"])
def test_a_study_measures_what_the_lab_has(lab: str, untouched: dict[str, object], tmp_path: Path) -> None:
    settings = {"clients": "2", "ranks_per_client": "1", "large_objects": "1", "small_objects": "4", "repetitions": "1"}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with up(lab, NAME, "--hosts", "2") as name:
        run = measure(Path("objects"), f"lab:{name}", tmp_path / "run", *options)
        assert run.measurements["bytes"].to_list() == [16 << 20, 16 << 20, 128 << 10, 128 << 10]
        assert set(run.ranks["node"]) == {"client1", "client2"}


def test_three_systems_are_measured_in_three_runs(untouched: dict[str, object], tmp_path: Path) -> None:
    settings = {"clients": "1,2", "total": "4MiB", "random_file": "64KiB", "pause": "0s", "repetitions": "1"}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with up("three-systems", NAME) as name:
        code, _, err = ioassay("run", "three-systems", "--target", f"lab:{name}", "--out", tmp_path / "runs", *options)
        assert code == 0, err
        runs = {system: load(tmp_path / "runs" / system) for system in ("xfs", "gluster", "moosefs")}
        figures = [run.document.study.figures for run in runs.values()]
        assert figures[0] == figures[1] == figures[2] != []
        for system, run in runs.items():
            assert run.document.storage == f"lab:{name}/{system}"
            assert run.measurements.height == 2 * 3 * 2
            assert (tmp_path / "runs" / system / "report.html").exists()


MINE = """\
name: mine
title: Two servers
servers: 2
disk: 1GiB
storage:
  gluster: {bricks: 2, shard: 4MiB}
  moosefs: {chunkservers: 2, copies: 2}
"""


def test_a_users_own_lab_uses_all_of_its_servers(untouched: dict[str, object], tmp_path: Path) -> None:
    skip_without(read(LABS.find("moosefs")))
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    with up(str(file), NAME) as name:
        write = f"dd if=/dev/zero of={MOUNT}/file bs=1M count=40 conv=fsync status=none"
        assert on(name, "sh", "-c", write) == (0, "", "")
        shards = [on(name, "ls", f"/run/ioassay/disk/brick{number}/brick/.shard")[1].split() for number in (1, 2)]
        assert all(shards)
        assert len([*shards[0], *shards[1]]) >= 9
        copied = "/run/ioassay/mnt/moosefs/file"
        assert on(name, "sh", "-c", f"echo twice > {copied} && sync {copied}")[0] == 0
        # A chunk that was written while only one server had reported is copied later.
        until(lambda: "2 copies" in on(name, "sh", "-c", f"mfscheckfile {copied}")[1], "two copies of the chunk")

"""The storage systems of labs, and Slurm: real servers, used from two hosts, that leave no trace."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from ioassay.lab import record
from ioassay.lab.disk import attachment
from ioassay.lab.model import Lab
from ioassay.lab.namespaces import Space
from ioassay.lab.requirements import Command, Requirement
from ioassay.lab.running import find
from ioassay.lab.up import up

from .support import skip_without

pytestmark = pytest.mark.machine

WRITTEN = "what one host writes\n"

CURL = Command("curl", "curl")

MACHINES_OWN = [
    *("/etc/slurm", "/etc/munge", "/var/lib/slurm", "/var/lib/munge", "/var/lib/nfs", "/var/lib/glusterd"),
    *("/run/ioassay", "/run/munge", "/run/rpcbind", "/run/ganesha", "/run/gluster", "/run/sshd"),
    *("/var/log/slurm", "/var/log/munge", "/var/log/ganesha", "/var/log/glusterfs"),
]
"""Where the servers would keep their own, were they not in a lab."""


@dataclass(frozen=True)
class Up:
    """A lab that is up."""

    record: record.Lab
    space: Space
    hosts: dict[str, Space]

    @property
    def target(self) -> record.Target:
        """What was started last."""
        return self.record.targets[-1]

    def run(self, host: str, *command: str) -> str:
        """Runs a command on a host, with the credentials of the target."""
        return self.hosts[host].run(*command, environment=self.target.environment)

    def run_shell(self, host: str, script: str, *arguments: str) -> str:
        """Runs a shell script on a host."""
        return self.run(host, "sh", "-ec", script, "sh", *arguments)


@contextmanager
def lab(place: Path, storage: dict[str, dict[str, str]], *needed: Requirement, **more: str) -> Iterator[Up]:
    """A lab with two hosts that measure, its disks in `place`, which leaves nothing. Skips where it cannot run."""
    name = f"h-test-{os.getpid()}"
    lab_model = Lab.model_validate({"name": name, "title": "For tests", "hosts": "2", "storage": storage, **more})
    skip_without(lab_model, *needed)
    before = traces()
    nursery = up(lab_model, "", place, lambda step: None)
    try:
        running = find(name)
        ready = running.ready()
        inside = pid_space(running.space.pid)
        disks = {disk: attachment(disk) for disk in ready.disks}
        assert None not in disks.values()
        yield Up(ready, running.space, running.hosts())
        running.end()
    finally:
        nursery.end()
    assert [process for process in psutil.process_iter() if pid_space(process.pid) == inside] == []
    assert not any(attachment(disk) == attached for disk, attached in disks.items())
    assert "ioassay" not in Path("/proc/self/mountinfo").read_text()
    assert list(place.iterdir()) == []
    assert traces() == before


def pid_space(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def traces() -> dict[str, int]:
    """The machine's own files where a server that is not kept in its lab would write, and when each was written."""
    paths = [path for place in MACHINES_OWN for path in [Path(place), *Path(place).rglob("*")]]
    paths += [path for pattern in ("jetty-server*", "hadoop-*", "pmix*") for path in Path("/tmp").glob(pattern)]
    return {str(path): path.lstat().st_mtime_ns for path in paths if path.exists()}


def assert_nobody_listens_on_all_addresses(started: Up) -> None:
    for member in started.record.hosts:
        for line in started.hosts[member.name].run("ss", "--no-header", "-lntu").splitlines():
            address = line.split()[4].rpartition(":")[0].strip("[]").removeprefix("::ffff:")
            assert address == member.address or address.startswith("127."), f"{member.name}: {line}"


def assert_no_secret_is_on_a_command_line_or_in_a_log(started: Up) -> None:
    secret = started.target.environment["AWS_SECRET_ACCESS_KEY"]
    for process in psutil.process_iter(["cmdline"]):
        assert secret not in " ".join(process.info["cmdline"] or [])
    logs = list(started.space.path(record.LOGS).iterdir())
    assert logs
    assert not any(secret in log.read_text(errors="replace") for log in logs)


def plan(target: record.Target) -> dict[str, Any]:
    """A plan of the engine: two ranks write objects of several parts, as small as S3 takes, and compare them."""
    files = {"layout": "N-N", "files_per_rank": 2, "transfer_bytes": 5 << 20, "block_bytes": 15 << 20, "segments": 1}
    work = {"kind": "data", "files": "objects", "order": "sequential", "fsync": "never"}
    works = {"write": {"transfer": "write"}, "read": {"transfer": "read", "verify": "reads"}}
    return {
        "version": 2,
        "run": "r1",
        "case": "c1",
        "target": {"url": target.place},
        "storage": {"api": target.api, "depth": 1},
        "ranks": {"clients": 2, "per_client": 1},
        "files": {"objects": {**files, "payload": {"kind": "unique"}}},
        "steps": [
            {"step": "phase", "name": name, "jobs": [{"name": "job", "work": {**work, **what}}]}
            for name, what in works.items()
        ],
        "seed": 1,
        "sample_interval_ns": 10**9,
    }


def assert_the_engine_measures_it(started: Up, engine: Path) -> None:
    started.space.path("/run/plan.json").write_text(json.dumps(plan(started.target)))
    started.run("client1", str(engine), "run", "/run/plan.json", "--events", "/run/events.jsonl")
    events = [json.loads(line) for line in started.space.path("/run/events.jsonl").read_text().splitlines()]
    assert [event["bytes"] for event in events if event["event"] == "phase"] == [60 << 20, 60 << 20]


SIGNED = """\
printf 'user = "%s:%s"' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" |
    curl --config - --silent --show-error --fail --aws-sigv4 "aws:amz:$AWS_REGION:s3" \\
        --header "x-amz-content-sha256: UNSIGNED-PAYLOAD" "$@"
"""


@pytest.mark.parametrize("over", ["disk", "gluster"])
def test_another_host_gets_an_object_from_s3(over: str, tmp_path: Path, engine: Path) -> None:
    below: dict[str, dict[str, str]] = {"gluster": {}} if over == "gluster" else {}
    with lab(tmp_path, {**below, "s3": {"over": over}}, CURL) as started:
        url = "http://server1:7070/lab/below/object"
        started.space.path("/run/object").write_text(WRITTEN)
        started.run_shell("client1", SIGNED, "--upload-file", "/run/object", url)
        assert started.run_shell("client2", SIGNED, url) == WRITTEN
        status = started.run("client2", "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", url)
        assert status == "403"
        assert_the_engine_measures_it(started, engine)
        if over == "disk":  # GlusterFS's bricks listen on all addresses
            assert_nobody_listens_on_all_addresses(started)
        assert_no_secret_is_on_a_command_line_or_in_a_log(started)


def test_the_credentials_of_a_lab_are_its_own_and_only_roots(tmp_path: Path) -> None:
    secrets = []
    for _ in range(2):
        with lab(tmp_path, {"s3": {}}) as started:
            secrets.append(started.target.environment["AWS_SECRET_ACCESS_KEY"])
            file = started.space.first.memory_file(record.MEMORY_FILE)
            assert file is not None
            assert os.fstat(file).st_mode & 0o077 == 0
            os.close(file)
    assert len(set(secrets)) == 2


@pytest.mark.parametrize("datanodes", ["1", "2"])
def test_another_host_opens_a_file_in_hdfs(datanodes: str, tmp_path: Path, engine: Path) -> None:
    with lab(tmp_path, {"hdfs": {"datanodes": datanodes}}, CURL) as started:
        url = "http://server1:9870/webhdfs/v1/target/file?user.name=lab&op="
        curl = ["curl", "--silent", "--show-error", "--fail", "--location"]
        started.space.path("/run/file").write_text(WRITTEN)
        started.run("client1", *curl, "--request", "PUT", "--upload-file", "/run/file", f"{url}CREATE")
        assert started.run("client2", *curl, f"{url}OPEN") == WRITTEN
        status = json.loads(started.run("client2", *curl, f"{url}GETFILESTATUS"))["FileStatus"]
        assert status["replication"] == int(datanodes)
        assert_the_engine_measures_it(started, engine)
        assert_nobody_listens_on_all_addresses(started)


def test_an_nfs_export_is_measured_from_a_host(tmp_path: Path, engine: Path) -> None:
    with lab(tmp_path, {"nfs": {}}) as started:
        if started.target.kind == "url":
            assert started.target.place == "nfs://server1/export"
            assert_the_engine_measures_it(started, engine)
        else:  # the kernel has a client, and each host has mounted it
            started.run_shell("client1", 'printf %s "$2" >"$1"', f"{started.target.place}/file", WRITTEN)
            assert started.run("client2", "cat", f"{started.target.place}/file") == WRITTEN
        assert_nobody_listens_on_all_addresses(started)


def test_a_job_that_one_host_submits_runs_on_all_of_them(tmp_path: Path) -> None:
    with lab(tmp_path, {"ext4": {}}, slurm="yes") as started:
        assert started.record.slurm
        for client in ("client1", "client2"):
            printed = started.run(client, "srun", "--nodes=2", "--ntasks-per-node=1", "hostname")
            assert sorted(printed.split()) == ["client1", "client2"]
        many = started.run("client1", "srun", "--nodes=2", "--ntasks-per-node=8", "hostname")
        assert sorted(many.split()) == ["client1"] * 8 + ["client2"] * 8
        file = f"{started.target.place}/file"
        started.run("client1", "srun", "--nodelist=client1", "sh", "-c", 'printf %s "$2" >"$1"', "sh", file, WRITTEN)
        assert started.run("client2", "srun", "--nodelist=client2", "cat", file) == WRITTEN
        assert_nobody_listens_on_all_addresses(started)


def test_a_job_that_no_hosts_can_take_is_refused_and_does_not_wait_forever(tmp_path: Path) -> None:
    with lab(tmp_path, {"ext4": {}}, slurm="yes") as started:
        result = started.hosts["client1"].attempt("srun", "--nodes=3", "hostname")
        assert result.returncode != 0
        assert "Unable to allocate resources" in result.stderr

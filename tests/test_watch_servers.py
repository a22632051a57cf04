"""An agent on a file server end to end: files as Lustre's versions print them, a real agent, the view of what it says.

There is no Lustre here: `ioassay.testing.lustre_server` writes the files.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ioassay.processes.engine import find_agent
from ioassay.testing.lustre_server import VERSIONS, Counters, LustreServer

from .support import ioassay, until

MIB = 1 << 20
OST, MDT = "scratch-OST0003", "scratch-MDT0000"
IDS = ["4711", "kworker/86:1.0", "my job", "q\"uote's", "", "@login.1000", "a&b,c={d}"]


@contextmanager
def agent_of(root: Path, place: Path, **servers: object) -> Iterator[Path]:
    """An agent that reads the tree below `root`; yields the directory of its documents."""
    setup = place / "setup.yaml"
    keys = {"root": str(root), **{name.replace("_", " "): value for name, value in servers.items()}}
    lines = [f"  {name}: {json.dumps(value)}" for name, value in keys.items()]
    setup.write_text(
        "\n".join(["node: no", "servers:", *lines, f"sinks: [{{json lines: {{directory: {place}/out}}}}]"])
    )
    code, _, err = ioassay("watch", "prepare", setup, "-o", place / "agent")
    assert code == 0, err
    process = subprocess.Popen([find_agent(), place / "agent/agent.json"], stderr=subprocess.PIPE, text=True)
    try:
        yield place / "out"
    finally:
        process.terminate()
        _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def documents(out: Path, kind: str) -> list[dict[str, Any]]:
    """Whole lines of a kind."""
    lines = [line for file in out.glob("*.jsonl") for line in file.read_text().splitlines(keepends=True)]
    return [
        document
        for document in map(json.loads, (line for line in lines if line.endswith("\n")))
        if document["kind"] == kind
    ]


def sums(out: Path, kind: str, label: str, field: str, target: str = OST) -> dict[str, int]:
    """The sums of a field of a target's documents so far, by a label."""
    totals: Counter[str] = Counter()
    for document in documents(out, kind):
        if document["target"] == target:
            totals[document[label]] += document[field]
    return {name: number for name, number in totals.items() if number}


@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_are_distinguished_on_targets_with_any_id_and_version(version: str, tmp_path: Path) -> None:
    server = LustreServer(tmp_path / "server", version)
    before = {job: Counters(read_bytes=MIB, write_bytes=2 * MIB, operations={"punch": 1}) for job in IDS[:-1]}
    opened = {job: Counters(operations={"open": 3}) for job in IDS}
    server.write(OST, before, disk_ios=10)
    server.write(MDT, opened)
    with agent_of(server.root, tmp_path) as out:
        until(lambda: {document["target"] for document in documents(out, "target")} >= {OST, MDT}, "two readings")
        # Each wrote (its place) MiB more, and the last is new.
        after = {
            job: Counters(read_bytes=MIB, write_bytes=(2 + place) * MIB, operations={"punch": 2})
            for place, job in enumerate(IDS)
        }
        server.write(OST, after, disk_ios=17)
        server.write(MDT, {job: Counters(operations={"open": 5, "unlink": 1}) for job in IDS})
        expected = {job: place * MIB for place, job in enumerate(IDS[:-1]) if place} | {IDS[-1]: 8 * MIB}
        until(lambda: sums(out, "target_job", "job", "write_bytes") == expected, f"{expected} written")
        operations = dict.fromkeys(IDS, 3)
        until(lambda: sums(out, "target_job", "job", "metadata_operations", MDT) == operations, "3 operations of each")
        until(lambda: sums(out, "target_size", "size", "writes") != {}, "sizes")
    total = sum(expected.values())
    assert sums(out, "target", "service", "write_bytes") == {"Lustre OST": total}
    assert sums(out, "target_client", "client", "write_bytes") == {"10.0.0.1@tcp": total}
    assert sums(out, "target_operation", "operation", "operations", MDT) == {"open": 2 * 7, "unlink": 7}
    assert sums(out, "target_operation", "operation", "operations") == {"punch": 6 + 2}
    assert sums(out, "target_size", "stage", "writes")["disk I/O"] == 7
    (has_time,) = {"busy_ns" in document for document in documents(out, "target_job") if document["write_bytes"]}
    assert has_time == (version in ("2.14", "2.15", "2.17"))


def test_the_view_shows_the_current_loads_of_each_target(tmp_path: Path) -> None:
    server = LustreServer(tmp_path / "server")
    jobs = {str(4000 + number): Counters() for number in range(50)}
    server.write(OST, jobs)
    with agent_of(server.root, tmp_path, named=2, job_id="%j") as out:
        until(lambda: documents(out, "target"), "two readings")
        for number, job in enumerate(jobs):
            jobs[job] = Counters(write_bytes=number * MIB, operations={"punch": 100 - number})
        server.write(OST, jobs)
        until(lambda: sums(out, "target_job", "job", "write_bytes"), "what was written")
        total = sum(range(50)) * MIB
        until(lambda: sum(sums(out, "target_job", "job", "write_bytes").values()) == total, "all that was written")
    # Named jobs are limited: two by bytes, two of the rest by requests; the sum stays right.
    busy = [document for document in documents(out, "target_job") if document["write_bytes"]]
    assert {document["job"] for document in busy} == {"4049", "4048", "4001", "other jobs"}
    (second,) = {document["second"] for document in busy}
    lines = [line for file in out.glob("*.jsonl") for line in file.read_text().splitlines(keepends=True)]
    then = "".join(line for line in lines if json.loads(line)["second"] <= second)
    watched = {"kind": "job", "second": second, "node": "n1", "job": "4049", "user": "0", "command": "./simulate"}
    # The agent of the node on which the job runs.
    then += "".join(
        json.dumps(document) + "\n" for document in (watched, {"kind": "agent", "second": second, "node": "n1"})
    )
    (tmp_path / "then").mkdir()
    (tmp_path / "then/all.jsonl").write_text(then)
    code, output, err = ioassay("watch", tmp_path / "then", "--once")
    assert code == 0, err
    rows = [line.split() for line in output.splitlines() if line.startswith(OST)]
    assert [row[1] for row in rows] == ["4049", "4048", "4001", "4000", "other"]
    assert rows[0][-1] == "./simulate"
    code, output, err = ioassay("watch", tmp_path / "then", "--once", "--json")
    assert code == 0, err
    assert {json.loads(line)["kind"] for line in output.splitlines()} >= {"target", "target_job"}


def test_a_node_without_servers_has_no_documents_of_targets(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with agent_of(tmp_path / "empty", tmp_path) as out:
        until(lambda: len(documents(out, "agent")) > 2, "three seconds")
    assert not documents(out, "target")


def test_a_server_is_not_read_if_the_setup_forbids_it(tmp_path: Path) -> None:
    server = LustreServer(tmp_path / "server")
    server.write(OST, {"4711": Counters()})
    with agent_of(server.root, tmp_path, read="no") as out:
        until(lambda: len(documents(out, "agent")) > 3, "four seconds")
    assert not documents(out, "target")

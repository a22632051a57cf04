"""How well one limit of a job holds on four nodes, whose agents share it out through files.

    python bench/watch/nodes.py [LIMIT [SECONDS]]     8MiB/s, 12 s for each case; needs root, for a lab

A lab has four nodes over one file system. Each records a process that writes as fast as it may, or at a given rate, and
has an agent of its own; all four are ranks of one record, as below mpirun. What they wrote in each second is what the
agents counted.
Every figure is printed as JSON. Not: a test. `tests/test_shared_limits.py` runs it, and looks at bytes alone.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from ioassay.processes.engine import find_engine
from ioassay.protocol.contract import Contract, Rule
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.text.units import parse_bytes

NODES = 4
SETTLES_S = 3
"""What the agents may take after a change until a case begins that is not about the change."""
BLOCK = 64 << 10
SHARED = "/run/ioassay/disk/xfs"
DEADLINE_S = 120

PROGRAM = f"""
import os, sys, time
path, orders = sys.argv[1:]
file = os.open(path, os.O_RDWR | os.O_CREAT)
block = b"x" * {BLOCK}
while True:
    with open(orders) as order:
        wanted = order.read()
    if wanted == "end":
        break
    if wanted == "0":
        time.sleep(0.02)
        continue
    os.pwrite(file, block, 0)
    if wanted != "max":
        time.sleep({BLOCK} / int(wanted))
"""


class Node:
    """A node of the lab, and the process on it."""

    def __init__(self, lab: str, number: int, directory: Path, record: str) -> None:
        self.lab, self.number, self.directory, self.record = lab, number, directory, record
        self.orders = directory / f"orders-{number}"
        self.process: subprocess.Popen[str] | None = None
        self.starts = 0

    def start(self, wanted: str) -> None:
        """Records the process, which writes so many bytes in a second, or `max`."""
        self.tell(wanted)
        self.starts += 1
        temporary = self.directory / f"tmp-{self.number}"  # a node has its own; the lab's hosts share the machine's
        temporary.mkdir(exist_ok=True)
        # As Open MPI's ranks; one that starts again is another rank.
        rank = self.number + NODES * (self.starts - 1)
        variables = {"TMPDIR": temporary, "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": NODES}
        command = ["env", *(f"{name}={value}" for name, value in variables.items())]
        command += [str(find_engine()), "record", "--watch", str(self.directory / "agent.json"), "--out", self.record]
        # The interpreter itself: what starts it in a virtual environment would be recorded too.
        python = str(Path(sys.executable).resolve())
        work = [python, str(self.directory / "program.py"), f"{SHARED}/data-{self.number}", str(self.orders)]
        self.process = subprocess.Popen(in_lab(f"{self.lab}/client{self.number + 1}", *command, "--", *work), text=True)

    def tell(self, wanted: str) -> None:
        """Changes what the process writes."""
        new = self.orders.with_suffix(".new")
        new.write_text(wanted)
        new.replace(self.orders)

    def end(self) -> None:
        """Ends the process, and its agent with it."""
        self.tell("end")
        if self.process:
            self.process.wait(DEADLINE_S)
            self.process = None


def main(limit: str, seconds: int) -> dict[str, Any]:
    """Runs all cases, and returns what was counted in each."""
    rate = parse_bytes(limit.removesuffix("/s"))
    lab = f"limits-{os.getpid()}"
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        prepare(directory, rate)
        subprocess.run([*CLI, "lab", "up", "xfs", "--name", lab, "--hosts", str(NODES)], check=True, stdout=2)
        nodes = [Node(lab, number, directory, f"{SHARED}/record") for number in range(NODES)]
        try:
            cases = measure(nodes, directory, rate, seconds)
        finally:
            for node in nodes:
                node.end()
            subprocess.run([*CLI, "lab", "down", lab, "--force"], check=True, stdout=2)
    return {
        "machine": {"processors": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()},
        "limit_bytes_per_s": rate,
        "nodes": NODES,
        "cases": cases,
    }


CLI = [sys.executable, "-m", "ioassay"]


def in_lab(where: str, *command: str) -> list[str]:
    """A command of a host of a lab."""
    return [*CLI, "lab", "exec", where, *command]


def prepare(directory: Path, rate: int) -> None:
    """Writes the program, the contract and the setup."""
    rule = Rule(
        label="writes",
        action="throttle",
        scope="whole-job",
        path=SHARED,
        calls=["write"],
        least_bytes=0,
        most_bytes=None,
        measure="bandwidth",
        limit=rate,
        window_s=1,
    )
    (directory / "program.py").write_text(PROGRAM)
    contract = directory / "contract.json"
    contract.write_text(json.dumps(Contract(version=PROTOCOL_VERSION, rules=[rule])))
    (directory / "out").mkdir()
    sink = {"kind": "json-lines", "directory": str(directory / "out")}
    asked = {"version": PROTOCOL_VERSION, "tables": "registered", "node": False, "contract": str(contract)}
    (directory / "agent.json").write_text(json.dumps({**asked, "run": None, "sinks": [sink], "spool": None}))


def measure(nodes: list[Node], directory: Path, rate: int, seconds: int) -> dict[str, Any]:
    """What all nodes wrote together in each case."""
    spans: dict[str, int] = {}

    def case(name: str, settles_s: float = SETTLES_S) -> None:
        time.sleep(settles_s)
        spans[name] = int(time.time()) + 1
        time.sleep(seconds + 1)

    for node in nodes:
        node.start("max")
    until(lambda: len(written(directory)) == NODES, "all nodes to write")
    case("equal demand")
    for node in nodes[1:]:
        node.tell("0")
    case("one writes, three are idle")
    nodes[1].tell("max")
    nodes[2].tell(str(rate // 10))
    case("two write, one writes a tenth, one is idle")
    for node in nodes:
        node.tell("max")
    time.sleep(SETTLES_S)
    nodes[3].tell("end")
    case("from when one leaves", 0)
    nodes[3].end()
    nodes[3].start("max")
    case("from when one joins", 0)
    case("equal demand again")
    last = max(spans.values()) + seconds
    until(lambda: min(max(of_node) for of_node in written(directory).values()) >= last, "the last second")
    of_all = written(directory)
    results = {}
    for name, first in spans.items():
        each = [sum(of_node.get(second, 0) for of_node in of_all.values()) for second in range(first, first + seconds)]
        results[name] = {
            "share_of_limit": round(sum(each) / seconds / rate, 4),
            "least_second": round(min(each) / rate, 3),
            "most_second": round(max(each) / rate, 3),
            "share_of_each_node": [
                round(sum(of_node.get(second, 0) for second in range(first, first + seconds)) / seconds / rate, 3)
                for _, of_node in sorted(of_all.items())
            ],
        }
    return results


def written(directory: Path) -> dict[str, dict[int, int]]:
    """Bytes that the agents counted, by node and second."""
    seconds_by_node: dict[str, dict[int, int]] = defaultdict(dict)
    for file in (directory / "out").iterdir():
        # The last line may be half a line yet.
        for line in file.read_text().rpartition("\n")[0].splitlines():
            document = json.loads(line)
            if document["kind"] == "rule":
                seconds = seconds_by_node[document["node"]]
                seconds[document["second"]] = seconds.get(document["second"], 0) + document["measured"]
    return seconds_by_node


def until(condition: Any, what: str) -> None:
    """Waits."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"waited {DEADLINE_S} s for {what}")
        time.sleep(0.1)


if __name__ == "__main__":
    asked = dict(zip(("limit", "seconds"), sys.argv[1:], strict=False))
    print(json.dumps(main(asked.get("limit", "8MiB/s"), int(asked.get("seconds", "12"))), indent=2))

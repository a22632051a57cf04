"""What an agent costs the node that it watches: many recorded processes that all do I/O.

    python bench/watch/node.py [PROCESSES [SECONDS [RULES]]]     256 processes for 30 s, 10 rules

Up to ten rules match every call; those beyond are for directories that nobody uses.

Each process makes 80 calls a second on files in memory. Every figure is printed as JSON. Not: a
test. Timing never decides a test.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ioassay.processes.engine import find_engine
from ioassay.protocol.contract import Contract, Rule
from ioassay.protocol.facts import PROTOCOL_VERSION

PROGRAM = """
import os, sys, time
directory, processes, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
for number in range(processes):
    if os.fork() == 0:
        files = [os.open(f"{directory}/{number % 16}-{file}", os.O_RDWR | os.O_CREAT) for file in range(4)]
        end, block = time.monotonic() + seconds, b"x" * 4096
        while time.monotonic() < end:
            for file in files:
                os.pwrite(file, block, 0)
                os.pread(file, 4096, 0)
            time.sleep(0.1)
        os._exit(0)
for _ in range(processes):
    os.wait()
"""
MEMORY = "/dev/shm"
NEVER_BROKEN = 1 << 60
MATCHING = 10


def main(processes: int = 256, seconds: int = 30, rules: int = 10) -> dict[str, Any]:
    """Records and watches the processes, and returns what the agent says of itself."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir=MEMORY) as files:
        directory = Path(scratch)
        contract = directory / "contract.json"
        contract.write_text(
            json.dumps(Contract(version=PROTOCOL_VERSION, rules=[_rule(files, number) for number in range(rules)]))
        )
        sink = {"kind": "json-lines", "directory": str(directory / "out")}
        setup = directory / "agent.json"
        asked = {"version": PROTOCOL_VERSION, "tables": "registered", "node": True, "contract": str(contract)}
        setup.write_text(json.dumps({**asked, "run": None, "sinks": [sink], "spool": None}))
        program = directory / "program.py"
        program.write_text(PROGRAM)
        # The interpreter itself: what starts it in a virtual environment would be recorded too.
        python = str(Path(sys.executable).resolve())
        command = [python, str(program), files, str(processes), str(seconds)]
        record = [str(find_engine()), "record", "--watch", str(setup), "--out", str(directory / "record")]
        subprocess.run([*record, "--", *command], check=True)
        lines = [line for file in (directory / "out").iterdir() for line in file.read_text().splitlines()]
    documents = [json.loads(line) for line in lines]
    agent = [document for document in documents if document["kind"] == "agent" and document["tables"] > processes]
    # The seconds in which processes begin and end are not what goes on for hours.
    steady = [document["processor_ns"] / 1e7 for document in agent[1:-1]]
    return {
        "machine": {"processors": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()},
        "processes": processes,
        "rules": rules,
        "seconds": len(steady),
        "documents_in_a_second": round(len(documents) / max(1, len(agent)), 1),
        "percent_of_a_core": {
            "median": round(statistics.median(steady), 2),
            "least": round(min(steady), 2),
            "most": round(max(steady), 2),
        },
        "resident_bytes": max(document["resident_bytes"] for document in agent),
        "latest_look_ms": round(max(document["late_ns"] for document in agent) / 1e6, 2),
    }


def _rule(files: str, number: int) -> Rule:
    """A rule that is never broken. The first ten match every call."""
    return Rule(
        label=f"rule {number}",
        action="monitor",
        scope="job",
        path=files if number < MATCHING else f"/scratch/project-{number}/data",
        calls=["read", "write", "open", "stat"],
        least_bytes=0,
        most_bytes=None,
        measure="bandwidth",
        limit=NEVER_BROKEN,
        window_s=1,
    )


if __name__ == "__main__":
    print(json.dumps(main(*(int(argument) for argument in sys.argv[1:4])), indent=2))

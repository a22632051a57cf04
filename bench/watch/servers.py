"""What an agent costs a Lustre server with many job ids: files of counters in memory, in the format of 2.17.

    python bench/watch/servers.py [JOBS [TARGETS [SECONDS]]]     10,000 on each of 8 OSTs for 20 s

What the kernel of a server takes to print the files is not in it. Every figure is printed as JSON. Not: a test.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ioassay.processes.engine import find_agent
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.testing.lustre_server import Counters, LustreServer

MEMORY = "/dev/shm"


def main(jobs: int = 10_000, targets: int = 8, seconds: int = 20) -> dict[str, Any]:
    """Has an agent read the targets, and returns what it says of itself and of them."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir=MEMORY) as tree:
        server = LustreServer(Path(tree))
        counters = {
            str(4_000_000 + job): Counters(job << 20, job << 21, {"punch": job % 7, "sync": job % 3})
            for job in range(jobs)
        }
        names = [f"scratch-OST{target:04x}" for target in range(targets)]
        for name in names:
            server.write(name, counters)
        size = sum(file.stat().st_size for file in Path(tree).rglob("job_stats"))
        setup = Path(scratch) / "agent.json"
        setup.write_text(
            json.dumps(
                {
                    "version": PROTOCOL_VERSION,
                    "tables": "none",
                    "node": False,
                    "servers": {"named": 20, "job_id": None, "root": tree},
                    "contract": None,
                    "run": None,
                    "sinks": [{"kind": "json-lines", "directory": f"{scratch}/out"}],
                    "spool": None,
                }
            )
        )
        agent = subprocess.Popen([find_agent(), setup])
        time.sleep(seconds)
        agent.terminate()
        agent.wait()
        lines = [line for file in (Path(scratch) / "out").iterdir() for line in file.read_text().splitlines()]
    documents = [json.loads(line) for line in lines]
    agent_documents = [document for document in documents if document["kind"] == "agent"][2:-1]
    readings = [document["over_ms"] for document in documents if document["kind"] == "target"]
    return {
        "machine": {"processors": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()},
        "jobs": jobs,
        "targets": targets,
        "text_bytes_in_a_reading": size,
        "readings": len(readings) // targets,
        "time_between_readings_ms": {"median": statistics.median(readings), "most": max(readings)},
        "processor_ms_of_a_reading": round(
            sum(document["processor_ns"] for document in agent_documents) / 1e6 / (len(readings) // targets), 1
        ),
        "resident_bytes": max(document["resident_bytes"] for document in agent_documents),
        "latest_look_ms": round(max(document["late_ns"] for document in agent_documents) / 1e6, 2),
    }


if __name__ == "__main__":
    print(json.dumps(main(*(int(argument) for argument in sys.argv[1:4])), indent=2))

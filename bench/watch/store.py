"""What documents of a thousand nodes cost in one sink: a real OpenSearch, and one process that gives what agents do.

    python bench/watch/store.py [NODES [DOCUMENTS [SECONDS]]]     1000 nodes, 20 documents each in a second, for 300 s

It needs `make stores`. Every figure is printed as JSON. Not: a test. Timing never decides a test.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from ioassay.testing import stores

ROOT = Path(__file__).parents[2]
HEAP = "1g"
SPOOL_BYTES = 4 << 30
PREFIX = "load"


def main(nodes: int = 1000, documents: int = 20, seconds: int = 300) -> dict[str, Any]:
    """Loads OpenSearch, and returns what was measured."""
    if what := stores.missing():
        sys.exit(f"stores are not installed: {what}")
    build = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "ioassay-agent", "--example", "load"]
    subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        with stores.running(stores.opensearch(directory / "opensearch", HEAP)) as store:
            setup = directory / "agent.json"
            setup.write_text(json.dumps(_setup(store.url, directory / "spool")))
            before = time.monotonic()
            program = str(ROOT / "target/release/examples/load")
            command = [program, str(setup), str(nodes), str(documents), str(seconds)]
            loaded = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            wall_s = time.monotonic() - before
            used = psutil.Process(store.process.pid).cpu_times()
            store.ask(f"/{PREFIX}-*/_refresh", b"")
            stored = json.loads(store.ask(f"/{PREFIX}-*/_count"))["count"]
    return {
        "machine": {"processors": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()},
        "nodes": nodes,
        "documents_of_each_in_a_second": documents,
        "agent": json.loads(loaded.stdout),
        "opensearch_processor_s": round(used.user + used.system, 1),
        "stored_documents": stored,
        "wall_s": round(wall_s, 1),
    }


def _setup(url: str, spool: Path) -> dict[str, Any]:
    server = {"url": url, "credentials": None, "authorities": None, "certificate": None}
    return {
        "version": 1,
        "tables": "none",
        "node": False,
        "contract": None,
        "run": None,
        "sinks": [{"kind": "elasticsearch", "server": server, "prefix": PREFIX}],
        "spool": {"directory": str(spool), "most_bytes": SPOOL_BYTES},
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:])), indent=2))

"""What `ioassay tune check` of a whole cluster costs: reading the captures, examining the nodes, reporting.

    python bench/tuning/run.py [NODES]        300 nodes; each is a capture of this node under a name of its own

Every tenth node has another `nr_requests`, so that there is something to group. Not: a test. Timing never decides one.
"""

from __future__ import annotations

import io
import json
import platform
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ioassay.reports import build
from ioassay.reports.document.terminal import rendered
from ioassay.reports.tuning import CheckReport
from ioassay.tuning.check import CheckRequest, examine
from ioassay.tuning.snapshot import collect_archive, parse, read_all

_Result = TypeVar("_Result")


def renamed(archive: bytes, host: str, nr_requests: bytes | None) -> bytes:
    """A capture as of another host."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(archive)) as source, tarfile.open(fileobj=out, mode="w:gz") as target:
        for member in source:
            file = source.extractfile(member) if member.isfile() else None
            data = file.read() if file is not None else b""
            if member.name == "snapshot.json":
                document = json.loads(data)
                document["host"] = document["environment"]["host"] = host
                data = json.dumps(document).encode()
            elif nr_requests is not None and member.name.endswith("/queue/nr_requests"):
                data = nr_requests
            member.size = len(data)
            target.addfile(member, io.BytesIO(data) if member.isfile() else None)
    return out.getvalue()


def timed(what: str, work: Callable[[], _Result]) -> _Result:
    """Does it, and prints what it took."""
    elapsed, processor = time.perf_counter(), time.process_time()
    result = work()
    elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
    print(f"| {what} | {elapsed:.2f} s | {processor:.2f} s |", flush=True)
    return result


def main(nodes: int = 300) -> None:
    """Builds the captures and prints a table."""
    archive = collect_archive("/")
    captures = [
        renamed(archive, f"n{number:03}", b"32\n" if number % 10 == 0 else None) for number in range(1, nodes + 1)
    ]
    print(f"{nodes} nodes, {len(parse(archive, 'this node').files)} files each, Python {platform.python_version()}\n")
    print("| step | elapsed | processor |\n| --- | --- | --- |")
    asked = CheckRequest.of(transfer=None, raid=None, storage=None, rules=[])
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory, f"{number}.tar.gz") for number in range(nodes)]
        for path, capture in zip(paths, captures, strict=True):
            path.write_bytes(capture)
        snapshots = timed("read the captures", lambda: read_all(paths))
    examination = timed("examine", lambda: examine(snapshots, asked))
    report = CheckReport(examination, columns=100)
    timed("terminal", lambda: rendered(report.terminal()))
    timed("JSON", lambda: build(report, "json"))
    timed("HTML", lambda: build(report, "html"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

"""fio: data with one transfer in flight (`psync`) or many (`io_uring`).

Its rate is the I/Os of all processes over the longest of their run times, which each counts from its own start: it
leaves out what the others waited, and open and close. Run times are whole milliseconds.

`fio` measures the latency of every I/O, as ioassay does. `fio-reduced` does not (`gtod_reduce`), nor does it alter
its buffers between writes: the most that fio can do.
"""

from __future__ import annotations

import json
from typing import Any

from tool import Failed, Manner, Place, version_in
from work import Data, Work


class Fio:
    """fio with processes and not threads: threads would share a file table and pay for it."""

    manner = Manner()

    def __init__(self, reduced: bool) -> None:
        self.name = "fio-reduced" if reduced else "fio"
        self._reduced = ["--gtod_reduce=1", "--scramble_buffers=0"] if reduced else []

    def does(self, work: Work) -> bool:
        """All data; without altered buffers what writes one buffer."""
        return isinstance(work, Data) and not (self._reduced and work.payload == "unique")

    def version(self, search_path: str) -> str:
        """Its version."""
        return version_in(r"fio-(\S+)", search_path, "fio", "--version")

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """One job to make the files, one for each rate."""
        assert isinstance(work, Data)
        place.run(*_job(work, place), "--rw=write")
        return {rate: self._rate(work, place, rate) for rate in work.rates}

    def _rate(self, work: Data, place: Place, rate: str) -> float:
        options = [f"--rw={'rand' if work.order == 'random' else ''}{rate}"]
        options += ["--time_based", f"--runtime={work.seconds}", *self._reduced]
        if work.order == "random":
            # Each offset once, without a map of those that are done.
            options.append("--random_generator=lfsr")
        return parse(place.run(*_job(work, place), *options), rate)


def parse(output: str, direction: str) -> float:
    """Operations per second of `direction`, `write` or `read`, from the JSON of grouped jobs."""
    start = output.find("{")  # notes and warnings come before
    if start < 0:
        raise Failed("fio reports no JSON")
    jobs: list[dict[str, Any]] = json.loads(output[start:])["jobs"]
    if len(jobs) != 1 or jobs[0]["error"] != 0:
        raise Failed(f"fio reports {len(jobs)} groups of jobs, errors {[job['error'] for job in jobs]}")
    done = jobs[0][direction]
    if not done["runtime"]:
        raise Failed(f"fio did nothing that is a {direction}")
    return float(done["total_ios"] / done["runtime"] * 1000)


def _job(work: Data, place: Place) -> list[str]:
    tokens = ["fio", "--name=peers", "--group_reporting", "--output-format=json", "--eta=never"]
    # By itself fio would empty the page cache before a job, and give files their space before the clock starts.
    tokens += ["--invalidate=0", "--fallocate=none", f"--direct={int(work.direct)}", *_engine(work.depth)]
    tokens += [f"--directory={place.directory}", f"--numjobs={work.ranks}"]
    tokens += [f"--size={work.rank_bytes}", f"--bs={work.transfer_bytes}"]
    if work.payload == "unique":
        tokens.append("--refill_buffers")
    if work.layout == "N-N":
        return [*tokens, "--filename_format=fio.$jobnum"]
    return [*tokens, "--filename=fio", f"--offset_increment={work.rank_bytes}"]


def _engine(depth: int) -> list[str]:
    if depth == 1:
        return ["--ioengine=psync"]
    # Half of the queue is handed over, and awaited, together: fewer system calls. `nonvectored` spares an iovec.
    half = depth // 2
    tokens = ["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1", "--nonvectored=1", f"--iodepth={depth}"]
    tokens += [f"--iodepth_batch_submit={half}", f"--iodepth_batch_complete_min={half}"]
    return [*tokens, f"--iodepth_batch_complete_max={depth}"]

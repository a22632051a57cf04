"""elbencho: data (`--iodepth` above 1 is libaio) and metadata.

Its rate is that of "last done": all threads' operations over the time of the slowest, whole entries or I/Os per
second. In a directory the time includes open and close of each file; a file given by name is opened before.

Its ranks are threads of one process. Its random reads draw each offset afresh, its random writes visit each once.
Files are named relative to an open directory.
"""

from __future__ import annotations

import json
from typing import Literal

from tool import Failed, Manner, Place, version_in
from work import Data, Metadata, Work

_PHASES = {"write": "WRITE", "create": "WRITE", "stat": "STAT", "read": "READ", "remove": "RMFILES"}
_OPTIONS = {"write": "-w", "read": "-r"}


class Elbencho:
    """elbencho on one machine, without its service mode."""

    name = "elbencho"
    manner = Manner(paths="at", random_reads="random-with-replacement")

    def does(self, work: Work) -> bool:
        """Data and metadata."""
        return isinstance(work, Data | Metadata)

    def version(self, search_path: str) -> str:
        """Its version."""
        return version_in(r"Version: (\S+)", search_path, "elbencho", "--version")

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """Data: one command to make the files, one for each rate. Metadata: one command for all."""
        if isinstance(work, Metadata):
            return _metadata(work, place)
        assert isinstance(work, Data)
        file_set = _file_set(work, place)
        place.run(*_command(work, place, "prepare"), "-w", *file_set)
        return {rate: _data(work, place, rate, file_set) for rate in work.rates}


def parse(results: str, rate: str, per: Literal["entries/s", "iops"]) -> float:
    """Operations per second, from a file of results with one JSON object a line."""
    phase = _PHASES[rate]
    rows = [row for row in map(json.loads, results.splitlines()) if row["phase_type"] == phase]
    if len(rows) != 1:
        raise Failed(f"elbencho reports {len(rows)} phases {phase}, not one")
    return float(rows[0]["last_done"][per])


def _data(work: Data, place: Place, rate: str, file_set: list[str]) -> float:
    options = [_OPTIONS[rate], "--infloop", "--timelimit", str(work.seconds)]
    if work.order == "random":
        # Only reads: with an algorithm given, writes would no longer visit each offset once.
        options += ["--rand", "--randalgo", "fast"] if rate == "read" else ["--rand"]
    place.run(*_command(work, place, rate), *options, *file_set)
    return parse((place.scratch / f"{rate}.json").read_text(), rate, "iops")


def _metadata(work: Metadata, place: Place) -> dict[str, float]:
    size = str(work.file_bytes)
    options = ["-d", "-w", "--stat", "-r", "-F", "-D", "-n", "1", "-N", str(work.files_per_rank), "-s", size]
    if work.file_bytes:
        options += ["-b", size]
    if work.shared:
        options.append("--dirsharing")
    place.run(*_command(work, place, "metadata"), *options, place.directory)
    results = (place.scratch / "metadata.json").read_text()
    return {rate: parse(results, rate, "entries/s") for rate in work.rates}


def _file_set(work: Data, place: Place) -> list[str]:
    tokens = ["-b", str(work.transfer_bytes), "--iodepth", str(work.depth)]
    if work.direct:
        tokens.append("--direct")
    if work.layout == "N-N":
        return [*tokens, "-n", "0", "-N", "1", "-s", str(work.rank_bytes), str(place.directory)]
    size = str(work.ranks * work.rank_bytes)
    return [*tokens, "--nofdsharing", "-s", size, str(place.directory / "elbencho")]


def _command(work: Data | Metadata, place: Place, results: str) -> list[str]:
    tokens = ["elbencho", "-t", str(work.ranks), "--nolive", "--no0usecerr"]
    # By itself it fills each buffer anew, with its fast generator.
    unique = isinstance(work, Data) and work.payload == "unique"
    tokens += ["--blockvarpct", "100" if unique else "0"]
    # All three are written somewhere in any case.
    for option, suffix in (("--jsonfile", "json"), ("--csvfile", "csv"), ("--resfile", "txt")):
        tokens += [option, str(place.scratch / f"{results}.{suffix}")]
    return tokens

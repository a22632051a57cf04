"""Bare loops of system calls: see `bare/src/main.rs`. `cargo build --release -p ioassay-bench-bare` builds them."""

from __future__ import annotations

import json

from tool import Failed, Manner, Place, locate
from work import Data, Metadata, Train, Work

_PROGRAM = "ioassay-bench-bare"


class Bare:
    """pwrite and pread one after the other, and openat, fstatat and unlinkat in an open directory."""

    name = "bare"
    manner = Manner(paths="at")

    def does(self, work: Work) -> bool:
        """Metadata, samples, and data with one transfer in flight."""
        return isinstance(work, Metadata | Train) or (isinstance(work, Data) and work.depth == 1)

    def version(self, search_path: str) -> str:
        """It is of this repository."""
        locate(_PROGRAM, search_path)
        return "of this repository"

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """One command for all rates; with data it makes the files, too, before the clock starts."""
        assert isinstance(work, Data | Metadata | Train)
        options = _data(work) if isinstance(work, Data) else _metadata(_as_files(work))
        output = place.run(_PROGRAM, *options, "--ranks", work.ranks, place.directory)
        return {rate: parse(output, rate) for rate in work.rates}


def parse(output: str, operation: str) -> float:
    """Operations per second of `operation`, from one JSON object a line."""
    rows = [row for row in map(json.loads, output.splitlines()) if row["operation"] == operation]
    if len(rows) != 1:
        raise Failed(f"{_PROGRAM} reports {len(rows)} lines of {operation}, not one")
    return float(rows[0]["operations"] / rows[0]["ns"] * 1e9)


def _data(work: Data) -> list[str]:
    tokens = ["data", "--rank-bytes", str(work.rank_bytes), "--transfer-bytes", str(work.transfer_bytes)]
    tokens += ["--seconds", str(work.seconds)]
    flags = {"--random": work.order == "random", "--shared": work.layout == "N-1", "--direct": work.direct}
    return tokens + [flag for flag, given in flags.items() if given]


def _as_files(work: Metadata | Train) -> Metadata:
    """Samples are files that are made, opened, read whole and closed in the order of their numbers."""
    if isinstance(work, Metadata):
        return work
    return Metadata(work.name, work.samples // work.ranks, work.sample_bytes, shared=False, ranks=work.ranks)


def _metadata(work: Metadata) -> list[str]:
    tokens = ["metadata", "--files-per-rank", str(work.files_per_rank), "--file-bytes", str(work.file_bytes)]
    return [*tokens, "--shared"] if work.shared else tokens

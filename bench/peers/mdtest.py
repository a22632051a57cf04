"""mdtest: metadata.

Its rate is the items of all ranks over the slowest rank's time from barrier to barrier. It names files by full
paths that it puts together in the measured time. It has no output but a table.
"""

from __future__ import annotations

import re
from tempfile import TemporaryDirectory

from mpi import mpirun
from tool import Failed, Manner, Place, version_in
from work import CommandLine, Metadata, Work

_ROWS = {"create": "File creation", "stat": "File stat", "read": "File read", "remove": "File removal"}


class Mdtest:
    """mdtest's POSIX backend."""

    name = "mdtest"
    manner = Manner()

    def does(self, work: Work) -> bool:
        """Metadata, and its own command lines."""
        return isinstance(work, Metadata) or (isinstance(work, CommandLine) and work.tool == "mdtest")

    def version(self, search_path: str) -> str:
        """The version, printed by a run that creates one file."""
        with TemporaryDirectory(prefix="ioassay-peers-") as directory:
            return version_in(r"mdtest-(\S+) was launched", search_path, "mdtest", "-F", "-n", "1", "-d", directory)

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """One job for all rates."""
        if isinstance(work, CommandLine):
            return parse(place.run(*mpirun(work.ranks), *command_line(work, place)))
        assert isinstance(work, Metadata)
        sizes = ["-w", str(work.file_bytes), "-e", str(work.file_bytes)] if work.file_bytes else []
        unique = [] if work.shared else ["-u"]
        job = ["mdtest", "-a", "POSIX", "-F", *unique, *sizes, "-n", str(work.files_per_rank)]
        return parse(place.run(*mpirun(work.ranks), *job, "-d", place.directory / "mdtest"))


def command_line(work: CommandLine, place: Place) -> list[str]:
    """The whole command line, for mdtest as for ioassay's front end."""
    return ["mdtest", *work.arguments, "-d", str(place.directory / "mdtest")]


def parse(output: str) -> dict[str, float]:
    """Operations per second of each phase, from the table: means of all iterations."""
    return {rate: _mean(output, row) for rate, row in _ROWS.items()}


def _mean(output: str, row: str) -> float:
    # Operation, Max, Min, Mean, Std Dev.
    if match := re.search(rf"^\s*{row}\s+\S+\s+\S+\s+([0-9.]+)\s", output, re.MULTILINE):
        return float(match[1])
    raise Failed(f"mdtest reports no line `{row}`")

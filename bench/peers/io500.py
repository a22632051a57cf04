"""The official IO500 program: md-workbench, which it has inside.

Its rates are operations over the slowest rank's time: created files and directories; look, read, remove and create of
each file that is replaced; removed files and directories. The second of two iterations counts.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from mpi import mpirun
from tool import Failed, Manner, Place, version_in
from work import CommandLine, Work

_ROWS = {"create": "mdworkbench-create", "replace": "mdworkbench-bench", "remove": "mdworkbench-delete"}

_OTHERS = ("ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard", "find-easy", "find", "find-hard")


class Io500:
    """The official program."""

    name = "io500"
    manner = Manner()

    def does(self, work: Work) -> bool:
        """Its own command lines."""
        return isinstance(work, CommandLine) and work.tool == "io500"

    def version(self, search_path: str) -> str:
        """The version, printed by each run."""
        with TemporaryDirectory(prefix="ioassay-peers-") as directory:
            ini = _ini(Path(directory), Path(directory), files=1)
            return version_in(r"IO500 version (\S+)", search_path, "io500", ini, "--dry-run")

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """One run for all rates."""
        assert isinstance(work, CommandLine)
        return parse(place.run(*mpirun(work.ranks), *command_line(work, place)))


def command_line(work: CommandLine, place: Place) -> list[str]:
    """The whole command line, for the official program as for ioassay's front end."""
    (files,) = work.arguments
    return ["io500", str(_ini(place.directory / "io500", place.scratch, int(files))), "--mode=extended"]


def _ini(data: Path, results: Path, files: int) -> Path:
    """Only md-workbench, with so many files in each of a rank's ten sets."""
    others = "".join(f"[{section}]\nrun = FALSE\n" for section in _OTHERS)
    text = (
        f"[global]\ndatadir = {data}\nresultdir = {results}/results\n[debug]\nstonewall-time = 1\n"
        f"[mdworkbench]\nprecreatePerSet = {files}\nfilesPerProc = {files}\n{others}"
    )
    ini = results / "io500.ini"
    ini.write_text(text)
    return ini


def parse(output: str) -> dict[str, float]:
    """Operations per second of each phase, from its line: `[RESULT] mdworkbench-bench 120.834812 kIOPS`."""
    return {rate: _rate(output, row) for rate, row in _ROWS.items()}


def _rate(output: str, row: str) -> float:
    if match := re.search(rf"^\[\s*(?:RESULT)?\]\s+{row}\s+([0-9.]+) kIOPS", output, re.MULTILINE):
        return float(match[1]) * 1000
    raise Failed(f"io500 reports no line `{row}`")

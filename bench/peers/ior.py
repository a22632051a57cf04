"""IOR: data with one transfer in flight.

Its rate is bandwidth over `totalTime`, from the first rank's open to the last rank's close. It repeats its passes
itself (`minTimeDuration`), which is faster than repetitions (`-i`): those shuffle the offsets anew in the time
measured. Each transfer is a seek and a read or write; the buffer is written as it is (`-l timestamp`, its default), or
made of random bytes for each transfer (`-l random`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mpi import mpirun
from tool import Failed, Manner, Place, version_in
from work import CommandLine, Data, Work

_OPTIONS = {"write": "-w", "read": "-r"}


class Ior:
    """IOR's POSIX backend."""

    name = "ior"
    manner = Manner()

    def does(self, work: Work) -> bool:
        """Data, one transfer at a time, and its own command lines."""
        return (isinstance(work, Data) and work.depth == 1) or (isinstance(work, CommandLine) and work.tool == "ior")

    def version(self, search_path: str) -> str:
        """The version, printed by each run, even one without work."""
        return version_in(r"IOR-(\S+):", search_path, "ior", "--dryRun")

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """One job to make the files, one for each rate; a command line as it is."""
        if isinstance(work, CommandLine):
            place.run(*mpirun(work.ranks), *command_line(work, place))
            return rates(work, place)
        assert isinstance(work, Data)
        place.run(*_job(work, place), _OPTIONS["write"])
        return {rate: self._rate(work, place, rate) for rate in work.rates}

    def _rate(self, work: Data, place: Place, rate: str) -> float:
        summary = place.scratch / f"{rate}.json"
        options = ["-E", "-O", f"minTimeDuration={work.seconds}"]
        options += ["-O", "summaryFormat=JSON", "-O", f"summaryFile={summary}"]
        if work.order == "random":
            options.append("-z")
        place.run(*_job(work, place), _OPTIONS[rate], *options)
        return parse(summary.read_text(), rate)


def command_line(work: CommandLine, place: Place) -> list[str]:
    """The whole command line, for IOR as for ioassay's front end."""
    summary = ["-O", "summaryFormat=JSON", "-O", f"summaryFile={_summary(place)}"]
    return ["ior", *work.arguments, "-w", "-r", "-o", str(place.directory / "ior"), *summary]


def rates(work: CommandLine, place: Place) -> dict[str, float]:
    """The mean rates that a command line left in its summary."""
    accesses = {row["operation"]: row for row in json.loads(_summary(place).read_text())["summary"]}
    return {rate: float(accesses[rate]["OPsMean"]) for rate in work.rates}


def _summary(place: Place) -> Path:
    return place.scratch / "summary.json"


def parse(summary: str, access: str) -> float:
    """Operations per second of `access`, `write` or `read`, from a summary in JSON."""
    results: list[dict[str, Any]] = json.loads(summary)["tests"][0]["Results"]
    rates = [row["bwMiB"] * 1024 / row["xferKiB"] for row in results if row["access"] == access]
    if len(rates) != 1:
        raise Failed(f"IOR reports {len(rates)} results of {access}, not one")
    return float(rates[0])


def _job(work: Data, place: Place) -> list[str]:
    tokens = [*mpirun(work.ranks), "ior", "-a", "POSIX", "-k"]
    tokens += ["-b", str(work.rank_bytes), "-t", str(work.transfer_bytes), "-o", str(place.directory / "ior")]
    if work.layout == "N-N":
        tokens.append("-F")
    if work.payload == "unique":
        tokens += ["-l", "random"]
    return [*tokens, "--posix.odirect"] if work.direct else tokens

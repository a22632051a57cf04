"""pfind: the parallel find of the IO500.

Its rate is the files that it came by, without directories, over the slowest rank's time. That begins after each
rank has touched the memory of its queue, some 400 MB. `-newer` compares times in whole seconds.
"""

from __future__ import annotations

import re

from find_tree import STAMP, TREE, expect
from mpi import mpirun
from tool import Failed, Manner, Place, locate
from work import Find, Work


class Pfind:
    """pfind with its default queue, which is the fastest here, counting and not printing what it finds."""

    name = "pfind"
    manner = Manner()

    def does(self, work: Work) -> bool:
        """Find only."""
        return isinstance(work, Find)

    def version(self, search_path: str) -> str:
        """It has none."""
        locate("pfind", search_path)
        return "tells none"

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """One walk."""
        assert isinstance(work, Find)
        conditions = ["-newer", str(place.directory / STAMP), "-size", f"{work.size_bytes}c", "-name", work.pattern]
        output = place.run(*mpirun(work.ranks), "pfind", place.directory / TREE, *conditions, "-C", "-D", "rates")
        matches, scanned, rate = parse(output)
        expect(work, matches=matches, scanned=scanned)
        return {"find": rate}


def parse(output: str) -> tuple[int, int, float]:
    """Files found, files scanned, and files scanned per second."""
    pattern = r"^\[DONE\] rate: ([0-9.]+) kiops time: .* found: (\d+) \(scanned (\d+) files"
    if match := re.search(pattern, output, re.MULTILINE):
        return int(match[2]), int(match[3]), float(match[1]) * 1000
    raise Failed("pfind reports no line `[DONE]`")

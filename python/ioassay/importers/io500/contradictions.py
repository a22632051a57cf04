"""What a submission prints in more than one place, compared: a difference is a doubt that names both places and values.

Not: what a phase's own file says (`cases`), whether scores follow from phases (`ioassay.analysis.printed_scores`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ioassay.importers import doubts
from ioassay.importers.io500 import score_hash
from ioassay.importers.io500.result_ini import Sections
from ioassay.importers.model import Doubt
from ioassay.importers.numbers import Printed

_TIME = "time of "


@dataclass(frozen=True)
class Place:
    """A file that prints numbers, by what they are of: a phase, `time of` a phase, or a score."""

    file: Path
    numbers: Mapping[str, Printed]


def by_phase(places: Sequence[Place], sections: Sections, file: Path, phases: Sequence[str]) -> dict[str, list[Doubt]]:
    """The doubts of each phase. What concerns a score concerns every phase."""
    found: defaultdict[str, list[Doubt]] = defaultdict(list)
    for name, doubt in [*_differences(places), *_edited(sections, file)]:
        for phase in [name] if name in phases else phases:
            found[phase].append(doubt)
    return found


def _differences(places: Sequence[Place]) -> Iterator[tuple[str, Doubt]]:
    """What two places print differently, after the phase that it is of, or what else it is of."""
    for one, other in combinations(places, 2):
        for name, value in one.numbers.items():
            if name in other.numbers and not value.agrees(other.numbers[name]):
                what = f"{name}: " if not name.startswith(("ior-", "mdtest-", "find", "mdworkbench-")) else ""
                yield (
                    name.removeprefix(_TIME),
                    doubts.does_not_add_up(
                        f"{what}{one.file.name} has {value.text}, but {other.file.name} {other.numbers[name].text}"
                    ),
                )


def _edited(sections: Sections, file: Path) -> Iterator[tuple[str, Doubt]]:
    """Hashes of a score that are not of the numbers beside them."""
    for one in score_hash.hashes(sections):
        if one.rule is None:
            yield (
                one.section,
                Doubt(
                    kind="score-hash",
                    message=f"{file.name} has the hash {one.printed} for its scores, but their hash is {one.expected}: "
                    "a number in it was changed after the run, or another program wrote it",
                    remedy="import the files as the program wrote them",
                    evidence={"line": one.line, "printed": one.printed, "expected": one.expected},
                ),
            )

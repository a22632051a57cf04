"""Compares numbers that a submission prints in several places: a difference is a doubt that names both.

Not: a phase's own file (`cases`), whether scores follow from phases (`ioassay.analysis.printed_scores`).
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
    """A file with its numbers by name: a phase, `time of` a phase, or a score."""

    file: Path
    numbers: Mapping[str, Printed]


def by_phase(places: Sequence[Place], sections: Sections, file: Path, phases: Sequence[str]) -> dict[str, list[Doubt]]:
    """The doubts of each phase; a doubt about a score applies to every phase."""
    by_phase_name: defaultdict[str, list[Doubt]] = defaultdict(list)
    for name, doubt in [*_differences(places), *_edited(sections, file)]:
        for phase in [name] if name in phases else phases:
            by_phase_name[phase].append(doubt)
    return by_phase_name


def _differences(places: Sequence[Place]) -> Iterator[tuple[str, Doubt]]:
    """Numbers that differ between two places, after the phase or score they are of."""
    for first, second in combinations(places, 2):
        for name, value in first.numbers.items():
            if name in second.numbers and not value.agrees(second.numbers[name]):
                label = f"{name}: " if not name.startswith(("ior-", "mdtest-", "find", "mdworkbench-")) else ""
                yield (
                    name.removeprefix(_TIME),
                    doubts.does_not_add_up(
                        f"{label}{first.file.name} has {value.text}, but {second.file.name} {second.numbers[name].text}"
                    ),
                )


def _edited(sections: Sections, file: Path) -> Iterator[tuple[str, Doubt]]:
    """Hashes of a score that do not match the numbers beside them."""
    for printed_hash in score_hash.hashes(sections):
        if printed_hash.rule is None:
            yield (
                printed_hash.section,
                Doubt(
                    kind="score-hash",
                    message=f"{file.name} has the hash {printed_hash.printed} for its scores, but their hash is "
                    f"{printed_hash.expected}: a number in it was changed after the run, or another program wrote it",
                    remedy="import the files as the program wrote them",
                    evidence={
                        "line": printed_hash.line,
                        "printed": printed_hash.printed,
                        "expected": printed_hash.expected,
                    },
                ),
            )

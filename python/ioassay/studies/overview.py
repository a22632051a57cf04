"""What a study is and what it needs, in a few lines: for choosing one.

Those of the built-in studies stand in a file that `studies.needs` writes, so that a list of them comes at once: working
out what a study needs takes all of its cases with their plans.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ioassay.text.units import format_about_bytes, format_count

BUILTIN = resources.files("ioassay.studies") / "builtin" / "overviews.json"
"""The overviews of the built-in studies, without their YAML."""


@dataclass(frozen=True)
class Need:
    """What one scale of a study takes."""

    scale: str | None
    """`None` for a study without scales."""
    cases: int
    at_once_bytes: int
    """The largest file set: cases follow one another and remove their files."""
    written_bytes: int
    """By all cases together, in one pass over the files of each phase."""
    walled: bool
    """Stonewalls may end phases before that."""
    again: bool
    """Phases with a minimum time may write their files more than once."""
    stops_early: bool
    """Stop rules may spare some of the cases."""


@dataclass(frozen=True)
class Overview:
    """A study, for choosing one."""

    name: str
    title: str
    question: str
    yaml: str
    needs: list[Need]

    def text(self) -> str:
        """The overview for a terminal."""
        lines = [self.name, f"  {self.title}"]
        for need in self.needs:
            size = f"{format_about_bytes(need.at_once_bytes)} at once, {format_about_bytes(need.written_bytes)} written"
            scale = f"--scale {need.scale}: " if need.scale else "needs "
            less = ", less where a stonewall comes earlier" if need.walled else ""
            more = ", more where a minimum time needs further passes" if need.again else ""
            at_most = "at most " if need.stops_early else ""
            lines.append(f"  {scale}{size} in {at_most}{format_count(need.cases, 'case')}{less}{more}")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """The overview as a JSON document."""
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "needs": [vars(need) for need in self.needs],
            "yaml": self.yaml,
        }


def builtin_overviews() -> list[Overview]:
    """The overviews of the built-in studies, in the order of their names."""
    folder = resources.files("ioassay.studies") / "builtin"
    return [
        Overview(
            **{**stored, "needs": [Need(**need) for need in stored["needs"]]},
            yaml=(folder / f"{stored['name']}.yaml").read_text(encoding="utf-8"),
        )
        for stored in json.loads(BUILTIN.read_text(encoding="utf-8"))
    ]

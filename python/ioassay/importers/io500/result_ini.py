"""`result.txt`: a section for each phase, with what the summary lacks: the command, the rate at the stonewall, the
matches of a find.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.importers.numbers import Printed
from ioassay.importers.source import Refused, Source

_SECTION = re.compile(r"\[([\w-]+)\]\s*")
_INVALID = "[INVALID]"
_NUMBERS = frozenset(
    [
        *("score", "t_delta", "throughput-stonewall", "rate-stonewall", "total-files", "found"),
        *("MD", "BW", "SCORE"),
    ]
)
"""Keys whose values are numbers."""

_VALUE = re.compile(r"([\w-]+)\s*=\s*(.*?)\s*")


@dataclass(frozen=True)
class Value:
    """The text after a `=`, with its line."""

    line: int
    text: str

    @property
    def number(self) -> Printed:
        """The value as a number. Raises `Refused`."""
        return Printed.of(self.valid_text, self.line)

    @property
    def valid_text(self) -> str:
        """The text without the `[INVALID]` that may follow."""
        return self.text.removesuffix(_INVALID).rstrip()


Sections = Mapping[str, Mapping[str, Value]]
"""Values by section and key; lines before the first section are in `run`, where newer versions have them."""


def read(source: Source) -> Sections:
    """Raises `Refused` if sections of the IO500 or a score are missing, or a value is not a number."""
    if not source.text.endswith("\n"):
        raise Refused("ends in the middle of a line: it was cut off", len(source.lines))
    sections: dict[str, dict[str, Value]] = {"run": {}}
    section = sections["run"]
    for number, line in enumerate(source.lines, start=1):
        if match := _SECTION.fullmatch(line.strip()):
            section = sections.setdefault(match[1], {})
        elif match := _VALUE.fullmatch(line.strip()):
            section[match[1]] = value = Value(number, match[2])
            if match[1] in _NUMBERS:
                _ = value.number
    if "ior-easy-write" not in sections:
        raise Refused("has no section [ior-easy-write]: it is not an IO500 result")
    if "SCORE" not in sections.get("SCORE", {}):
        raise Refused("ends before the score: the run was cut off", len(source.lines))
    return sections

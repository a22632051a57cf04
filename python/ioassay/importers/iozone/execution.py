"""An execution of IOzone: its lines, and the values that apply to all its tests. Not: the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ioassay.importers.command_line import Options
from ioassay.importers.source import Source
from ioassay.protocol.facts import IOZONE_VALUED

_BANNER = "Iozone: Performance Test of File I/O"
_VERSION = re.compile(r"Version \$Revision: ([\d.]+) \$|the command line of IOzone ([\d.]+) on (ioassay-engine [\d.]+)")
_COMMAND = re.compile(r"\s*Command line used: (.+?)\s*$")
_BEGAN = re.compile(r"\s*Run began: (.+?)\s*$")
_MACHINE = re.compile(r"\s*Machine = (.+?)\s*$")
_INTERRUPTED = "iozone: interrupted"
_UNITS = {
    "output is in kbytes/sec": "kB/s",
    "ops mode.": "operations/s",
    "microseconds/op mode.": "microseconds",
}


@dataclass(frozen=True)
class Execution:
    """The lines of an execution, each with its number."""

    lines: Sequence[tuple[int, str]]
    ends_open: bool
    """True if the last line has no line feed: it may be truncated."""

    @property
    def line(self) -> int:
        """The first line."""
        return self.lines[0][0]

    @cached_property
    def is_whole_output(self) -> bool:
        """True if it begins with IOzone's banner, which an excerpt lacks."""
        return any(_BANNER in text for _, text in self.lines)

    @cached_property
    def interrupted(self) -> int | None:
        """The line that reports the signal that ended it: the line above may be incomplete."""
        return next((number for number, text in self.lines if text.strip() == _INTERRUPTED), None)

    @cached_property
    def version(self) -> str | None:
        match = self._first(_VERSION)
        return None if match is None else match[1] or f"{match[2]} ({match[3]})"

    @cached_property
    def command(self) -> str:
        """The command line; empty if unknown."""
        match = self._first(_COMMAND)
        return match[1] if match else ""

    @cached_property
    def options(self) -> Options:
        return Options(self.command, IOZONE_VALUED)

    @cached_property
    def tests(self) -> list[int]:
        """The numbers after `-i`; empty if all, or unknown."""
        words = self.options.words
        texts = [words[index + 1] for index, word in enumerate(words[:-1]) if word == "-i"]
        texts += [word[2:] for word in words if re.fullmatch(r"-i\d+", word)]
        return [int(text) for text in texts if text.isdecimal()]

    @cached_property
    def unit(self) -> str | None:
        """Unit of the table: `kB/s`, `operations/s` or `microseconds`; `None` if unknown."""
        units = {
            unit for _, text in self.lines for mark, unit in _UNITS.items() if text.strip().lower().startswith(mark)
        }
        # kB/s is printed together with another mode.
        return next((unit for unit in ("microseconds", "operations/s", "kB/s") if unit in units), None)

    @cached_property
    def began(self) -> str | None:
        match = self._first(_BEGAN)
        return match[1] if match else None

    @cached_property
    def machine(self) -> str | None:
        """Name of the machine, if it was requested."""
        match = self._first(_MACHINE)
        return match[1] if match else None

    def says(self, text: str) -> bool:
        """True if a line contains `text`."""
        return any(text in line for _, line in self.lines)

    def _first(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return next((match for _, text in self.lines if (match := pattern.search(text))), None)


def executions(source: Source) -> Iterator[Execution]:
    """The executions in a file: each begins with IOzone's banner."""
    last = len(source.lines)
    begins = [number for number, text in enumerate(source.lines, start=1) if _BANNER in text]
    bounds = [1, *(number for number in begins if number > 1), last + 1]
    for begin, end in pairwise(bounds):
        lines = [(number, source.lines[number - 1]) for number in range(begin, end)]
        yield Execution(lines, ends_open=end == last + 1 and source.lines[-1] != "")

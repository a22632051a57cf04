"""The numbers of a text by line, with units and qualifiers: facts with which the built-in systems are compared.

    python -m ioassay.systems.extract DIR            writes `testdata` from the texts in DIR
    python -m ioassay.systems.extract DIR --check    fails where `testdata` is not what these texts print

The texts themselves are not part of ioassay. For the checkout only. Not: what a number means (`builtin`).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ioassay.systems.amounts import UNITS, WORDS
from ioassay.systems.model import Qualifier

TESTDATA = Path(__file__).with_name("testdata")

_OTHER_UNITS = ("GHz", "MHz", "Mhz", "G", "GbE", "Gpbs", "Kb", "W", "C", "T", "U", "GT/秒", "GT/s", "HDDs")
"""Units that are printed of hardware, and not computed with."""

_SAID = (*WORDS, "almost double", "similar", "better", "outperformed", "superior")
"""Words that figures and claims rest on in place of numbers."""


_QUALIFIERS: dict[Qualifier, str] = {
    "about": r"(?<![0-9])~ ?|(?i:\b(?:approximately|about|around|roughly)\s+)",
    "up-to": r"(?i:\bup to\s+)|最大 ?",
}
"""The words before a number that is qualified so, possibly at the end of the line above."""


def _pattern() -> re.Pattern[str]:
    longest_first = sorted({*UNITS, *_OTHER_UNITS} - {""}, key=len, reverse=True)
    spaced = [re.sub(r"^([KkM万])(?=IO|io|op|files)", r"\1 ?", re.escape(unit)) for unit in longest_first]
    apart = [text for unit, text in zip(longest_first, spaced, strict=True) if len(unit) > 1]
    number = r"(?<![A-Za-z0-9_])(?<![0-9]\.)(?<![A-Za-z]-)[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)*"
    unit = rf"(?:(?:{'|'.join(spaced)})| (?:{'|'.join(apart)}))(?![A-Za-z0-9])"
    words = "|".join(sorted(_SAID, key=len, reverse=True))
    return re.compile(rf"{number}(?:{unit})?|(?i:\b(?:{words})\b)")


_TOKEN = _pattern()


@dataclass(frozen=True)
class Printed:
    """The numbers that a text prints."""

    sha256: str
    """The checksum of the text."""
    lines: dict[str, list[str]]
    """By the number of a line, from 1: its numbers with their units, and the words of `_SAID`, as they stand there."""
    qualified: dict[Qualifier, dict[str, list[str]]]
    """The qualified ones, by qualifier and by line."""


def tokens(line: str) -> list[str]:
    """The numbers of a line with their units, as they stand there: `9.9 Gbits/sec`, `140K`, `7x`, `64`."""
    return _TOKEN.findall(line)


def extract(text: bytes) -> Printed:
    """The numbers of a text in UTF-8."""
    lines = text.decode().split("\n")
    lines_of_tokens = {str(number): tokens(line) for number, line in enumerate(lines, start=1)}
    printed = {number: here for number, here in lines_of_tokens.items() if here}
    qualified = {qualifier: _qualified(text.decode(), before) for qualifier, before in _QUALIFIERS.items()}
    return Printed(hashlib.sha256(text).hexdigest(), printed, qualified)


def _qualified(text: str, before: str) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {}
    for match in re.finditer(f"(?:{before})({_TOKEN.pattern})", text):
        lines.setdefault(str(text.count("\n", 0, match.start(1)) + 1), []).append(match[1])
    return lines


def read_printed() -> dict[str, Printed]:
    """The extracted numbers, by the name of the text."""
    files = sorted(TESTDATA.glob("*.json"))
    return {f"{file.stem}.txt": Printed(**json.loads(file.read_text())) for file in files}


def main(arguments: Sequence[str]) -> int:
    """Writes or checks; returns the exit code."""
    directory, *options = arguments or [""]
    texts = {file.name: extract(file.read_bytes()) for file in sorted(Path(directory).glob("*.txt"))}
    if not texts or options not in ([], ["--check"]):
        print("give the directory of the texts, and --check or nothing", file=sys.stderr)
        return 2
    if options:
        stored = read_printed()
        wrong = sorted(name for name in {*texts, *stored} if texts.get(name) != stored.get(name))
        print(*(f"{name}: is not as in {TESTDATA}" for name in wrong), sep="\n", file=sys.stderr)
        return 1 if wrong else 0
    for name, printed in texts.items():
        content = json.dumps(asdict(printed), ensure_ascii=False, indent=1)
        # A line of a text is a line here.
        content = re.sub(r"\[\s+([^]]*?)\s+\]", lambda match: "[" + re.sub(r"\s*\n\s*", " ", match[1]) + "]", content)
        (TESTDATA / name).with_suffix(".json").write_text(content + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

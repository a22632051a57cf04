"""Words and phrases that are no plain English, each with what to write instead. `make lint-python` rejects them.

    python -m ioassay.testing.plain_english [PLACE…]   lists where one is used: file, line, what to write instead

Checked are documents, and messages, comments, docstrings and names of programs; of tests all but the messages. For the
checkout only. Not here: grammar, spelling.
"""

from __future__ import annotations

import re
import subprocess
import sys
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]

PHRASES: Mapping[str, str] = {
    "an own": "its own …, a … of your own",
    "anybody, somebody, whoever": "who it is: a user, an administrator, another process",
    "be had": "is available",
    "come to an end, come to its end, comes to an end, comes to its end": "end",
    "dealt out": "distributed",
    "did not tell, do not tell, does not tell": "does not state, report or publish",
    "errand": "request",
    "fares": "state of …",
    "for who": "for users who",
    "gravest": "most severe, highest",
    "has been heard, have been heard": "heartbeat, reply",
    "here most of all": "this is the worst",
    "in turns, by turns": "alternating, alternately",
    "are said, is said, was said, were said": "is stated, reported, printed",
    "is so in": "is affected",
    "known better than": "the interval is …",
    "lays down": "specifies",
    "lives it, lives through": "runs",
    "looked at": "examined, checked, sampled",
    "mend, mended, mending, mends": "fix",
    "next to nothing": "almost none; stalled",
    "nobody can, nobody knows, nobody looks": "it is unknown, not possible, not checked",
    "nothing of it, nothing of them": "none of it",
    "of before": "previous",
    "of who": "of the … that",
    "small letters": "lower-case letters",
    "tell apart, tell of, tells apart, tells of": "distinguish, report",
    "told": "reported, stated, distinguished, given",
    "truly": "significantly, really",
    "what became of, what becomes of, what came of": "the result of …, what happened to …",
}
"""Phrases, whose words are whole ones, and what to write instead."""

NAMES: Mapping[str, str] = {
    "at": "index, path, position",
    "did": "result",
    "found": "the noun that it is: files, matches, findings",
    "one": "the noun that it is: row, phase, finding",
    "own": "whose it is: rank_rows, node_files",
    "said": "output, message",
    "told": "message, report",
    "Asked, Ended, Found, Given, Held, Known, Ran, Said, Shown, Told": "the noun that it is",
}
"""Names of variables and types, and what to call them instead."""

ALLOWED: Mapping[str, Sequence[str]] = {
    "at": (
        "python/ioassay/sizing/components.py",
        "python/ioassay/sizing/configuration.py",
        "python/ioassay/sizing/quantities.py",
        "python/ioassay/systems/model.py",
    ),
}
"""Where a phrase is right, in lower case: directories and files."""


_DOCUMENTS = re.compile(r"[^/]+\.md|docs/.+\.md|(?:examples|python/ioassay)/.+\.yaml")
_PROGRAMS = re.compile(r"(?:python/ioassay|crates/[^/]+/src|plugins)/.+\.(?:py|rs|c|h)")
_UNSEEN = re.compile(r"(?:^|/)(?:testing|testdata|protocol|test_[^/]*|conftest\.py|tests\.rs)(?:/|$)")
"""No user reads messages of tests; `python/ioassay/protocol` is generated."""


class Fault(NamedTuple):
    """A phrase or a name that is wrong where it stands."""

    file: str
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: “{self.text}”: write {self.instead}"


_GAP = r'[\s#/!*"\\]+'
"""Between two words of a phrase: also the next line of a comment, and a string that is continued on it."""

_WHOLE = r"(?![\w`\-\[\]{}()]|\.\w)"
"""Behind a word: it is whole, and no expression in a string."""

_INSIDE = re.compile(r"[\w`.{-]")
"""Before a word: it is part of another word, an attribute, or quoted."""


class _Phrase(NamedTuple):
    pattern: re.Pattern[str]
    """It begins with letters: with anything else, the search would take ten times as long."""
    word: str
    """The longest of its words, because looking for one is faster still."""
    instead: str


def _compiled(table: Mapping[str, str], behind: str) -> list[_Phrase]:
    return [
        _Phrase(re.compile(rf"{_GAP.join(phrase.split())}{behind}"), max(phrase.split(), key=len), instead)
        for phrases, instead in table.items()
        for phrase in phrases.split(", ")
    ]


_PHRASES, _NAMES = _compiled(PHRASES, _WHOLE), _compiled(NAMES, r"(?!\w)")

_CHARACTERS = r"'(?:[^'\\\n]|\\[^\n])*'"
_PYTHON = re.compile(r'(?P<comment>#[^\n]*|"""[\s\S]*?""")|(?P<message>"(?:[^"\\\n]|\\.)*"|' + _CHARACTERS + ")")
_RUST = re.compile(
    r'(?P<comment>//[^\n]*)|(?P<message>r#"[\s\S]*?"#|"(?:[^"\\]|\\[\s\S])*"|' + r"'(?:[^'\\\n]|\\[^'\n]+|\\')')"
)
_C = re.compile(r'(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)|(?P<message>"(?:[^"\\\n]|\\.)*"|' + _CHARACTERS + ")")
_LANGUAGES = {".py": _PYTHON, ".rs": _RUST, ".c": _C, ".h": _C}
"""The parts of a language that are no code. A string in three quotes counts as a docstring."""

_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.MULTILINE)


def faults(file: str, text: str) -> Iterator[Fault]:
    """The faults in a file, which is named as in the checkout."""
    is_program = _PROGRAMS.fullmatch(file) and not _UNSEEN.search(file)
    has_messages = bool(_DOCUMENTS.fullmatch(file) or is_program)
    if file.endswith(".rs") and (tests := _RUST_TESTS.search(text)):
        text = text[: tests.start()]
    pieces: list[tuple[int, int, str]] | None = None
    for phrases, searched in ((_PHRASES, text.lower()), (_NAMES, text)):
        for pattern, word, instead in phrases:
            for match in pattern.finditer(searched) if word in searched else ():
                if match.start() and _INSIDE.match(text, match.start() - 1):
                    continue
                pieces = _pieces(Path(file).suffix, text) if pieces is None else pieces
                kind = _kind(pieces, match.start())
                phrase = " ".join(re.split(_GAP, match.group()))
                if (
                    (has_messages or kind != "message")
                    and (kind == "code") == (phrases is _NAMES)
                    and not _is_in(file, ALLOWED.get(phrase, ()))
                ):
                    yield Fault(file, text.count("\n", 0, match.start()) + 1, phrase, instead)


def _is_in(file: str, places: Sequence[str]) -> bool:
    return any(file == place or file.startswith(f"{place.rstrip('/')}/") for place in places)


def _pieces(suffix: str, text: str) -> list[tuple[int, int, str]]:
    """Begin, end and kind of the messages and comments of a program; a document is one message."""
    if language := _LANGUAGES.get(suffix):
        return [(*match.span(), match.lastgroup or "") for match in language.finditer(text)]
    return [(0, len(text), "message")]


def _kind(pieces: Sequence[tuple[int, int, str]], place: int) -> str:
    """`message` or `comment`; what is in neither is `code`."""
    before = bisect(pieces, place, key=lambda piece: piece[0]) - 1
    return pieces[before][2] if before >= 0 and place < pieces[before][1] else "code"


def main(places: Sequence[str]) -> int:
    """Exit code 1: there is something to rewrite."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *places]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    wrong = [
        fault
        for file in files
        if (file.endswith((".md", ".yaml")) or Path(file).suffix in _LANGUAGES) and (ROOT / file).is_file()
        for fault in faults(file, (ROOT / file).read_text("utf-8"))
    ]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

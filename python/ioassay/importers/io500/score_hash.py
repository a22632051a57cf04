"""Checks the hash of a score: whether the numbers in `result.txt` are those that the program hashed.

The program hashes its version, each phase's score and the score itself, as it prints them, and combines the hashes by
exclusive or (IO500/io500, `src/main.c` and `u_hash_update_key_val` of `src/util.c`). What it hashes differs:
io500-isc21_v1 left out both means; what verifies a file counts every phase, also optional ones, which the program
hashes with the extended score; an invalid run adds that it is none. It can be computed anew: it shows edits only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ioassay.importers.io500.result_ini import Sections, Value
from ioassay.protocol.facts import IO500_PHASES

_STANDARD = frozenset(phase.name for phase in IO500_PHASES if "standard" in phase.lists)
_UNSCORED = frozenset({"timestamp", "mdworkbench-create", "mdworkbench-delete"})
"""Phases whose score is printed and counts in no list."""

_MEANS = ("MD", "BW")
_BITS = 0xFFFFFFFF


@dataclass(frozen=True)
class ScoreHash:
    """The hash that stands in a section."""

    section: str
    line: int
    printed: str
    expected: str
    """The hash of the printed numbers, as most versions compute it."""
    rule: str | None
    """The rule that the printed hash follows, in words; `None` if none: a number was changed."""


def hashes(sections: Sections) -> Iterator[ScoreHash]:
    """The hashes in a `result.txt`, of the standard and the extended score."""
    for name in ("SCORE", "SCOREX"):
        section = sections.get(name, {})
        if "hash" not in section or "SCORE" not in section:
            continue
        printed = section["hash"]
        rules_by_hash = {f"{value:X}": rule for rule, value in reversed([*_rules(sections, section, name)])}
        expected = next(iter(_rules(sections, section, name)))[1]
        yield ScoreHash(name, printed.line, printed.text, f"{expected:X}", rules_by_hash.get(printed.text.upper()))


def _rules(sections: Sections, score: Mapping[str, Value], name: str) -> Iterator[tuple[str, int]]:
    """The rules of different versions in words, each with its hash; the most common first."""
    scores = {phase: section["score"] for phase, section in sections.items() if "score" in section}
    total = _of("SCORE", score["SCORE"])
    means = _all({key: score[key] for key in _MEANS if key in score})
    optional = _all({phase: value for phase, value in scores.items() if phase not in _STANDARD | _UNSCORED})
    if name == "SCOREX":
        kinds = {"optional phases, means and score": optional ^ means ^ total}
    else:
        version = sections["run"].get("version")
        standard = _all({phase: value for phase, value in scores.items() if phase in _STANDARD})
        standard ^= total ^ (0 if version is None else _of("version", version))
        kinds = {
            "phases, means and score": standard ^ means,
            "phases and score, without the means (io500-isc21_v1)": standard,
            "phases with the optional ones, means and score": standard ^ means ^ optional,
        }
    invalid = _hash("valid", "NO")
    for rule, value in kinds.items():
        yield rule, value
        yield f"{rule}, of an invalid run", value ^ invalid


def _all(values: Mapping[str, Value]) -> int:
    combined = 0
    for key, value in values.items():
        combined ^= _of(key, value)
    return combined


def _of(key: str, value: Value) -> int:
    return _hash(key, value.valid_text)


def _hash(*texts: str) -> int:
    value = 0
    for byte in "".join(texts).encode("utf-8", "surrogateescape"):
        signed = byte - 256 if byte > 127 else byte
        value = ((value << 2 & _BITS | value >> 30) + signed) & _BITS
    return value

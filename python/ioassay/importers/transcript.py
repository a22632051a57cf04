"""What launchers, logs and terminals make of a tool's output: a prefix before each line, colours, wrapped lines.

A prefix names a rank, a moment, or both. It is taken off where at least half of the lines between its first and last
have it, so that no line of a tool is taken for one by chance. Ranks whose lines are mixed are separated, and the one
that has results is read. Numbers of lines, of results and of refusals, stay those of the file. Formats: Open MPI 4.1
and 5 (`--tag-output`, `--timestamp-output`), Hydra (`-prepend-rank`), Slurm (`srun -l`), Kubernetes (`--timestamps`,
`--prefix`), Blue Gene (`stdout[0]`), moreutils (`ts`).

Not: what the lines mean, opening files (`source`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from ioassay.importers.source import Refused, Source

_MOMENT = r"(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?:{_MOMENT} ?)?\[(?P<rank>[^\]\s]*\d+,\d+)\]<(?P<stream>stdout|stderr)>:",
        rf"{_MOMENT}<(?P<stream>stdout|stderr)>:",
        r"(?P<stream>stdout|stderr)\[(?P<rank>\d+)\]:",
        r"\[(?P<rank>\d+)\](?= |$)",
        r" *(?P<rank>\d+):(?= |$)",
        r"\[(?P<rank>pod/[^\]\s]+)\](?= |$)",
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)(?= |$)",
        rf"{_MOMENT}(?= |$)",
    )
)
"""The prefixes that are known. With a rank or a stream, lines are told apart by it."""

_MOST_PREFIXES = 3
"""How many may stand before each other: a log's moment before the tag of a launcher."""

_FEWEST_LINES = 3
"""With less of them, every line must have the prefix."""

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>])")
"""What a terminal takes for a colour, a movement or a title."""

_COMMAND = re.compile(r"Command line(?: used)?\s*:")
_KEY = re.compile(r"\s*[A-Za-z][A-Za-z ]*[:=]")
"""What follows a command line that was not wrapped."""

_FEWEST_COLUMNS = 4
_SAME_COLUMNS = 0.8
"""The share of words that begin in the same columns in two rows of a table."""

_NARROWEST = 40
"""Columns of the narrowest terminal whose wrapping is undone."""

_Stream = tuple[str, ...]
Found = TypeVar("Found")


def unknown_prefix(line: str, at: int) -> str | None:
    """Why there is no result, where the first line of a tool is found at the column `at` of `line`; else `None`."""
    before = line[:at]
    if not before.strip():
        return None
    return f"has {before[-40:]!r} before the tool's lines, which is an unknown prefix: remove it from every line"


class _Mixed(Refused):
    """Several processes have results in one file."""


def read(
    source: Source,
    reader: Callable[[Source], Found],
    amount: Callable[[Found], int] = lambda _: 1,
    renumbered: Callable[[Found, Path, Sequence[int]], Found] | None = None,
) -> Found:
    """What `reader` makes of a file whose lines may have prefixes or be wrapped. `amount` is how much it found.

    Lines of other ranks and parts of wrapped lines are left out, and `renumbered` gives what was found with the numbers
    that lines have in the file. A reader that does not mind empty lines needs none: they are empty for it.

    Raises `Refused`: what `reader` says of the lines without their prefixes; or where several ranks have results.
    """
    plain: list[Found] = []
    refused: Refused | None = None
    try:
        plain.append(_of_one_rank(source, source.lines, reader, renumbered))
    except _Mixed:
        raise
    except Refused as error:
        refused = error
    whole = _unwrapped(source.lines)
    if whole is not None and (refused is not None or _has_wrapped_command(source)):
        try:
            joined = _of_one_rank(source, whole, reader, renumbered)
        except Refused:
            pass  # nothing was wrapped: what the lines themselves say counts
        else:
            if not plain or amount(joined) >= amount(plain[0]):
                return joined
    if refused is not None:
        raise refused
    return plain[0]


def _of_one_rank(
    source: Source,
    lines: Sequence[str | None],
    reader: Callable[[Source], Found],
    renumbered: Callable[[Found, Path, Sequence[int]], Found] | None,
) -> Found:
    """What `reader` makes of the only rank that has results. Of `lines` those that are `None` are left out."""
    found: list[tuple[_Stream, Found]] = []
    refusals: list[Refused] = []
    for place, (name, own) in enumerate(_streams(lines)):
        kept = [at for at, line in enumerate(own) if line is not None] if renumbered is not None else range(len(own))
        numbers = [at + 1 for at in kept]
        is_same = own == source.lines
        text = source.text if is_same else "\n".join(own[at] or "" for at in kept)
        try:
            result = reader(source if is_same else replace(source, text=text))
        except Refused as error:
            if error.line is not None:
                error.line = numbers[min(error.line, len(numbers)) - 1]
            refusals.append(error)
            continue
        found.append((name, renumbered(result, source.path, numbers) if renumbered and not is_same else result))
        if place == 0:
            break  # prefixes are the tool's own: IOR has the rank before what it says of a stonewall
    if len(found) > 1:
        ranks = ", ".join(" ".join(name) for name, _ in found[:4])
        raise _Mixed(
            f"mixes the output of {len(found)} processes that each have results ({ranks}): write each to its own file"
        )
    if not found:
        raise refusals[1] if len(refusals) > 1 else refusals[0]
    return found[0][1]


def _streams(lines: Sequence[str | None]) -> Iterator[tuple[_Stream, list[str | None]]]:
    """The lines as they are; then those of each rank and stream without their prefixes, the one with the most lines
    first, and `None` in the place of those of others.
    """
    plain = own = [line if line is None else _CONTROL.sub("", line) for line in lines]
    yield (), plain
    names: list[_Stream] = [()] * len(own)
    for _ in range(_MOST_PREFIXES):
        form = next((form for form in _FORMS if _is_prefix(form, own)), None)
        if form is None:
            break
        own, names = _without(form, own, names)
    if own == plain:
        return
    known = Counter(name for name in names if name)
    for name, _ in known.most_common() or [((), 0)]:
        yield name, [line if said in ((), name) else None for line, said in zip(own, names, strict=True)]


def _is_prefix(form: re.Pattern[str], lines: Sequence[str | None]) -> bool:
    has = [at for at, line in enumerate(lines) if line and form.match(line)]
    if not has:
        return False
    filled = [line for line in lines[has[0] : has[-1] + 1] if line and line.strip()]
    if len(has) < _FEWEST_LINES:
        return len(has) == sum(1 for line in lines if line and line.strip())
    return 2 * len(has) >= len(filled)


def _without(
    form: re.Pattern[str], lines: Sequence[str | None], names: Sequence[_Stream]
) -> tuple[list[str | None], list[_Stream]]:
    """The lines without this prefix, and of each who printed it; empty where that is not told."""
    matches = [form.match(line or "") for line in lines]
    rests = [match.string[match.end() :] for match in matches if match]
    # Some launchers put a space after the prefix, and none before an empty line.
    spaced = all(rest.startswith(" ") for rest in rests if rest)
    stripped: list[str | None] = []
    told: list[_Stream] = []
    for match, line, name in zip(matches, lines, names, strict=True):
        if match is None:
            stripped.append(line)
            told.append(name)
            continue
        rest = match.string[match.end() :]
        stripped.append(rest[1:] if spaced else rest)
        told.append((*name, *(word for word in match.groupdict().values() if word)))
    return stripped, told


def _has_wrapped_command(source: Source) -> bool:
    """True if the line with the command goes on in the next: options would be lost, and nothing be refused for it."""
    lines = source.lines
    width = max(map(len, lines))
    return any(
        _COMMAND.search(line) and len(line) == width and after.strip() and not _KEY.match(after)
        for line, after in pairwise(lines)
    )


def _unwrapped(lines: Sequence[str]) -> list[str | None] | None:
    """The lines, joined where a terminal as wide as the longest had wrapped them, with `None` in the place of what was
    joined to a line before; `None` where there is nothing to join.
    """
    width = max(map(len, lines))
    if width < _NARROWEST or not any(len(line) == width for line in lines[:-1]):
        return None
    prefixes = [form for form in _FORMS if _is_prefix(form, lines)]
    joined: list[str | None] = []
    begin = 0
    for at, line in enumerate(lines):
        is_new = _are_of_one_table(lines[begin], line) or any(form.match(line) for form in prefixes)
        if at and len(lines[at - 1]) == width and not is_new:
            joined[begin] = (joined[begin] or "") + line
            joined.append(None)
        else:
            begin = at
            joined.append(line)
    return joined


def _are_of_one_table(line: str, after: str) -> bool:
    """True if the words of both begin or end in the same columns: `after` is the next row, not the rest of `line`."""
    if len(after) < len(line) * _SAME_COLUMNS:
        return False
    words, others = ([match.span() for match in re.finditer(r"\S+", text)] for text in (line, after))
    fewest = min(len(words), len(others))
    same = max(len({span[edge] for span in words} & {span[edge] for span in others}) for edge in (0, 1))
    return fewest >= _FEWEST_COLUMNS and same >= fewest * _SAME_COLUMNS

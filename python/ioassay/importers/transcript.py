"""Undoes changes of launchers, logs and terminals to a tool's output: prefixes of lines, colours, wrapped lines.

A prefix names a rank, a time, or both. It is removed if at least half of the lines between its first and last line
have it, so that no line of a tool matches by chance. Mixed lines of ranks are separated, and the rank
with results is read. Line numbers of results and refusals remain those of the file. Formats: Open MPI 4.1
and 5 (`--tag-output`, `--timestamp-output`), Hydra (`-prepend-rank`), Slurm (`srun -l`), Kubernetes (`--timestamps`,
`--prefix`), Blue Gene (`stdout[0]`), moreutils (`ts`).

Not: parsing the lines, opening files (`source`).
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
"""The known prefixes. A rank or a stream in them separates lines."""

_MOST_PREFIXES = 3
"""Prefixes that may precede each other: a log's time before the tag of a launcher."""

_FEWEST_LINES = 3
"""With fewer lines, every line must have the prefix."""

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>])")
"""Escape sequences of terminals: colours, movements, titles."""

_COMMAND = re.compile(r"Command line(?: used)?\s*:")
_KEY = re.compile(r"\s*[A-Za-z][A-Za-z ]*[:=]")
"""The line after a command line that was not wrapped."""

_FEWEST_COLUMNS = 4
_SAME_COLUMNS = 0.8
"""The share of words that begin in the same columns in two rows of a table."""

_NARROWEST = 40
"""Columns of the narrowest terminal whose wrapping is undone."""

_Stream = tuple[str, ...]
Result = TypeVar("Result")


def unknown_prefix(line: str, column: int) -> str | None:
    """Why there is no result, if the tool's first line begins at column `at` of `line`; else `None`."""
    before = line[:column]
    if not before.strip():
        return None
    return f"has {before[-40:]!r} before the tool's lines, which is an unknown prefix: remove it from every line"


class _MixedOutput(Refused):
    """Several processes have results in one file."""


def read(
    source: Source,
    reader: Callable[[Source], Result],
    amount: Callable[[Result], int] = lambda _: 1,
    renumbered: Callable[[Result, Path, Sequence[int]], Result] | None = None,
) -> Result:
    """The result of `reader` for a file whose lines may have prefixes or be wrapped. `amount` is the size of a result.

    Lines of other ranks and parts of wrapped lines are left out, and `renumbered` restores the numbers
    of lines in the file. A reader that ignores empty lines needs no `renumbered`: it gets empty lines instead.

    Raises `Refused` as `reader` does for the lines without prefixes, and if several ranks have results.
    """
    plain: list[Result] = []
    refused: Refused | None = None
    try:
        plain.append(_of_one_rank(source, source.lines, reader, renumbered))
    except _MixedOutput:
        raise
    except Refused as error:
        refused = error
    joined_lines = _unwrapped(source.lines)
    if joined_lines is not None and (refused is not None or _has_wrapped_command(source)):
        try:
            joined = _of_one_rank(source, joined_lines, reader, renumbered)
        except Refused:
            pass  # nothing was wrapped: the result of the lines as they are counts
        else:
            if not plain or amount(joined) >= amount(plain[0]):
                return joined
    if refused is not None:
        raise refused
    return plain[0]


def _of_one_rank(
    source: Source,
    lines: Sequence[str | None],
    reader: Callable[[Source], Result],
    renumbered: Callable[[Result, Path, Sequence[int]], Result] | None,
) -> Result:
    """The result of `reader` for the only rank that has results; lines that are `None` are left out."""
    results: list[tuple[_Stream, Result]] = []
    refusals: list[Refused] = []
    for place, (name, stream_lines) in enumerate(_streams(lines)):
        indices = (
            [index for index, line in enumerate(stream_lines) if line is not None]
            if renumbered is not None
            else range(len(stream_lines))
        )
        numbers = [index + 1 for index in indices]
        is_same = stream_lines == source.lines
        text = source.text if is_same else "\n".join(stream_lines[index] or "" for index in indices)
        try:
            result = reader(source if is_same else replace(source, text=text))
        except Refused as error:
            if error.line is not None:
                error.line = numbers[min(error.line, len(numbers)) - 1]
            refusals.append(error)
            continue
        results.append((name, renumbered(result, source.path, numbers) if renumbered and not is_same else result))
        if place == 0:
            break  # the prefixes are the tool's own: IOR prints the rank before its message of a stonewall
    if len(results) > 1:
        ranks = ", ".join(" ".join(name) for name, _ in results[:4])
        raise _MixedOutput(
            f"mixes the output of {len(results)} processes that each have results ({ranks}): write each to its own file"
        )
    if not results:
        raise refusals[1] if len(refusals) > 1 else refusals[0]
    return results[0][1]


def _streams(lines: Sequence[str | None]) -> Iterator[tuple[_Stream, list[str | None]]]:
    """The lines as they are; then those of each rank and stream without their prefixes, the stream with the most lines
    first, with `None` in place of other streams' lines.
    """
    plain = stripped = [line if line is None else _CONTROL.sub("", line) for line in lines]
    yield (), plain
    names: list[_Stream] = [()] * len(stripped)
    for _ in range(_MOST_PREFIXES):
        form = next((form for form in _FORMS if _is_prefix(form, stripped)), None)
        if form is None:
            break
        stripped, names = _without(form, stripped, names)
    if stripped == plain:
        return
    line_counts = Counter(name for name in names if name)
    for name, _ in line_counts.most_common() or [((), 0)]:
        yield name, [line if stream in ((), name) else None for line, stream in zip(stripped, names, strict=True)]


def _is_prefix(form: re.Pattern[str], lines: Sequence[str | None]) -> bool:
    matching = [index for index, line in enumerate(lines) if line and form.match(line)]
    if not matching:
        return False
    filled = [line for line in lines[matching[0] : matching[-1] + 1] if line and line.strip()]
    if len(matching) < _FEWEST_LINES:
        return len(matching) == sum(1 for line in lines if line and line.strip())
    return 2 * len(matching) >= len(filled)


def _without(
    form: re.Pattern[str], lines: Sequence[str | None], names: Sequence[_Stream]
) -> tuple[list[str | None], list[_Stream]]:
    """The lines without this prefix, and the stream of each; empty if unknown."""
    matches = [form.match(line or "") for line in lines]
    rests = [match.string[match.end() :] for match in matches if match]
    # Some launchers put a space after the prefix, and none before an empty line.
    spaced = all(rest.startswith(" ") for rest in rests if rest)
    stripped: list[str | None] = []
    streams: list[_Stream] = []
    for match, line, name in zip(matches, lines, names, strict=True):
        if match is None:
            stripped.append(line)
            streams.append(name)
            continue
        rest = match.string[match.end() :]
        stripped.append(rest[1:] if spaced else rest)
        streams.append((*name, *(word for word in match.groupdict().values() if word)))
    return stripped, streams


def _has_wrapped_command(source: Source) -> bool:
    """True if the line with the command continues in the next: options would be lost without a refusal."""
    lines = source.lines
    width = max(map(len, lines))
    return any(
        _COMMAND.search(line) and len(line) == width and after.strip() and not _KEY.match(after)
        for line, after in pairwise(lines)
    )


def _unwrapped(lines: Sequence[str]) -> list[str | None] | None:
    """The lines, joined where a terminal as wide as the longest had wrapped them, with `None` in place of lines
    that were joined to an earlier one; `None` if there is nothing to join.
    """
    width = max(map(len, lines))
    if width < _NARROWEST or not any(len(line) == width for line in lines[:-1]):
        return None
    prefixes = [form for form in _FORMS if _is_prefix(form, lines)]
    joined: list[str | None] = []
    begin = 0
    for index, line in enumerate(lines):
        is_new = _are_of_one_table(lines[begin], line) or any(form.match(line) for form in prefixes)
        if index and len(lines[index - 1]) == width and not is_new:
            joined[begin] = (joined[begin] or "") + line
            joined.append(None)
        else:
            begin = index
            joined.append(line)
    return joined


def _are_of_one_table(line: str, after: str) -> bool:
    """True if the words of both begin or end in the same columns: `after` is the next row, not the rest of `line`."""
    if len(after) < len(line) * _SAME_COLUMNS:
        return False
    words, others = ([match.span() for match in re.finditer(r"\S+", text)] for text in (line, after))
    fewest = min(len(words), len(others))
    shared_columns = max(len({span[edge] for span in words} & {span[edge] for span in others}) for edge in (0, 1))
    return fewest >= _FEWEST_COLUMNS and shared_columns >= fewest * _SAME_COLUMNS

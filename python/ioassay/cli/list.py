"""`ioassay list`: the stored directories below a folder, a line each."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import terminal_width

if TYPE_CHECKING:
    from ioassay.store.index import Entry, Index

_MOST_CHARACTERS = 40
"""Longest study or target in the table; `--json` has them whole."""

_MOST_UNREADABLE = 10
"""Directories that cannot be read and are named one by one; `--json` has all."""


def list_(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with stored directories, up to four levels deep.")
    ] = Path("runs"),
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """List stored runs and network measurements, newest first."""
    from ioassay.store.index import index  # noqa: PLC0415

    stored = index(folder)
    if as_json:
        typer.echo(_document(stored))
        return 0
    for line in _lines([_HEADINGS, *map(_cells, stored.entries)] if stored.entries else []):
        typer.echo(line)
    _print_unreadable(folder, stored)
    return 0


_HEADINGS = ("Started", "Kind", "Origin", "Study or tool", "Target", "State", "Directory")


def _cells(entry: Entry) -> tuple[str, ...]:
    summary = entry.summary
    return (
        summary.started[:19].replace("T", " ") or _UNKNOWN,
        entry.kind,
        summary.origin or _UNKNOWN,
        _short(summary.study),
        _short(summary.target) or _UNKNOWN,
        summary.state,
        str(entry.path),
    )


_UNKNOWN = "–"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _lines(rows: list[tuple[str, ...]]) -> list[str]:
    """The table; on a terminal that is too narrow for it each directory on a line of its own, whole to be copied."""
    lines = _table(rows)
    if not sys.stdout.isatty() or max(map(len, lines), default=0) <= terminal_width():
        return lines
    above = _table([row[:-1] for row in rows])
    return [line for row, first in zip(rows, above, strict=True) for line in (first, f"  {row[-1]}")]


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """The rows with their columns below each other. Each is a line, whatever stands in it."""
    plain = [[" ".join(cell.splitlines()).replace("\t", " ") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in plain]


def _print_unreadable(folder: Path, stored: Index) -> None:
    """Prints unreadable directories on standard error."""
    lines = [] if stored.entries else [f"No stored runs in {folder}."]
    lines += [
        f"Not readable: {_shown(directory.path)}: {directory.reason}"
        for directory in stored.unreadable[:_MOST_UNREADABLE]
    ]
    if (more := len(stored.unreadable) - _MOST_UNREADABLE) > 0:
        lines.append(f"{more} more are not readable; --json names them.")
    for line in lines:
        print(line, file=sys.stderr)


def _shown(path: Path) -> str:
    """A path whose name may not be UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _document(stored: Index) -> str:
    import json  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    directories = [
        {"path": str(entry.path), "kind": entry.kind, **asdict(entry.summary), "started": entry.summary.started or None}
        for entry in stored.entries
    ]
    unreadable = [
        {"path": _shown(directory.path), "kind": directory.kind, "reason": directory.reason}
        for directory in stored.unreadable
    ]
    return json.dumps({"version": 1, "directories": directories, "unreadable": unreadable}, indent=2)

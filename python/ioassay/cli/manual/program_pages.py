"""The manual pages of the engine and the agent, made of what they print for `--help`.

Their help has an introduction, `Usage:`, and sections whose entries are indented, with what they are behind two
spaces or on deeper lines. Not: what their options are.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ioassay.cli.manual.troff import Page
from ioassay.errors import CannotRun
from ioassay.version import __version__

_SECTION = re.compile(r"([A-Z][A-Za-z ]*):")
_ENTRY = re.compile(r" {1,6}(\S.*?)(?: {2,}(\S.*))?")


class Help(NamedTuple):
    """A help, taken apart."""

    introduction: list[str]
    usage: str
    sections: dict[str, list[tuple[str, str]]]
    """Entries and what they are, by the section's title."""


def pages(program: Path, date: str) -> Iterator[Page]:
    """The page of a program, and one for each of its commands."""
    top = parsed(_printed(program, "--help"))
    commands = [(name, about) for name, about in top.sections.get("Commands", []) if name != "help"]
    yield _page(program.name, top, date, [f"{program.name}-{name}" for name, _ in commands])
    for name, about in commands:
        is_front_end = "'s command line" in about  # one takes -h only, as the original does
        parsed_help = parsed(_printed(program, name, "-h" if is_front_end else "--help"))
        whole = parsed_help._replace(introduction=[_line(about), *parsed_help.introduction[1:]])
        yield _page(f"{program.name}-{name}", whole, date, [program.name])


def _line(about: str) -> str:
    """The purpose of a command, without the reference to its own help."""
    return re.sub(r" \(.*\)$", "", about)


def _printed(program: Path, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise CannotRun(f"{program.name} {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout


def parsed(printed: str) -> Help:
    """A help, taken apart."""
    introduction, usage = [""], ""
    sections: dict[str, list[tuple[str, str]]] = {}
    entries: list[tuple[str, str]] | None = None
    for line in printed.splitlines():
        if line.startswith("Usage: "):
            usage = line.removeprefix("Usage: ")
        elif heading := _SECTION.fullmatch(line):
            entries = sections.setdefault(heading[1], [])
        elif entries is None:
            introduction[-1:] = [f"{introduction[-1]} {line}".strip()] if line else [introduction[-1], ""]
        elif entry := _ENTRY.fullmatch(line):
            entries.append((entry[1], entry[2] or ""))
        elif line.strip() and entries:
            term, about = entries[-1]
            entries[-1] = (term, f"{about} {line.strip()}".strip())
    paragraphs = [paragraph for paragraph in introduction if paragraph]
    return Help(paragraphs, usage or paragraphs[0].partition(": ")[0], sections)


def _page(name: str, parsed_help: Help, date: str, others: list[str]) -> Page:
    page = Page(name, parsed_help.introduction[0], __version__, date)
    page.section("SYNOPSIS")
    page.usage(parsed_help.usage)
    if parsed_help.introduction[1:]:
        page.section("DESCRIPTION")
        page.paragraphs(parsed_help.introduction[1:])
    for title, entries in parsed_help.sections.items():
        page.section(title.upper())
        for term, about in entries:
            if (other := f"{name}-{term}") in others:
                page.reference(other, _line(about))
            else:
                page.item(term, about)
    page.see_also(others or ["ioassay"])
    return page

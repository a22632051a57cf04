"""The source of a manual page, in the macros of man(7). Not: what a page says."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Page:
    """A page of section 1, written from its head to its end."""

    def __init__(self, name: str, line: str, version: str, date: str) -> None:
        """`name`: as after `man`, such as `ioassay-run`. `line`: what it is for, in a line. `date`: YYYY-MM-DD."""
        self.name = name
        self._lines = [f'.TH {_plain(name.upper())} 1 "{date}" "ioassay {version}" "Manual of ioassay"']
        self._lines.append(".ad l")
        self.section("NAME")
        self._lines.append(f"{_plain(name)} \\- {text(line.rstrip('.'))}")

    def section(self, title: str) -> None:
        """Begins a section."""
        self._lines.append(f".SH {title}")

    def paragraphs(self, paragraphs: Iterable[str]) -> None:
        """Adds prose, of which each item is a paragraph."""
        for number, paragraph in enumerate(paragraphs):
            self._lines += [*([".PP"] if number else []), _line(paragraph)]

    def usage(self, command: str) -> None:
        """Adds a synopsis: the words of the command in bold, what they take in italics."""
        words = [_plain(word) if word.islower() else f"\\fI{_plain(word)}\\fB" for word in command.split()]
        self._lines.append(f"\\fB{' '.join(words)}\\fR")

    def item(self, term: str, about: str) -> None:
        """Adds an item of a list: a term, such as an option with its value, and what it is."""
        self._lines += [".TP", _term(term), _line(about) if about else "\\&"]

    def reference(self, page: str, about: str) -> None:
        """Adds an item of a list that is the name of another page."""
        self._lines += [".TP", f"\\fB{_unbroken(page)}\\fR(1)", _line(about)]

    def example(self, command: str) -> None:
        """Adds lines as they are typed."""
        self._lines += [".EX", *(_line(line, code=True) for line in command.split("\n")), ".EE"]

    def see_also(self, pages: Iterable[str]) -> None:
        """Adds the last section: other pages."""
        self.section("SEE ALSO")
        self._lines.append(", ".join(f"\\fB{_unbroken(page)}\\fR(1)" for page in pages))

    def source(self) -> str:
        """The page so far."""
        return "\n".join(self._lines) + "\n"


def text(prose: str) -> str:
    """Prose, with what stands between backquotes in bold."""
    parts = re.split(r"`([^`]*)`", " ".join(prose.split()))
    return "".join(f"\\fB{_unbroken(part)}\\fR" if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(words: str) -> str:
    """Characters as they are: troff takes a backslash for a command, and makes a hyphen of a minus sign."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    escaped = escaped.replace("^", "\\(ha").replace("~", "\\(ti")
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in escaped)


def _unbroken(name: str) -> str:
    """A name that is not broken at the end of a line."""
    return f"\\%{_plain(name)}"


def _line(words: str, *, code: bool = False) -> str:
    """A line of its own, which is no macro whatever it begins with."""
    source = _plain(words) if code else text(words)
    return f"\\&{source}" if source.startswith((".", "\\(aq")) else source


def _term(words: str) -> str:
    """An option in bold with its value in italics; anything else in italics."""
    if not words.startswith("-") or (words.startswith("--") and words[2:3] in ("", " ")):
        return f"\\fI{_plain(words)}\\fR"
    return ", ".join(_option(option) for option in words.split(", "))


def _option(words: str) -> str:
    name, space, value = words.partition(" ")
    return f"\\fB{_plain(name)}\\fR" + (f"{space}\\fI{_plain(value)}\\fR" if value else "")

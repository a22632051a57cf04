"""Parses command lines that a tool has printed."""

from __future__ import annotations

import shlex
from functools import lru_cache


class Options:
    """The short options of a command line, written apart or together (`-w -r`, `-wr`), and its words.

    `valued` are the letters that take a value: the rest of the word, or else the next word.
    """

    def __init__(self, command: str, valued: frozenset[str]) -> None:
        self._flags, self.words = _parsed(command, valued)

    def has(self, letter: str) -> bool:
        return letter in self._flags

    def value(self, letter: str) -> str | None:
        """The value of an option; the last one counts."""
        return self._flags.get(letter)

    def says(self, text: str) -> bool:
        """True if any word contains `text`."""
        return any(text in word for word in self.words)


@lru_cache(maxsize=4096)
def _parsed(command: str, valued: frozenset[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that does not close
        words = command.split()
    flags: dict[str, str] = {}
    index = 1
    while index < len(words):
        word = words[index]
        index += 1
        if not word.startswith("-") or word.startswith("--"):
            continue
        for position, letter in enumerate(word[1:], start=2):
            if letter not in valued:
                flags[letter] = ""
                continue
            flags[letter] = word[position:].removeprefix("=")
            if not flags[letter] and index < len(words):
                flags[letter] = words[index]
                index += 1
            break
    return flags, tuple(words)

"""The options of a command line that a tool has printed, as far as they say something about its numbers."""

from __future__ import annotations

import shlex
from functools import lru_cache


class Options:
    """The short options of a command line, written apart or together (`-w -r`, `-wr`), and its words.

    `valued` are the letters that take a value: what follows one in its word, or else the next word, is no option.
    """

    def __init__(self, command: str, valued: frozenset[str]) -> None:
        self._flags, self.words = _parsed(command, valued)

    def has(self, letter: str) -> bool:
        """True if the option is given."""
        return letter in self._flags

    def value(self, letter: str) -> str | None:
        """What an option with a value is given; the last counts."""
        return self._flags.get(letter)

    def says(self, text: str) -> bool:
        """True if `text` stands in any word."""
        return any(text in word for word in self.words)


@lru_cache(maxsize=4096)
def _parsed(command: str, valued: frozenset[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that does not close
        words = command.split()
    flags: dict[str, str] = {}
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word.startswith("--"):
            continue
        for place, letter in enumerate(word[1:], start=2):
            if letter not in valued:
                flags[letter] = ""
                continue
            flags[letter] = word[place:].removeprefix("=")
            if not flags[letter] and at < len(words):
                flags[letter] = words[at]
                at += 1
            break
    return flags, tuple(words)

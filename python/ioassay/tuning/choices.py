"""Files of the kernel, and parameters of Lustre, that show all choices with the one in force in brackets."""

from __future__ import annotations

import re


def chosen(text: str) -> str:
    """The word in brackets of `none [mq-deadline] kyber`; another text itself, with single spaces."""
    return _split(text)[0]


def choices(text: str) -> list[str]:
    """All words of `none [mq-deadline] kyber`; none of another text."""
    return _split(text)[1]


def _split(text: str) -> tuple[str, list[str]]:
    words = text.split()
    bracketed = [word for word in words if re.fullmatch(r"\[[^\[\]]+\]", word)]
    if len(bracketed) != 1 or any("[" in word for word in words if word not in bracketed):
        return " ".join(words), []
    return bracketed[0][1:-1], [word.strip("[]") for word in words]

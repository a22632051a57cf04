"""The pieces that Markdown documents are made of: tables and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def listed(sentences: Iterable[str]) -> list[str]:
    """A line for each sentence."""
    return [f"- {text}" for text in sentences]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ").strip() for cell in cells) + " |"

    return [line(heads), "|" + " --- |" * len(heads), *(line(row) for row in rows)]


def marked(text: str, marks: Iterable[str]) -> str:
    """A text with the marks of the doubts about it behind it."""
    letters = " ".join(marks)
    return f"{text} [{letters}]" if letters else text

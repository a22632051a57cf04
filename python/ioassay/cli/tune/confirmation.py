"""Asks before settings are changed: on a terminal, or by `--yes`. Not: showing what will be changed."""

from __future__ import annotations

import sys

import typer

from ioassay.errors import UsageError


def confirm(question: str, *, yes: bool, is_shown: bool = True) -> None:
    """Returns where the answer is yes. Raises `UsageError` for no, and where there is no terminal to ask at.

    `is_shown`: whether the terminal shows what the question is about.
    """
    if yes:
        return
    if not is_shown or not sys.stdin.isatty():
        raise UsageError("Nothing was changed: confirmation takes a terminal.", "Add --yes, or --dry-run.")
    if not typer.confirm(question, err=True):
        raise UsageError("Nothing was changed.")

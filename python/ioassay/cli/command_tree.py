"""The whole tree of commands, all of them loaded: for what describes every command, such as the manual pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from ioassay.cli import app
from ioassay.cli.lazy_command import LazyCommand


def every_command() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command with the words that it is typed with, without `ioassay`: groups before what is in them."""
    yield from _below((), typer.main.get_command(app))


def _below(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _below((*words, name), inner.loaded if isinstance(inner, LazyCommand) else inner)

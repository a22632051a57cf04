"""Examples in the help: each is a command line that is understood, about something that exists."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer.main

from ioassay.cli import app, built_in
from ioassay.cli.command_tree import every_command
from ioassay.cli.examples import EXAMPLES

PACKAGES = {"study": built_in.STUDIES, "lab": built_in.LABS}
"""Parameters that name what is built in."""

PATHS = [" ".join(words) for words, _ in every_command()]


def test_every_command_has_an_example_and_every_example_a_command() -> None:
    assert sorted(EXAMPLES) == sorted(PATHS)


def parsed(example: str) -> list[Any]:
    """The contexts of the commands in a command line, as far as a shell gives it to `ioassay`. Raises as typer does."""
    words = shlex.split(example.replace("\\\n", ""))
    if ">" in words:
        words = words[: words.index(">")]
    assert words[0] == "ioassay"
    contexts: list[Any] = [typer.main.get_command(app).make_context("ioassay", words[1:])]
    while hasattr(contexts[-1].command, "commands"):
        above = contexts[-1]
        name, command, rest = above.command.resolve_command(above, [*above._protected_args, *above.args])
        contexts.append(command.make_context(name, rest, parent=above))
    return contexts


@pytest.mark.parametrize(("path", "example"), [(path, example) for path in EXAMPLES for example in EXAMPLES[path]])
def test_an_example_is_a_command_line_of_its_command(path: str, example: str) -> None:
    contexts = parsed(example)
    typed = " ".join(context.info_name for context in contexts[1:])
    assert typed.startswith(path) or path == "lab", f"{example} is one of `ioassay {typed}`"
    for parameter, package in PACKAGES.items():
        value = contexts[-1].params.get(parameter)
        if isinstance(value, str) and not value.endswith(".yaml"):
            assert value in built_in.names(package), f"{example}: there is no {value}"

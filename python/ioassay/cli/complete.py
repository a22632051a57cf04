"""The candidates that complete a command line, for the scripts of `ioassay completion`.

They start `ioassay` with the variable `_IOASSAY_COMPLETE`, which names the shell, and what was typed so far: bash its
line, the others its words, of which the last one is to be completed. The answer is a line that says whether paths are
candidates too (`files`, `directories` or nothing), and a line for each candidate, with its description behind a tab
except for bash. Not: what a parameter can be (`completion_values`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer.main
from typer._click.shell_completion import _resolve_context, _resolve_incomplete, split_arg_string

from ioassay.cli import app
from ioassay.cli.completion_values import Values, values_of


def answer(shell: str, arguments: Sequence[str]) -> list[str]:
    """The lines for the script of `shell`."""
    words = _words_of_line(arguments[0]) if shell == "bash" else [*arguments]
    option, equals, _ = words[-1].partition("=")
    before = f"{option}=" if equals and option.startswith("--") else ""
    values = candidates(words)
    # Zsh and fish replace the word: zsh what is behind its equals sign.
    prefix = before if shell in ("bash", "fish") else ""
    described = [(prefix + value, "" if shell == "bash" else about) for value, about in values.candidates]
    return [values.paths, *(f"{value}\t{about}" if about else value for value, about in described)]


def candidates(words: Sequence[str]) -> Values:
    """The candidates for the last of `words`, which follow `ioassay`."""
    *typed, incomplete = words
    context = _context(typed)
    asked, incomplete = _resolve_incomplete(context, typed, incomplete)
    if hasattr(asked, "params"):
        return _of_command(asked, context, incomplete)
    if asked.param_type_name == "option":
        context = _context([*typed, ""])  # without a value of the last option nothing of the line is understood
    return values_of(asked, context, incomplete)


def _context(typed: list[str]) -> Any:
    """Parses the command line so far; returns the context of its innermost command."""
    return _resolve_context(typer.main.get_command(app), {}, "ioassay", typed)


def _of_command(command: Any, context: Any, incomplete: str) -> Values:
    """Options and subcommands; for a group with a default command, also its arguments."""
    items = command.shell_complete(context, incomplete)
    values = Values(tuple((item.value, _shortened_help(item.help or "")) for item in items))
    meant = getattr(command, "meant", None)
    if meant is None or incomplete.startswith("-"):
        return values
    inner = command.commands[meant]
    more = values_of(inner.params[0], context, incomplete)
    return Values((*values.candidates, *more.candidates), more.paths)


def _shortened_help(text: str) -> str:
    """The beginning of a help, as far as it fits beside a candidate."""
    return re.split(r"[:;.(] |[.]$| \(|  ", text)[0]


def _words_of_line(line: str) -> list[str]:
    """The words behind the command's name; the last one is empty where the next is to be begun."""
    words = split_arg_string(line)[1:]
    return words if words and not line[-1].isspace() else [*words, ""]

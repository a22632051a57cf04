"""The manual pages of `ioassay` and of each of its commands: `ioassay-run`, `ioassay-lab-up`, …"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from ioassay.cli.command_tree import every_command
from ioassay.cli.examples import EXAMPLES
from ioassay.cli.manual import facts
from ioassay.cli.manual.troff import Page
from ioassay.version import __version__

PROGRAMS = ("ioassay-engine", "ioassay-agent")


def pages(date: str) -> Iterator[Page]:
    """The pages of all commands."""
    commands = dict(every_command())
    for words in commands:
        yield _page(words, commands, date)


def name_of(words: tuple[str, ...]) -> str:
    """The name of the page of a command."""
    return "-".join(("ioassay", *words))


def _page(words: tuple[str, ...], commands: dict[tuple[str, ...], Any], date: str) -> Page:
    command = commands[words]
    paragraphs = inspect.cleandoc(command.help).split("\n\n")
    page = Page(name_of(words), paragraphs[0], __version__, date)
    context = typer.Context(command, info_name=" ".join(("ioassay", *words)), help_option_names=["-h", "--help"])
    page.section("SYNOPSIS")
    page.usage(" ".join((context.command_path, *command.collect_usage_pieces(context))))
    if paragraphs[1:]:
        page.section("DESCRIPTION")
        page.paragraphs(paragraphs[1:])
    inner = [path for path in commands if path[:-1] == words and path]
    if inner:
        page.section("COMMANDS")
        for path in inner:
            page.reference(name_of(path), commands[path].short_help)
    _parameters(page, command, context)
    page.section("EXAMPLES")
    for example in EXAMPLES[" ".join(words)]:
        page.example(example)
    page.section("EXIT STATUS")
    for code, meaning in facts.EXIT_STATUS.items():
        page.item(f"{code}", f"{meaning}.")
    if not words:
        _shared(page)
    above = [name_of(words[:-1])] if words else []
    page.see_also([*above, *(name_of(path) for path in inner), *([] if words else PROGRAMS)] or ["ioassay"])
    return page


def _parameters(page: Page, command: Any, context: typer.Context) -> None:
    """Arguments and options, as in the help."""
    for kind in ("argument", "option"):
        parameters = [parameter for parameter in command.get_params(context) if parameter.param_type_name == kind]
        records = [record for parameter in parameters if (record := parameter.get_help_record(context))]
        if not records:
            continue
        page.section(f"{kind.upper()}S")
        for term, about in records:
            page.item(term, about)


def _shared(page: Page) -> None:
    page.section("ENVIRONMENT")
    for variable, meaning in facts.ENVIRONMENT.items():
        page.item(variable, f"{meaning}.")
    page.section("FILES")
    for place, meaning in facts.FILES.items():
        page.item(place, f"{meaning}.")

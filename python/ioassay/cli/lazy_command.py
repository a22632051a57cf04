"""Commands whose module is imported only when they are asked for: importing all of them takes longer than most need."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from ioassay.cli.commands import COMMANDS, Entry
from ioassay.cli.examples import epilog
from ioassay.cli.group import group
from ioassay.cli.parameters import convert_only_typed, name_plainly
from ioassay.cli.verbosity import options


class CommandTable(TyperGroup):
    """The group of all `COMMANDS`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            self.add_command(LazyCommand(name, entry))
        _equip(self, ())


class LazyCommand(TyperCommand):
    """A name and a help line, until its arguments are to be parsed."""

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name, short_help=entry.help_line)
        self._entry = entry

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the real command, which then runs, prints its help and completes."""
        return self.loaded.make_context(info_name, args, parent=parent, **extra)

    @cached_property
    def loaded(self) -> Any:
        """The real command: a `TyperCommand` or `TyperGroup`."""
        from pkgutil import resolve_name  # noqa: PLC0415

        target = resolve_name(self._entry.place)
        if not isinstance(target, typer.Typer):
            app = group()
            app.command(self.name)(target)
            target = app
        command = typer.main.get_command(target)
        command.name = self.name
        _equip(command, (self.name or "",))
        return command


_HELP = ("help",)
"""The command that shows help, which needs as little as `--help` does."""


def _within_limits(invoke: Any) -> Any:
    """Does what a command does only where the limits of this process allow it; help and completions come before."""

    def checked(context: Any) -> Any:
        from ioassay.processes.limits import refuse_small_limits  # noqa: PLC0415

        refuse_small_limits()
        return invoke(context)

    return checked


def _equip(command: Any, words: tuple[str, ...]) -> None:
    """Gives a command, and those in it, what all have: a whole help line, examples, `--quiet` and `--verbose`."""
    command.epilog = epilog(words)
    command.short_help = " ".join((command.help or "").partition("\n\n")[0].split())  # not cut, as typer would
    command.params += options()
    convert_only_typed(command)
    name_plainly(command)
    if not hasattr(command, "commands") and words != _HELP:
        command.invoke = _within_limits(command.invoke)
    for name, inner in getattr(command, "commands", {}).items():
        if not isinstance(inner, LazyCommand):
            _equip(inner, (*words, name))

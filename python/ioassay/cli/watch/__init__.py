"""`ioassay watch`: a live view of jobs, and the contracts that agents enforce. One file per command."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from ioassay.cli.watch.check import check
from ioassay.cli.watch.convert import convert
from ioassay.cli.watch.lustre import lustre
from ioassay.cli.watch.prepare import prepare
from ioassay.cli.watch.set import set_
from ioassay.cli.watch.view import view

_VIEW = "view"


class _ViewByDefault(TyperGroup):
    """`ioassay watch DIRECTORY` is `ioassay watch view DIRECTORY`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Adds the command where none is named."""
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [_VIEW, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="watch",
    cls=_ViewByDefault,
    add_completion=False,
    rich_markup_mode=None,
    help="Watch I/O live; check, set and convert contracts. `watch DIR` is `watch view DIR`.",
)
app.command(_VIEW)(view)
app.command("check")(check)
app.command("set")(set_)
app.command("prepare")(prepare)
app.command("convert")(convert)
app.command("lustre")(lustre)

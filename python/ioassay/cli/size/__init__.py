"""`ioassay size`: from requirements to racks, and the arithmetic behind them. One file per command."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from ioassay.cli.size.catalogue import catalogue
from ioassay.cli.size.explain import explain
from ioassay.cli.size.predict import predict
from ioassay.cli.size.search import search

_SEARCH = "search"


class _SearchByDefault(TyperGroup):
    """`ioassay size FILE` is `ioassay size search FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Adds the command where none is named."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [_SEARCH, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="size",
    cls=_SearchByDefault,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Find and explain storage configurations. `size FILE` is `size search FILE`.",
)
app.command(_SEARCH)(search)
app.command("explain")(explain)
app.command("predict")(predict)
app.command("catalogue")(catalogue)

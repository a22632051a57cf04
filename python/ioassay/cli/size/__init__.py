"""`ioassay size`: from requirements to racks, and the arithmetic behind them. One file per command."""

from __future__ import annotations

from ioassay.cli.default_command import defaulting_to
from ioassay.cli.group import group
from ioassay.cli.size.catalogue import catalogue
from ioassay.cli.size.explain import explain
from ioassay.cli.size.predict import predict
from ioassay.cli.size.search import search

_SEARCH = "search"


app = group(
    name="size",
    cls=defaulting_to(_SEARCH, also_alone=False),
    no_args_is_help=True,
    help="Find and explain storage configurations. `size FILE` is `size search FILE`.",
)
app.command(_SEARCH)(search)
app.command("explain")(explain)
app.command("predict")(predict)
app.command("catalogue")(catalogue)

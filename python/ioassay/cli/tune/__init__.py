"""`ioassay tune`: settings of storage systems. One file per command."""

from __future__ import annotations

import typer

from ioassay.cli.tune.apply import apply
from ioassay.cli.tune.rollback import rollback
from ioassay.cli.tune.verify import verify

app = typer.Typer(
    name="tune",
    add_completion=False,
    rich_markup_mode=None,
    help="Change storage settings, verify them, and put them back.",
)
app.command("apply")(apply)
app.command("verify")(verify)
app.command("rollback")(rollback)

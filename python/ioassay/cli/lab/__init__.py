"""`ioassay lab`: real storage systems and several hosts on one machine. One file per command."""

from __future__ import annotations

import sys

import typer

from ioassay.cli.group import group
from ioassay.cli.lab.down import down
from ioassay.cli.lab.execute import execute
from ioassay.cli.lab.links import cut, heal
from ioassay.cli.lab.list import list_labs
from ioassay.cli.lab.status import status
from ioassay.cli.lab.up import up
from ioassay.errors import UsageError

app = group(name="lab")
app.command("up")(up)
app.command("status")(status)
app.command("down")(down)
app.command("list")(list_labs)
app.command("cut")(cut)
app.command("heal")(heal)
# What comes after the host is the command's, whatever it looks like.
app.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(execute)


@app.callback(invoke_without_command=True)
def _lab(context: typer.Context) -> None:
    """Start real storage systems and several hosts on one machine."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(UsageError.exit_code)

"""`ioassay watch`: a live view of jobs, and the contracts that agents enforce. One file per command."""

from __future__ import annotations

from ioassay.cli.default_command import defaulting_to
from ioassay.cli.group import group
from ioassay.cli.watch.check import check
from ioassay.cli.watch.convert import convert
from ioassay.cli.watch.lustre import lustre
from ioassay.cli.watch.prepare import prepare
from ioassay.cli.watch.set import set_
from ioassay.cli.watch.view import view

_VIEW = "view"


app = group(
    name="watch",
    cls=defaulting_to(_VIEW, also_alone=True),
    help="Watch I/O live; check, set and convert contracts. `watch DIR` is `watch view DIR`.",
)
app.command(_VIEW)(view)
app.command("check")(check)
app.command("set")(set_)
app.command("prepare")(prepare)
app.command("convert")(convert)
app.command("lustre")(lustre)

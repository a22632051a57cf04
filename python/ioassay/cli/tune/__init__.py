"""`ioassay tune`: checks settings, finds better ones, applies and restores them. One file per command."""

from __future__ import annotations

from ioassay.cli.group import group
from ioassay.cli.tune.apply import apply
from ioassay.cli.tune.capture import capture
from ioassay.cli.tune.check import check
from ioassay.cli.tune.io500 import io500
from ioassay.cli.tune.rollback import rollback
from ioassay.cli.tune.sweep import sweep
from ioassay.cli.tune.verify import verify

app = group(name="tune", help="Check settings, find better ones, apply and put back.")
app.command("check")(check)
app.command("capture")(capture)
app.command("sweep")(sweep)
app.command("io500")(io500)
app.command("apply")(apply)
app.command("verify")(verify)
app.command("rollback")(rollback)

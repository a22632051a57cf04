"""`ioassay watch prepare`: the files of an agent that a site starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.errors import CannotRun


def prepare(
    setup: Annotated[
        Path | None,
        typer.Argument(metavar="SETUP", help="The setup, as YAML. Without it: Parquet files, no server."),
    ] = None,
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The agent's directory.", show_default=False)
    ],
    contract: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A contract instead of the setup's.", show_default=False),
    ] = None,
) -> int:
    """Write the files of an agent that a site starts.

    Writes agent.json and contract.json, and checks files, credentials and addresses. No store is asked. The agent
    watches all recorded processes of its node.
    """
    from ioassay.monitoring.setup import default, load, write  # noqa: PLC0415
    from ioassay.protocol.facts import NODE_REGISTRATIONS  # noqa: PLC0415

    resolved = load(setup, output, "node", contract) if setup else default(output, "node", contract)
    for note in resolved.notes:
        typer.echo(f"note: {note}", err=True)
    try:
        agent = write(resolved, output)
    except OSError as error:
        raise CannotRun(f"{output} cannot be written: {error.strerror}.", "Use another place: -o DIR.") from None
    sinks = ", ".join(sink["kind"] for sink in resolved.setup["sinks"])
    rules = len(resolved.contract.contract["rules"])
    typer.echo(f"{agent}: {sinks}; {rules} {'rule' if rules == 1 else 'rules'}")
    typer.echo(f"Start it on each node: ioassay-agent {agent} --registrations {NODE_REGISTRATIONS}", err=True)
    return 0

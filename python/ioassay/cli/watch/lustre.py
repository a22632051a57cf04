"""`ioassay watch lustre`: throttle rules as limits of Lustre's servers."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ioassay.cli.watch.arguments import ContractFile, Scope, loaded
from ioassay.errors import UsageError

REFUSED = 1
"""The exit code where a rule is refused: the rest was written."""


def lustre(
    contract: ContractFile,
    *,
    cpts: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="CPU partitions of a server: lines of `lctl get_param -n cpu_partition_table`.",
            show_default=False,
        ),
    ],
    servers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Object storage servers that files are spread over.")
    ] = 1,
    rpc_size: Annotated[
        str, typer.Option(metavar="SIZE", help="What a full request carries: `max_pages_per_rpc` of the clients.")
    ] = "4MiB",
    file_system: Annotated[
        str | None,
        typer.Option(metavar="MOUNT", help="Where it is mounted: rules for this path are for all of it."),
    ] = None,
    job: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this job, as clients' `jobid_var` names it.")
    ] = None,
    user: Annotated[int | None, typer.Option(metavar="UID", min=0, help="Only this user, by number.")] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Write the commands that lift the limits.")] = False,
    scope: Scope = "job",
) -> int:
    """Write throttle rules as commands for Lustre's servers.

    Prints a script of `lctl` commands for the token bucket filter (NRS TBF), to run on each server. It has not been
    tried on a Lustre. Rules that servers cannot enforce are refused by name: the exit code is 1 then.
    """
    from ioassay.monitoring.lustre import Servers, Whose, limits_of, script  # noqa: PLC0415
    from ioassay.text.units import UnitError, parse_bytes  # noqa: PLC0415

    try:
        rpc_bytes = parse_bytes(rpc_size)
    except UnitError as error:
        raise UsageError(f"--rpc-size: {error.message}", error.remedy) from None
    if not rpc_bytes:
        raise UsageError("--rpc-size 0 is not a size of requests.", "Write 4MiB or 1MiB.")
    of_servers, jobs = Servers(cpts, servers, rpc_bytes), Whose(job, user)
    mount = os.path.normpath(file_system) if file_system is not None else None
    server_limits = limits_of(loaded(contract, scope).contract, of_servers, mount)
    for label, reason in server_limits.refused.items():
        typer.echo(f"refused: {label}: {reason}", err=True)
    if not server_limits.limits:
        raise UsageError("No rule of the contract can be enforced by servers.", "See what was refused, and why.")
    typer.echo(script(server_limits, of_servers, jobs, unset=unset), nl=False)
    return REFUSED if server_limits.refused else 0

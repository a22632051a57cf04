"""`ioassay lab exec NAME[/HOST] COMMAND…`."""

from __future__ import annotations

from typing import Annotated

import typer


def execute(
    *,
    where: Annotated[
        str, typer.Argument(metavar="NAME[/HOST]", help="The lab, and one of its hosts.  [default: client1]")
    ],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="What to run.  [default: a shell]")
    ] = None,
) -> int:
    """Run a command on a host of a lab; its exit code is ours."""
    import os  # noqa: PLC0415

    from ioassay.lab.namespaces import run_inside  # noqa: PLC0415
    from ioassay.lab.running import find  # noqa: PLC0415

    name, _, host = where.partition("/")
    space = find(name).host(host or "client1")
    return run_inside(space.pid, command or [os.environ.get("SHELL", "/bin/sh")])

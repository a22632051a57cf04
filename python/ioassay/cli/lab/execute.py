"""`ioassay lab exec NAME[/HOST] COMMAND…`."""

from __future__ import annotations

from typing import Annotated

import typer


def execute(
    *,
    where: Annotated[str, typer.Argument(metavar="NAME[/HOST]", help="The lab, and its host if not client1.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="What to run.  [default: a shell]")
    ] = None,
) -> int:
    """Run a command on a host of a lab.

    It has the credentials of the lab's storage, and its exit code becomes ours.
    """
    import os  # noqa: PLC0415

    from ioassay.lab.namespaces import run_inside  # noqa: PLC0415
    from ioassay.lab.running import find  # noqa: PLC0415

    name, _, host = where.partition("/")
    lab = find(name)
    space = lab.host(host or "client1")
    secrets = {key: value for target in lab.ready().targets for key, value in target.environment.items()}
    for key in [key for key in os.environ if key.startswith("SLURM_")]:
        del os.environ[key]  # of a cluster that we are on, which is not the lab's
    words = command[1:] if command and command[0] == "--" else command
    return run_inside(space, words or [os.environ.get("SHELL", "/bin/sh")], secrets)

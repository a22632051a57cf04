"""`ioassay lab down`."""

from __future__ import annotations

from typing import Annotated

import typer


def down(
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The lab to end.")] = None,
    every: Annotated[bool, typer.Option("--all", help="End all of them.")] = False,
    force: Annotated[bool, typer.Option("--force", help="End it even if processes from outside use it.")] = False,
) -> int:
    """End a lab: its processes, mounts, links, disks and files."""
    from ioassay.errors import UsageError  # noqa: PLC0415
    from ioassay.lab.running import find, running  # noqa: PLC0415

    if (name is None) == (not every):
        raise UsageError("No lab was given.", "Write: ioassay lab down NAME, or: ioassay lab down --all")
    labs = [find(name)] if name else [*running().values()]
    for lab in labs:
        if not force:
            lab.refuse_used()
        lab.end()
        print(f"{lab.name}: down; nothing is left.")
    if not labs:
        print("No lab is up.")
    return 0

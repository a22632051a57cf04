"""`ioassay tune capture`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer


def capture(
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Directory or block device whose I/O path is captured.")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Archive to create.  [default: HOST-TIME.snapshot.tar.gz]"),
    ] = None,
) -> int:
    """Collect this node's storage settings in one archive.

    Passwords, keys and serial numbers are left out. `ioassay tune check --snapshot FILE` reads it, also elsewhere. On
    a server without Python, copy ioassay-engine there and run `ioassay-engine capture`; the archive is the same.
    """
    from ioassay.cli.output import say, write  # noqa: PLC0415
    from ioassay.tuning.snapshot import collect_archive, parse  # noqa: PLC0415

    archive = collect_archive(target)
    snapshot = parse(archive, "the engine's capture")
    path = output or Path(f"{snapshot.host}-{snapshot.taken:%Y%m%d-%H%M%S}.snapshot.tar.gz")
    write(path, archive)
    say(f"{path}: {len(snapshot.files)} files, {len(archive) >> 10} KiB")
    if snapshot.unreadable:
        reasons = Counter(snapshot.unreadable.values()).most_common()
        summary = ", ".join(f"{reason} ({count})" for reason, count in reasons)
        typer.echo(f"Not readable, as the archive says by name: {summary}", err=True)
    return 0

"""`ioassay tune capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def capture(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Directory or block device whose way to the disk matters.")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Archive to create.  [default: HOST-TIME.snapshot.tar.gz]"),
    ] = None,
) -> int:
    """Collect this node's storage settings in one archive, without secrets.

    `ioassay tune check --snapshot FILE` reads it, here or elsewhere. On a server without Python, copy ioassay-engine there
    and run `ioassay-engine capture`; the archive is the same.
    """
    from ioassay.cli.output import write  # noqa: PLC0415
    from ioassay.tuning.snapshot import collect_archive, parse  # noqa: PLC0415

    archive = collect_archive(target)
    snapshot = parse(archive, "the engine's capture")
    stamp = snapshot.manifest.taken[:19].replace("-", "").replace(":", "").replace("T", "-")
    path = output or Path(f"{snapshot.host}-{stamp}.snapshot.tar.gz")
    write(path, archive)
    typer.echo(f"{path}: {len(snapshot.files)} files, {len(archive) >> 10} KiB", err=True)
    for one in snapshot.manifest.unreadable[:10]:
        typer.echo(f"Not readable: /{one.path}: {one.reason}", err=True)
    if (more := len(snapshot.manifest.unreadable) - 10) > 0:
        typer.echo(f"{more} more are not readable; the archive names them.", err=True)
    return 0

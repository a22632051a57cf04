"""`ioassay lab list` lists the built-in labs; `ioassay lab list NAME` prints one to read or to copy."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ioassay.cli.output import print_wrapped


def list_labs(
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print the YAML of this lab.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """List the built-in labs and what they lack here, or print one."""
    from ioassay.lab.library import LABS, read  # noqa: PLC0415
    from ioassay.lab.requirements import missing  # noqa: PLC0415

    if name is not None:
        print(LABS.find(name).text.rstrip("\n"))
        return 0
    labs = {key: read(source) for key, source in LABS.sources().items()}
    lacking = {key: [str(requirement) for requirement in missing(lab.requirements())] for key, lab in labs.items()}
    if as_json:
        print(
            json.dumps(
                [{"name": key, "title": lab.title, "missing": lacking[key]} for key, lab in labs.items()], indent=2
            )
        )
        return 0
    width = max(map(len, labs))
    for key, lab in labs.items():
        print(f"{key:<{width}}  {lab.title}")
        if lacking[key]:
            print_wrapped(f"{'':<{width}}  lacks {', '.join(lacking[key])}", width + 4)
    print_wrapped("\nStart one with `ioassay lab up NAME`, with --install to install missing packages.")
    print("Print one with `ioassay lab list NAME`.")
    return 0

"""`ioassay studies` lists the built-in studies; `ioassay studies NAME` prints one to read or to copy."""

from __future__ import annotations

from typing import Annotated

import typer

from ioassay.cli.output import print_wrapped
from ioassay.errors import UsageError


def studies(
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print the YAML of this study.")] = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print it with all that it takes from the study that it extends.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """List the built-in studies and what they need, or print one."""
    import json  # noqa: PLC0415

    from ioassay.studies.overview import builtin_overviews  # noqa: PLC0415

    if name is not None:
        typer.echo(_study(name, resolved=resolved, as_json=as_json))
        return 0
    if resolved:
        raise UsageError("--resolved needs a study.", "For example: ioassay studies io500-extended --resolved")
    overviews = builtin_overviews()
    if as_json:
        typer.echo(json.dumps([entry.document() for entry in overviews], indent=2))
        return 0
    for entry in overviews:
        for line in entry.text().splitlines():
            print_wrapped(line, 4)
        print()
    typer.echo("Run one with `ioassay run NAME --target DIR`, print one with `ioassay studies NAME`.")
    return 0


def _study(name: str, *, resolved: bool, as_json: bool) -> str:
    """A study, in a file or built in, as its YAML or with what it needs."""
    import json  # noqa: PLC0415

    from ioassay.studies.library import STUDIES, find_study  # noqa: PLC0415

    if not as_json:
        return (find_study if resolved else STUDIES.find)(name).text.rstrip("\n")
    from ioassay.studies.needs import judge, overview  # noqa: PLC0415

    source = find_study(name)
    judge(source)
    return json.dumps(overview(source).document(), indent=2)

"""`ioassay systems`: published systems, their figures, and whether what was claimed of them follows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ioassay.cli.output import show
from ioassay.errors import UsageError


def systems(
    *,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE", help="Only this system: a built-in one, or a YAML file of your own."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Recompute what was claimed; exit with 1 where something does not follow.")
    ] = False,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the YAML of the system, to copy.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """List published storage systems, show all that is known of one, or check what was claimed of them."""
    from ioassay.systems import claims, document  # noqa: PLC0415
    from ioassay.systems.library import LIBRARY, builtin_systems, find_system  # noqa: PLC0415

    known = builtin_systems()
    chosen = known.values() if name is None else [find_system(name, known)]
    if as_yaml:
        if name is None or check or as_json:
            raise UsageError("--yaml prints one system and nothing else.", "Write `ioassay systems NAME --yaml`.")
        typer.echo(LIBRARY.find(name).text.rstrip("\n"))
        return 0
    found = [(system, claims.check(system, known)) for system in chosen]
    if as_json:
        if check:
            printed = document.verification(found)
        else:
            printed = document.overview(found) if name is None else document.whole(*found[0])
        _print_json(printed)
    else:
        from ioassay.reports import systems as shown  # noqa: PLC0415

        if check:
            show(shown.verification(found))
        else:
            show(shown.overview(found) if name is None else shown.details(*found[0]))
    wrong = any(one.verdict == "does not follow" for _, checked in found for one in checked)
    return 1 if check and wrong else 0


def _print_json(printed: dict[str, Any]) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(printed, indent=2, ensure_ascii=False))

"""`ioassay size catalogue`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.output import AsJson, Form, Output
from ioassay.errors import UsageError


def catalogue(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...",
            help="Names, words of names (ddn) or patterns ('*-24tb'): only these components, with sources.",
        ),
    ] = None,
    *,
    own_catalogues: Annotated[
        list[Path] | None,
        typer.Option("--catalogue", metavar="FILE", help="Your own catalogue beside the built-in ones. Repeatable."),
    ] = None,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the catalogue files that have them, to copy.")] = False,
    form: Form = None,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """List drives, enclosures, servers, bricks and other components.

    With names, shows what each component is and where each of its figures comes from.
    """
    from ioassay.cli.output import chosen_format, print_report  # noqa: PLC0415
    from ioassay.reports.sizing.catalogue import CatalogueReport  # noqa: PLC0415
    from ioassay.sizing.catalogue import load  # noqa: PLC0415

    wanted = chosen_format(form, output, as_json=as_json)
    loaded = load(own_catalogues or [])
    chosen = {entry.name: entry for word in names or [] for entry in loaded.named(word)}
    if as_yaml:
        if not chosen or wanted is not None:
            raise UsageError("--yaml needs a component and no format.", "Write `ioassay size catalogue NAME --yaml`.")
        typer.echo("\n".join(dict.fromkeys(entry.text for entry in chosen.values())), nl=False)
        return 0
    return print_report(CatalogueReport(loaded, [*chosen]), wanted, output)

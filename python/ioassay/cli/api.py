"""`ioassay api build` compiles storage APIs that are plug-ins, with the site's compiler; `api list` shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.group import group

app = group(
    name="api",
    no_args_is_help=True,
    help="Build and list storage plug-ins: MPI-IO, HDF5, PnetCDF, own.",
)


@app.command()
def build(
    *,
    what: Annotated[
        str,
        typer.Argument(
            metavar="API|FILE", help="mpiio, hdf5, pnetcdf, gpu, null-plugin, skeleton-plugin, or a file of C source."
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- ARGUMENT...", help="Further compiler arguments, such as -lrados."),
    ] = None,
    compiler: Annotated[
        str | None, typer.Option(metavar="CC", help="The compiler.  [default: mpicc, h5pcc or cc, as needed]")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write NAME.so there instead of where `ioassay` finds it by name."),
    ] = None,
) -> int:
    """Compile a storage plug-in for this machine and print its path."""
    from ioassay.processes import engine  # noqa: PLC0415

    asked = [*(["--compiler", compiler] if compiler else []), *(["--output", str(output)] if output else [])]
    more = ["--", *arguments] if arguments else []
    return engine.pass_on("api", "build", *asked, what, *more)


@app.command(name="list")
def list_(
    *,
    paths: Annotated[list[Path] | None, typer.Argument(metavar="LIBRARY...", help="Further libraries to list.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """List storage plug-ins and their options."""
    from ioassay.processes import engine  # noqa: PLC0415

    return engine.pass_on("api", "list", *(["--json"] if as_json else []), *(str(path) for path in paths or []))

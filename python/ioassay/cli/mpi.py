"""`ioassay mpi build` joins the engine with the site's MPI, by its compiler; `ioassay mpi list` shows what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from ioassay.cli.group import group

app = group(name="mpi", no_args_is_help=True, help="Build and list MPI connectors.")


@app.command()
def build(
    *,
    compiler: Annotated[
        str | None, typer.Option(metavar="CC", help="The MPI's compiler.  [default: mpicc, beside mpirun or in PATH]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Rebuild it.")] = False,
) -> int:
    """Compile the connector for an MPI and print its path.

    The first run with an MPI does this by itself.
    """
    from ioassay.launchers.site_mpi import mpicc  # noqa: PLC0415
    from ioassay.processes import engine  # noqa: PLC0415

    return engine.pass_on("mpi", "build", "--compiler", compiler or str(mpicc()), *(["--force"] if force else []))


@app.command(name="list")
def list_(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False
) -> int:
    """List the connectors that were built, each with its MPI."""
    from ioassay.processes import engine  # noqa: PLC0415

    return engine.pass_on("mpi", "list", *(["--json"] if as_json else []))

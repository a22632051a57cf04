"""`ioassay dashboards`: Grafana's dashboards of what agents store; lists, prints and installs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.group import group

app = group(
    name="dashboards",
    no_args_is_help=True,
    help="List, print and install Grafana dashboards.",
)

Source = Annotated[
    str,
    typer.Option("--source", metavar="SOURCE", help="The data source: elasticsearch, opensearch or prometheus."),
]


@app.command(name="list")
def list_() -> int:
    """List the dashboards."""
    from ioassay.monitoring.dashboards import library  # noqa: PLC0415

    for name in library.NAMES:
        about = library.dashboard(name, library.SOURCES[0])["description"].split(". ")[0]
        typer.echo(f"{name:<12} {about}.")
    return 0


@app.command()
def show(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="cluster, node, job or file-system.")],
    source: Source = "elasticsearch",
) -> int:
    """Print a dashboard as JSON, to import or provision it."""
    from ioassay.monitoring.dashboards import library  # noqa: PLC0415

    typer.echo(library.text(name, library.source_named(source)), nl=False)
    return 0


@app.command()
def install(
    *,
    grafana: Annotated[str, typer.Option(metavar="URL", help="The address of Grafana.")],
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the token of a service account; only you may read it."),
    ] = None,
    folder: Annotated[str, typer.Option(metavar="TITLE", help="The folder; it is created if missing.")] = "ioassay",
    source: Source = "elasticsearch",
    source_uid: Annotated[
        str | None,
        typer.Option(metavar="UID", help="The data source that they begin with.  [default: the first of its kind]"),
    ] = None,
) -> int:
    """Save all dashboards in Grafana, over those of an earlier version."""
    from ioassay.monitoring.dashboards import library  # noqa: PLC0415
    from ioassay.monitoring.dashboards.grafana import Grafana, read_token  # noqa: PLC0415

    kind = library.source_named(source)
    server = Grafana(grafana, None if token_file is None else read_token(token_file))
    if server.shows_token:
        typer.echo("note: http sends the token unencrypted; use https where Grafana has it", err=True)
    uid = server.folder(folder)
    for name in library.NAMES:
        typer.echo(server.save(library.dashboard(name, kind, source_uid), uid))
    return 0

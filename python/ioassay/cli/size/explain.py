"""`ioassay size explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from ioassay.cli.output import AsJson, Form, Output
from ioassay.errors import UsageError


def explain(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE", help="A published configuration, or a YAML file of your own."),
    ] = None,
    *,
    configuration: Annotated[
        str | None,
        typer.Option("--configuration", metavar="NAME", help="Only this one of the file, with every step."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if published figures do not all follow as printed.")
    ] = False,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the YAML of the file, to copy.")] = False,
    form: Form = None,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Show what a configuration holds and does, step by step.

    Without a name, lists the published configurations. Figures that a file states are held against the arithmetic.
    """
    from ioassay.cli.output import chosen_format, print_report, show  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.reports.sizing import configuration_list, explanation  # noqa: PLC0415
    from ioassay.sizing.configurations import LIBRARY, read  # noqa: PLC0415

    wanted = chosen_format(form, output, as_json=as_json)
    if name is None:
        if configuration is not None or check or as_yaml or wanted is not None:
            raise UsageError("Options need a file of configurations.", "Name one: `ioassay size explain NAME`.")
        show(rendered(configuration_list.blocks()))
        return 0
    if as_yaml:
        if configuration is not None or check or wanted is not None:
            raise UsageError("--yaml takes no other options.", "Write `ioassay size explain NAME --yaml`.")
        typer.echo(LIBRARY.find(name).text, nl=False)
        return 0
    if check and configuration is not None:
        raise UsageError("--check is about a whole file.", "Leave out --configuration.")
    report = explanation.report(*read(name), configuration)
    undrawn = print_report(report, wanted, output)
    return max(undrawn, int(check and not report.content.published.is_consistent))

"""`ioassay profile`: what a recorded application does to storage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.output import AsJson, Form, Output, chosen_format, emit, say_undrawn, show


def profile(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORD...",
            help="Records of one job, recorded runs, folders with either, or Darshan logs.",
            show_default=False,
        ),
    ],
    *,
    output: Output = None,
    form: Form = None,
    as_json: AsJson = False,
) -> int:
    """Show what a recorded application does to storage.

    Several records, such as those of the nodes of a job, are one profile; so are Darshan logs of a job, or what
    darshan-parser prints of them.
    """
    # Imported here because they take a second, which `--help` must not.
    from ioassay.reports import build  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.reports.profile import ProfileReport  # noqa: PLC0415
    from ioassay.reports.profile.content import assemble  # noqa: PLC0415
    from ioassay.reports.profile.document import summary  # noqa: PLC0415
    from ioassay.results.profiles import load_profile  # noqa: PLC0415

    chosen = chosen_format(form, output, as_json=as_json)
    content = assemble(load_profile(records))
    if chosen is None:
        show(rendered(summary(content)))
    else:
        emit(build(ProfileReport(content), chosen), output)
    return say_undrawn()

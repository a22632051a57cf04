"""The option for the directory of journals, shared by commands of `ioassay tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JournalPlace = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="DIR",
        help="The directory of journals.  [default: /var/lib/ioassay/tuning; without root in ~/.local/state]",
        envvar="IOASSAY_TUNING_JOURNAL",
        show_envvar=False,
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]

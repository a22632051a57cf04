"""Where journals of settings are: what several commands of `ioassay tune` share."""

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

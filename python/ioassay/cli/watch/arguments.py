"""Arguments that several commands share: a contract, and the scope of rules that do not state theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from ioassay.monitoring.contract import Loaded

ContractFile = Annotated[
    Path, typer.Argument(metavar="CONTRACT", help="A contract: YAML, or one of Mistral.", show_default=False)
]

Scope = Annotated[
    Literal["job", "node"],
    typer.Option(help="For contracts of Mistral: rules are for each job (local), or all jobs of a node (global)."),
]


def loaded(path: Path, scope: Literal["job", "node"]) -> Loaded:
    """The contract in a file; prints on standard error what is measured differently. Raises `SourceError`."""
    from ioassay.monitoring.contract import load  # noqa: PLC0415

    loaded_contract = load(path, scope)
    for note in loaded_contract.notes:
        typer.echo(f"note: {note}", err=True)
    return loaded_contract

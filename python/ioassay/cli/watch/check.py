"""`ioassay watch check`."""

from __future__ import annotations

import typer

from ioassay.cli.watch.arguments import ContractFile, Scope, loaded


def check(contract: ContractFile, *, scope: Scope = "job") -> int:
    """Check a contract and explain its rules in sentences."""
    from ioassay.monitoring.explanation import sentences  # noqa: PLC0415

    document = loaded(contract, scope).contract
    for rule, sentence in zip(document["rules"], sentences(document), strict=True):
        typer.echo(f"{rule['label']}: {sentence}")
    if not document["rules"]:
        typer.echo("No rules: lifts all rules that are enforced.")
    return 0

"""`ioassay watch convert`: contracts of Mistral as ours, and ours as those of Mistral."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.watch.arguments import ContractFile, Scope, loaded
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.protocol.contract import Contract


def convert(
    contract: ContractFile,
    *,
    scope: Scope = "job",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write. Several contracts of Mistral need it as a prefix."
        ),
    ] = None,
) -> int:
    """Convert contracts between Mistral's format and YAML.

    A contract of Mistral is written as YAML, and YAML as contracts of Mistral, of which each has one scope and either
    monitors or throttles: several are written as FILE.local.monitor and so on.
    """
    from ioassay.cli.output import emit  # noqa: PLC0415
    from ioassay.monitoring.contract import NOUN, is_of_mistral, text_of  # noqa: PLC0415
    from ioassay.yaml_models.source import read_text  # noqa: PLC0415

    document = loaded(contract, scope).contract
    if is_of_mistral(read_text(contract, NOUN)):
        emit(text_of(document).encode(), output)
        return 0
    texts = _of_mistral(document)
    if len(texts) == 1:
        emit(next(iter(texts.values())).encode(), output)
        return 0
    if output is None:
        raise UsageError(f"The rules make {len(texts)} contracts of Mistral: {', '.join(texts)}.", "Add -o FILE.")
    for kind, text in texts.items():
        emit(text.encode(), output.with_name(f"{output.name}.{kind}"))
    return 0


def _of_mistral(contract: Contract) -> dict[str, str]:
    """The contracts of Mistral that the rules make, by `SCOPE.KIND`. Raises `UsageError`."""
    from ioassay.monitoring.mistral.contract_file import write_contract  # noqa: PLC0415
    from ioassay.monitoring.mistral.mapping import contracts_of  # noqa: PLC0415

    if not contract["rules"]:
        raise UsageError("The contract has no rules.", "Write at least one.")
    scopes = {"job": "local", "node": "global"}
    contracts = contracts_of(contract["rules"])
    return {
        f"{scopes[scope]}.{kind}": write_contract(mistral_contract)
        for (scope, kind), mistral_contract in contracts.items()
    }

"""`ioassay watch set`: replaces the contract of an agent that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.watch.arguments import ContractFile, Scope, loaded
from ioassay.errors import CannotRun, UsageError


def set_(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="RECORD|DIRECTORY",
            help="A record that is watched, or the directory that `watch prepare` wrote.",
            show_default=False,
        ),
    ],
    contract: ContractFile,
    *,
    scope: Scope = "job",
) -> int:
    """Replace the rules of an agent while jobs run.

    The agent reads them within a second. Rules keep their state by their label. A contract with errors changes nothing.
    """
    from ioassay.monitoring.contract import document, load  # noqa: PLC0415
    from ioassay.monitoring.explanation import changes  # noqa: PLC0415
    from ioassay.monitoring.setup import CONTRACT, check_share, share_of  # noqa: PLC0415
    from ioassay.store.atomic import write_atomically  # noqa: PLC0415
    from ioassay.yaml_models.source import SourceError  # noqa: PLC0415

    after = loaded(contract, scope).contract
    enforced = next((path for path in (place / "watch" / CONTRACT, place / CONTRACT) if path.is_file()), None)
    if enforced is None:
        raise UsageError(
            f"{place} is not watched: it has neither watch/{CONTRACT} nor {CONTRACT}.",
            "Name a record of `ioassay record --watch`, or the directory that `ioassay watch prepare` wrote.",
        )
    check_share(after, share_of(enforced.parent))
    if _has_ended(place):
        raise UsageError(f"{place} has ended: no rules are enforced there any more.", "Name a record that is running.")
    try:
        before = load(enforced).contract
    except SourceError as error:
        typer.echo(f"{enforced} could not be read and is replaced: {error.message}", err=True)
        before = {**after, "rules": []}
    try:
        write_atomically(enforced, document(after))
    except OSError as error:
        raise CannotRun(
            f"{enforced} cannot be replaced: {error.strerror}.", "Do it as the user who wrote it."
        ) from None
    changed = changes(before, after)
    for what, labels in (
        ("new", changed.new),
        ("changed", changed.changed),
        ("gone", changed.gone),
        ("unchanged", changed.kept),
    ):
        if labels:
            typer.echo(f"{what}: {', '.join(labels)}")
    if not (after["rules"] or before["rules"]):
        typer.echo("no rules, as before")
    return 0


def _has_ended(place: Path) -> bool:
    """Whether this is a record, or one of several ranks, that no agent watches any more."""
    from ioassay.profiles.records.directory import open_record  # noqa: PLC0415
    from ioassay.store.kinds import RECORD  # noqa: PLC0415

    records = [path for path in (place, *place.glob("rank-*")) if (path / RECORD.document).is_file()]
    return bool(records) and not any(open_record(path).is_running for path in records)

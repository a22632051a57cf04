"""`ioassay tune rollback`: puts back what `tune apply` and `tune sweep` have changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.tune.journal_option import AsJson, JournalPlace
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ioassay.tuning.rollback import PutBack


def rollback(
    name: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The journal.  [default: the only one that is open]", show_default=False),
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All open journals, the newest first.")] = False,
    host: Annotated[
        str | None, typer.Option(metavar="NAME", help="What this machine was called when the settings were applied.")
    ] = None,
    journal: JournalPlace = None,
    as_json: AsJson = False,
) -> int:
    """Put settings back to what they were.

    Works after a crash, a kill or a reboot. Settings that something else has changed since are left alone and listed;
    the exit code is 1 then, and 3 if a setting could not be put back.
    """
    import json  # noqa: PLC0415

    from ioassay.cli.output import print_error, show  # noqa: PLC0415
    from ioassay.reports import tuning_changes  # noqa: PLC0415
    from ioassay.reports.document import Section  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.tuning.journal import Journal, default_place  # noqa: PLC0415
    from ioassay.tuning.rollback import exit_code, roll_back  # noqa: PLC0415

    place = journal or default_place()
    if name is not None and every:
        raise UsageError("An ID and --all contradict each other.", "Use one of them.")
    done: dict[str, list[PutBack]] = {}
    refused: list[UsageError] = []
    for path in _chosen(place, name, every=every, refused=refused):
        try:
            with Journal.reopen(path, host=host) as opened:
                if not opened.state.is_closed:
                    done[opened.id] = roll_back(opened)
        except UsageError as error:
            refused.append(error)
            if not every:
                raise
    if as_json:
        document = {identity: tuning_changes.rollback_document(results) for identity, results in done.items()}
        print(json.dumps({"version": 1, "journals": document}, indent=2))
    elif done:
        show(
            rendered([Section(identity, tuning_changes.rollback_blocks(results)) for identity, results in done.items()])
        )
    elif not refused:
        print(
            f"Nothing to put back: no journal in {place} is open." if name is None else f"{name} is put back already."
        )
    for refusal in refused:
        print_error(refusal)
    return max([UsageError.exit_code] * bool(refused) + [exit_code(results) for results in done.values()], default=0)


def _chosen(place: Path, name: str | None, *, every: bool, refused: list[UsageError]) -> list[Path]:
    """The journals to roll back."""
    from ioassay.tuning.journal import find, open_journals  # noqa: PLC0415

    if name is not None:
        return [find(place, name)]
    journals = open_journals(place)
    refused += journals.damaged
    if journals.of_other_machines:
        print(
            f"Of other machines and skipped: {', '.join(path.stem for path in journals.of_other_machines)}",
            file=sys.stderr,
        )
    if len(journals.states) > 1 and not every:
        started = ", ".join(
            f"{path.stem} ({len(state.open_entries)} settings)" for path, state in journals.states.items()
        )
        raise UsageError(f"{len(journals.states)} journals are open: {started}.", "Name one of them, or use --all.")
    return [*journals.states]

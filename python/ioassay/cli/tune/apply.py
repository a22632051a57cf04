"""`ioassay tune apply`: changes settings, with a way back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ioassay.cli.output import say
from ioassay.cli.tune.journal_option import AsJson, JournalPlace
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.reports.document import Block
    from ioassay.tuning.apply import Applied
    from ioassay.tuning.change_plan import ChangePlan
    from ioassay.tuning.persistent import PersistentForm
    from ioassay.tuning.rule import Rule

_DRIFTED = 1


def apply(
    assignments: Annotated[
        list[str],
        typer.Argument(
            metavar="KIND:WHERE=VALUE...",
            help="What to set, such as block:sda/nr_requests=256 or sysctl:vm.dirty_ratio=10.",
            show_default=False,
        ),
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and show everything, change nothing.")] = False,
    settle: Annotated[
        str, typer.Option(metavar="TIME", help="Read the settings again after this long; 0: do not wait.")
    ] = "60s",
    persist: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write files that survive a reboot below DIR; / is this system."),
    ] = None,
    commands: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML that defines the get and set commands of command:NAME.")
    ] = None,
    journal: JournalPlace = None,
    as_json: AsJson = False,
) -> int:
    """Change settings; a journal puts them back.

    Shows what changes and asks. Every value is read back at once and again after --settle. If a value is refused, all
    settings are put back. Ctrl-C during the wait keeps them: `ioassay tune rollback` puts them back. The exit code is 1
    if something else changed a setting during the wait.
    """
    from ioassay.cli.tune.confirmation import confirm  # noqa: PLC0415
    from ioassay.processes import keyboard_interrupt  # noqa: PLC0415
    from ioassay.reports import tuning_changes  # noqa: PLC0415
    from ioassay.tuning.apply import apply as make_changes  # noqa: PLC0415
    from ioassay.tuning.change_plan import plan_changes  # noqa: PLC0415
    from ioassay.tuning.conflicts import set_back_by_tuned  # noqa: PLC0415
    from ioassay.tuning.journal import new_id  # noqa: PLC0415
    from ioassay.tuning.persistent.forms import persistent_form  # noqa: PLC0415
    from ioassay.tuning.settings import parse_assignment  # noqa: PLC0415
    from ioassay.tuning.settings.command import load_commands  # noqa: PLC0415

    wait_s = _seconds(settle)
    definitions = load_commands(commands) if commands is not None else {}
    plan = plan_changes(map(parse_assignment, assignments), definitions, is_persistent=persist is not None)
    journal_id = new_id()
    form = persistent_form(plan, persist, journal_id) if persist is not None else None
    rules = _rules(plan)
    conflicts = list(set_back_by_tuned(plan, form.profile if form else ""))
    planned = tuning_changes.plan_document(plan, form, rules, conflicts)
    document: dict[str, Any] = {"version": 1, "journal": None, **planned}
    _show(tuning_changes.plan_blocks(plan, form, rules, conflicts), as_json=as_json)
    if dry_run or not (plan.is_needed or (form and form.files)):
        say("Nothing was changed: --dry-run." if dry_run else "Nothing to change: all settings have these values.")
        _print(document, as_json=as_json)
        return 0
    _name_open_journals(plan, journal)
    confirm(_question(plan, form), yes=yes, is_shown=not as_json)
    done = make_changes(
        plan, journal, form.files if form else (), journal_id=journal_id, profile=form.profile if form else ""
    )
    back = f"Put back with: ioassay tune rollback {done.journal.id}"
    keyboard_interrupt.note_kept(f"The settings stay as they are. {back}")
    try:
        _show(tuning_changes.changes_blocks(done.changes.values()), as_json=as_json)
        if form is None and any(step.instance.lifetime in ("reboot", "remount") for step in plan.live):
            say("These settings do not survive a reboot; to write files that do: --persist /")
        drift = _changed_while_waiting(done, wait_s)
        if drift:
            say(f"Something else changed settings within {settle}:")
            _show(tuning_changes.drift_blocks(drift), as_json=as_json)
        elif wait_s:
            say(f"All settings are unchanged after {settle}.")
        document |= {
            "journal": done.journal.id,
            "applied": tuning_changes.changes_document(done.changes.values()),
            "drift": tuning_changes.drift_document(drift),
        }
        _print(document, as_json=as_json)
    finally:
        done.close()
    say(back)
    return _DRIFTED if drift else 0


def _seconds(text: str) -> float:
    from ioassay.text.units import UnitError, parse_duration_ns  # noqa: PLC0415

    if text == "0":
        return 0.0
    try:
        return parse_duration_ns(text) / 1e9
    except UnitError as error:
        raise UsageError(f"--settle: {error.message}", error.remedy) from None


def _name_open_journals(plan: ChangePlan, journal: Path | None) -> None:
    """Prints settings that an earlier apply has changed already."""
    from ioassay.tuning.journal import default_place, open_journals  # noqa: PLC0415

    for state in open_journals(journal or default_place()).states.values():
        names = {entry.name for entry in state.open_entries}
        if both := [step.name for step in plan.live if step.name in names]:
            say(f"Changed before by {state.header.id}, to be put back after this one: {', '.join(both)}")


def _rules(plan: ChangePlan) -> dict[str, Rule]:
    """By setting, the rule that knows its risk."""
    from ioassay.tuning.rules.known import rule_of  # noqa: PLC0415

    rules = {step.name: rule_of(step.name, step.instance.identity().get("file system", "")) for step in plan.steps}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _question(plan: ChangePlan, form: PersistentForm | None) -> str:
    from ioassay.text.units import format_count  # noqa: PLC0415

    profile = " and activate a profile of TuneD" if form and form.profile else ""
    files = f" and write {format_count(len(form.files), 'file')}" if form and form.files else ""
    return f"Change {format_count(len(plan.live), 'setting')}{files}{profile}?"


def _changed_while_waiting(done: Applied, wait_s: float) -> list[Any]:
    from ioassay.tuning.apply import settle  # noqa: PLC0415

    if not wait_s:
        return []
    say(f"Waiting {wait_s:g} s to see whether udev or a daemon changes them.")
    return settle(done, wait_s)


def _show(blocks: list[Block], *, as_json: bool) -> None:
    from ioassay.cli.output import show  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415

    if not as_json:
        show(rendered(blocks))


def _print(document: dict[str, Any], *, as_json: bool) -> None:
    import json  # noqa: PLC0415

    if as_json:
        print(json.dumps(document, indent=2))

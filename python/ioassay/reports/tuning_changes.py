"""Changed settings, as blocks and as plain values: planned, applied, drifted, put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Notes,
    Paragraph,
    Preformatted,
    Section,
    Span,
    Table,
    Text,
)
from ioassay.tuning.apply import Change
from ioassay.tuning.change_plan import ChangePlan, Step
from ioassay.tuning.persistent import PersistentForm
from ioassay.tuning.rollback import PutBack
from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.known import out_of_bounds
from ioassay.tuning.verify import AppliedSetting

_SETTING = Column("setting", wraps=False)
_LASTS = {"reboot": "no", "remount": "no, nor a remount", "kept": "yes", "unknown": "unknown"}


def plan_blocks(
    plan: ChangePlan,
    form: PersistentForm | None = None,
    rules: Mapping[str, Rule] | None = None,
    conflicts: Sequence[str] = (),
) -> list[Block]:
    """The planned changes: a table, dependent settings, risks, persistent files. `rules` are by setting.

    `conflicts`: other programs that set these settings, as sentences.
    """
    asked = {step.name for step in plan.steps}
    rows: list[Sequence[Text]] = []
    for step in plan.steps:
        rows.append([step.name, step.now, _new(step), _lasts(step, form)])
        rows += [
            [f"  {follower.instance.name}", follower.now, "may change", ""]
            for follower in step.followers
            if follower.instance.name not in asked
        ]
    notes = dict.fromkeys(f"{step.name}: {step.instance.note}." for step in plan.steps if step.instance.note)
    moved = dict.fromkeys(f"{step.name}: {follower.why}." for step in plan.steps for follower in step.followers)
    known = {rule.name: rule for rule in (rules or {}).values()}
    breaches = [(step, breach) for step in plan.steps if (breach := _breach(step, rules or {}))]
    blocks: list[Block] = [
        Table([_SETTING, Column("now"), Column("new"), Column("survives a reboot")], rows),
        Notes([*notes, *moved]),
        Bullets(
            [(Span("Harmful on any node:", "warning"), f" {step.name}={step.wanted}: {why}.") for step, why in breaches]
        ),
        Bullets([(Span("Conflict:", "warning"), f" {conflict}.") for conflict in conflicts]),
        Bullets([(Span(f"Risk ({name}):", "strong"), f" {rule.risk}") for name, rule in known.items()]),
    ]
    if form is not None:
        blocks += [Section(str(file.path), [Preformatted(file.text.rstrip("\n"))]) for file in form.files]
        blocks.append(Notes([f"{note}." for note in dict.fromkeys(form.notes)]))
        blocks += [
            Paragraph(f"To use {file.path.name} now: {file.activation}.")
            for file in form.files
            if file.activation and not (form.profile and form.profile in file.path.parts)
        ]
    return blocks


def changes_blocks(changes: Iterable[Change]) -> list[Block]:
    """The values as the kernel applied them."""
    rows: list[Sequence[Text]] = [
        [change.name, change.before, change.read_back if change.read_back is not None else "gone", _remark(change)]
        for change in changes
    ]
    return [Table([_SETTING, Column("before"), Column("now"), Column()], rows)]


def drift_blocks(settings: Sequence[AppliedSetting]) -> list[Block]:
    """The applied values beside the present ones."""
    rows: list[Sequence[Text]] = [
        [
            setting.name,
            _shown(setting.applied),
            _shown(setting.now),
            setting.since[:16].replace("T", " "),
            f"drifted: {setting.why}" if setting.why else "drifted" * setting.has_drifted,
        ]
        for setting in settings
    ]
    return [Table([_SETTING, Column("applied"), Column("now"), Column("since (UTC)"), Column()], rows)]


def rollback_blocks(results: Sequence[PutBack]) -> list[Block]:
    """The result for each setting."""
    rows: list[Sequence[Text]] = [
        [result.name, result.before, _shown(result.value) if result.before else "", result.outcome, result.why]
        for result in results
    ]
    return [Table([_SETTING, Column("before"), Column("found"), Column(), Column()], rows)]


def plan_document(
    plan: ChangePlan,
    form: PersistentForm | None = None,
    rules: Mapping[str, Rule] | None = None,
    conflicts: Sequence[str] = (),
) -> dict[str, Any]:
    """The content of `plan_blocks` as plain values."""
    known = rules or {}
    return {
        "changes": [
            {
                "setting": step.name,
                "now": step.now,
                "new": step.wanted,
                "survives_reboot": _lasts(step, form),
                "live": not step.not_live,
                "note": step.not_live or step.instance.note,
                "rule": known[step.name].name if step.name in known else None,
                "risk": known[step.name].risk if step.name in known else None,
                "harmful": _breach(step, known) or None,
                "moves": [
                    {"setting": follower.instance.name, "now": follower.now, "why": follower.why}
                    for follower in step.followers
                ],
            }
            for step in plan.steps
        ],
        "files": [
            {"path": str(file.path), "text": file.text, "activation": file.activation}
            for file in (form.files if form else [])
        ],
        "tuned_profile": form.profile or None if form else None,
        "conflicts": list(conflicts),
        "notes": list(dict.fromkeys(form.notes)) if form else [],
    }


def changes_document(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """The content of `changes_blocks` as plain values."""
    return [
        {"setting": change.name, "before": change.before, "wanted": change.wanted, "now": change.read_back}
        for change in changes
    ]


def drift_document(settings: Iterable[AppliedSetting]) -> list[dict[str, Any]]:
    """The content of `drift_blocks` as plain values."""
    return [
        {
            "setting": setting.name,
            "applied": setting.applied,
            "now": setting.now,
            "since": setting.since,
            "journal": setting.journal,
            "drifted": setting.has_drifted,
            "why": setting.why,
        }
        for setting in settings
    ]


def rollback_document(results: Iterable[PutBack]) -> list[dict[str, Any]]:
    """The content of `rollback_blocks` as plain values."""
    return [
        {
            "setting": result.name,
            "outcome": result.outcome,
            "before": result.before,
            "found": result.value,
            "why": result.why,
        }
        for result in results
    ]


def _breach(step: Step, rules: Mapping[str, Rule]) -> str:
    rule = rules.get(step.name)
    return out_of_bounds(rule, step.name, step.wanted) if rule is not None else ""


def _new(step: Step) -> str:
    if step.not_live:
        return f"{step.wanted} (in a file only: {step.not_live})"
    return f"{step.wanted} (already)" if step.is_already_so else step.wanted


def _lasts(step: Step, form: PersistentForm | None) -> str:
    default = _LASTS[step.instance.lifetime]
    return form.lasting.get(step.name, default) if form is not None else default


def _remark(change: Change) -> str:
    if change.wanted is None:
        return "changed with another setting"
    return "" if change.is_as_wanted else f"asked as {change.wanted}"


def _shown(value: str | None) -> str:
    return "gone" if value is None else value

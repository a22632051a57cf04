"""The outcome of each problem on an I/O path: a recommendation, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ioassay.text.prose import listed
from ioassay.tuning.path.conclusions import Cause, Conclusion
from ioassay.tuning.rule import Change, Finding, Fine, Judgement, NotApplicable, NotJudged, Rule
from ioassay.tuning.rules import RULES

Kind = Literal["recommended", "no recommendation", "not judged"]

_OF_HARDWARE = ("max_segments", "max_hw_sectors_kb", "chunk_sectors", "sg_tablesize")
"""Limits that a device or its driver states. Options of SAS drivers change the last one, which a rule knows."""
_MOST_REASONS = 2


@dataclass(frozen=True)
class Outcome:
    """The answer of the rules to the causes of a problem."""

    kind: Kind
    rules: tuple[str, ...]
    """The rules that recommend a change."""
    text: str
    """A sentence."""


def outcome(problem: Conclusion, findings: Sequence[Finding]) -> Outcome:
    """The answer of the findings to the causes of a problem."""
    rule_names = {finding.rule.name for finding in findings}
    of_host: dict[str, list[Finding]] = {}
    for finding in findings:
        of_host.setdefault(finding.host, []).append(finding)
    recommending = {
        finding.rule.name: None
        for cause in problem.causes
        for finding in _findings_about(cause, of_host)
        if _judgements_about(cause, finding.judgements, Change)
    }
    if recommending:
        names = tuple(recommending)
        return Outcome("recommended", names, f"Recommended below: {listed(list(names))}.")
    reasons: dict[str, Kind] = {}
    for cause in problem.causes:
        for text, kind in _reasons(cause, of_host, rule_names):
            reasons.setdefault(text, kind)
    if not reasons:
        return Outcome("no recommendation", (), "No recommendation: no rule knows a setting that changes this.")
    is_open = "not judged" in reasons.values()
    return Outcome("not judged" if is_open else "no recommendation", (), " ".join(list(reasons)[:_MOST_REASONS]))


def _findings_about(cause: Cause, of_host: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    return [finding for finding in of_host.get(cause.host, ()) if _covers(finding.rule, cause)]


def _covers(rule: Rule, cause: Cause) -> bool:
    return cause.parameter in rule.parameters and (not cause.areas or rule.area in cause.areas)


def _judgements_about(cause: Cause, judgements: Sequence[Judgement], kind: type[Judgement]) -> list[Judgement]:
    """The judgements of a kind on the cause's devices; on others only where they name no device."""
    of_kind = [judgement for judgement in judgements if isinstance(judgement, kind)]
    named = [judgement for judgement in of_kind if getattr(judgement, "subject", "") in cause.subjects]
    return named if cause.subjects and _names_devices(judgements, cause) else of_kind


def _names_devices(judgements: Sequence[Judgement], cause: Cause) -> bool:
    return any(getattr(judgement, "subject", "") in cause.subjects for judgement in judgements)


def _reasons(
    cause: Cause, of_host: Mapping[str, Sequence[Finding]], rule_names: Iterable[str]
) -> Iterable[tuple[str, Kind]]:
    knowing = _findings_about(cause, of_host)
    left_out = [rule for rule in RULES if _covers(rule, cause) and rule.name not in rule_names]
    if cause.parameter in _OF_HARDWARE:
        if not left_out or cause.parameter != "sg_tablesize":
            yield (
                f"No recommendation: {cause.parameter} is a limit of the device or its driver, which no setting of "
                "this node raises.",
                "no recommendation",
            )
            return
        knowing = []
    # A rule of the same parameter elsewhere, such as the read-ahead of NFS, explains nothing of these devices.
    for finding in [finding for finding in knowing if _names_devices(finding.judgements, cause)] or knowing:
        yield from _outcome_texts(finding.rule, cause, finding.judgements)
    if not knowing and left_out:
        names = listed([rule.name for rule in left_out])
        yield f"Not judged: {names} {'was' if len(left_out) == 1 else 'were'} left out by --rule.", "not judged"


def _outcome_texts(rule: Rule, cause: Cause, judgements: Sequence[Judgement]) -> Iterable[tuple[str, Kind]]:
    for judgement in _judgements_about(cause, judgements, Judgement):  # type: ignore[arg-type]  # a union is a type to isinstance
        match judgement:
            case Fine(subject, value):
                yield f"No recommendation: {rule.name} has none for {subject}, {value}.", "no recommendation"
            case NotApplicable(why):
                yield f"No recommendation ({rule.name}): {why}.", "no recommendation"
            case NotJudged(_, _, why):
                yield f"Not judged ({rule.name}): {why}.", "not judged"
            case Change():
                pass
            case _:
                yield f"Not judged ({rule.name}): {judgement.what}: {judgement.reason}.", "not judged"

"""Rules in sentences, and the changes between two contracts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ioassay.monitoring import calls
from ioassay.monitoring.contract import amount_text, jobs_text, sizes_text
from ioassay.protocol.contract import Contract, Rule, Scope
from ioassay.text import units

_NS: Final = 1_000_000_000


def sentences(contract: Contract) -> list[str]:
    """One or two sentences for each rule."""
    return [sentence(rule) for rule in contract["rules"]]


def sentence(rule: Rule) -> str:
    """A rule in words."""
    jobs = f" ({text})" if (text := jobs_text(rule)) else ""
    whose = _WHOSE[rule["scope"]].format(jobs=jobs)
    measure, window = rule["measure"], units.format_duration(rule["window_s"] * _NS)
    amount = amount_text(measure, rule["limit"])
    subject_calls = _which(rule)
    if rule["action"] == "throttle":
        # Agents enforce a rate, for any window.
        rate = amount_text(measure, max(1, rule["limit"] // rule["window_s"]))
        rate_text = f"to {rate}/s" if measure == "bandwidth" else f"to {rate} calls/s"
        text = f"Holds {subject_calls} of {whose} {rate_text}."
        not_held = sorted(calls.NOT_HELD.intersection(rule["calls"]))
        return text + (f" Counts {' and '.join(not_held)} calls but cannot hold them." if not_held else "")
    subject = _OF[rule["scope"]].format(jobs=jobs)
    condition = {
        "bandwidth": f"{subject_calls} {subject} move more than {amount} in {window}",
        "count": f"there are more than {amount} {subject_calls} {subject} in {window}",
        "mean-latency": f"{subject_calls} {subject} take longer than {amount} on average over {window}",
        "maximum-latency": f"one of the {subject_calls} {subject} takes longer than {amount}, looking at {window} at "
        "a time",
        "minimum-latency": f"each of the {subject_calls} {subject} takes longer than {amount} for {window}",
        "total-latency": f"{subject_calls} {subject} take more than {amount} together in {window}",
        "seek-distance": f"{subject_calls} {subject} seek over more than {amount} in {window}",
        "resident-memory": f"the processes {subject} have more than {amount} resident in memory for {window}",
        "virtual-memory": f"the processes {subject} have more than {amount} of virtual memory for {window}",
        "user-time": f"the processes {subject} take more than {amount} of processor time in programs in {window}",
        "system-time": f"the processes {subject} take more than {amount} of processor time in the kernel in {window}",
        "io-wait-time": f"the processes {subject} wait for block devices for more than {amount} in {window}",
    }[measure]
    return f"Alerts when {condition}."


_WHOSE: Final[dict[Scope, str]] = {
    "job": "each job{jobs} on a node",
    "node": "all jobs{jobs} on a node together",
    "whole-job": "each job{jobs} over all its nodes",
    "user": "all jobs{jobs} of each user over all nodes",
}

_OF: Final[dict[Scope, str]] = {
    "job": "of a job{jobs} on a node",
    "node": "of all jobs{jobs} on a node together",
    "whole-job": "of a job{jobs} over all its nodes",
    "user": "of all jobs{jobs} of a user over all nodes",
}


def _which(rule: Rule) -> str:
    """The calls of a rule, in words."""
    words = calls.words_of(rule["calls"])
    calls_text = f"{' and '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)} calls"
    sizes = f" of {sizes_text(rule)}" if sizes_text(rule) else ""
    path_text = f" below {rule['path']}" if rule.get("path") else ""
    return f"{calls_text}{sizes}{path_text}"


@dataclass(frozen=True)
class Changes:
    """The changes between two contracts, by label."""

    new: list[str]
    gone: list[str]
    changed: list[str]
    kept: list[str]


def changes(before: Contract, after: Contract) -> Changes:
    """The changes from `before` to `after`. Rules with the same label are the same rule."""
    old, new = ({rule["label"]: rule for rule in contract["rules"]} for contract in (before, after))
    both = [label for label in new if label in old]
    return Changes(
        new=[label for label in new if label not in old],
        gone=[label for label in old if label not in new],
        changed=[label for label in both if new[label] != old[label]],
        kept=[label for label in both if new[label] == old[label]],
    )

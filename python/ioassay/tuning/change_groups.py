"""Recommended changes as a reader takes them: one for each rule, with the devices and nodes that need it together.

What matters most comes first: values out of the bounds that hold on any node, then settings that requests on the I/O
path were found to suffer from, then by the rule's weight. Within these, the order in which settings are to be made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.text.node_sets import folded
from ioassay.text.units import format_count
from ioassay.tuning.rule import Assignment, Change, Fine, NotApplicable, Rule, Weight

if TYPE_CHECKING:
    from ioassay.tuning.check import Examination

_WEIGHTS: tuple[Weight, ...] = ("large", "usual", "small")
PLACEHOLDER = "NAME"
"""Stands in a command for each of several devices or mounts."""
_NUMBER = re.compile(r"\d+")
_MOST_VALUES = 3
"""Values of today that are listed one by one where many nodes differ in them."""


@dataclass(frozen=True)
class Place:
    """A value of today that is to become another one, with all that has it."""

    hosts: tuple[str, ...]
    subjects: tuple[str, ...]
    """The devices or mounts, the same on each host; empty where it is the host itself."""
    value: str
    wanted: str
    because: str
    is_harmful: bool


@dataclass(frozen=True)
class Command:
    """A command line, with the hosts to run it on and the devices that it is for."""

    hosts: tuple[str, ...]
    subjects: tuple[str, ...]
    text: str
    assignments: tuple[Assignment, ...]
    names: tuple[str, ...] = ()
    """The names that `PLACEHOLDER` stands for in the text."""


@dataclass(frozen=True)
class ChangeGroup:
    """The changes that one rule recommends, on all hosts."""

    rule: Rule
    places: Sequence[Place]
    commands: Sequence[Command]
    evidence: Sequence[str]
    exceptions: str
    """Hosts that the rule judged and that need no change, in words; empty where there are none."""

    @property
    def is_harmful(self) -> bool:
        """Whether a value is out of the bounds that hold on any node."""
        return any(place.is_harmful for place in self.places)

    @property
    def hosts(self) -> list[str]:
        """The hosts that need it."""
        return list(dict.fromkeys(host for place in self.places for host in place.hosts))


def change_groups(examination: Examination) -> list[ChangeGroup]:
    """The changes, the weightiest first."""
    by_host: dict[str, list[tuple[str, Change]]] = {}
    for finding, change in examination.of_kind(Change):
        by_host.setdefault(finding.rule.name, []).append((finding.host, change))
    groups = []
    for rule in dict.fromkeys(finding.rule for finding in examination.findings):
        if rule.name in by_host:
            evidence = dict.fromkeys(
                text for finding in examination.findings if finding.rule is rule for text in finding.evidence
            )
            changes = by_host[rule.name]
            places, commands = _places(changes), _commands(rule, changes)
            groups.append(ChangeGroup(rule, places, commands, list(evidence), _exceptions(examination, rule, changes)))
    return sorted(groups, key=_rank)


def settings_count(groups: Iterable[ChangeGroup]) -> int:
    """How many devices, mounts and nodes the changes are on, each counted for each change."""
    return sum(len(place.hosts) * max(1, len(place.subjects)) for group in groups for place in group.places)


def hosts_text(hosts: Sequence[str], number: int) -> str:
    """Hosts as one word, with how many of all they are."""
    return folded(hosts) if len(hosts) == 1 or number == 1 else f"{folded(hosts)} ({len(hosts)} of {number})"


def all_at_once(groups: Sequence[ChangeGroup]) -> list[Command]:
    """One command for all that can be set on each set of hosts that need the same; none where one change is all."""
    of_host: dict[str, dict[Assignment, None]] = {}
    for group in groups:
        for command in group.commands:
            for host in command.hosts if command.assignments else ():
                of_host.setdefault(host, {}).update(dict.fromkeys(command.assignments))
    alike: dict[tuple[Assignment, ...], list[str]] = {}
    for host, assignments in of_host.items():
        if len(assignments) > 1:
            alike.setdefault(tuple(assignments), []).append(host)
    return [Command(tuple(hosts), (), apply_text(every), every) for every, hosts in alike.items()]


def apply_text(assignments: Iterable[Assignment]) -> str:
    """The command that sets them, devices that get the same value in the braces of a shell."""
    import shlex  # noqa: PLC0415

    together: dict[tuple[str, str, str], list[str]] = {}
    for assignment in dict.fromkeys(assignments):
        match = re.fullmatch(r"block:([A-Za-z0-9_-]+)/([a-z0-9_/]+)", assignment.name)
        key = ("block", match[2], assignment.value) if match is not None else ("", assignment.name, assignment.value)
        together.setdefault(key, []).append(match[1] if match is not None else "")
    words = []
    for (kind, name, value), devices in together.items():
        if not kind:
            words.append(shlex.quote(f"{name}={value}"))
        elif len(devices) == 1:
            words.append(shlex.quote(f"block:{devices[0]}/{name}={value}"))
        else:
            words.append(f"block:{{{','.join(devices)}}}/{name}={shlex.quote(value)}")
    return f"ioassay tune apply {' '.join(words)}"


def _rank(group: ChangeGroup) -> tuple[bool, bool, int]:
    return not group.is_harmful, not group.evidence, _WEIGHTS.index(group.rule.weight)


def _subject(host: str, change: Change) -> str:
    """The subject of a change, without the host that every node would name otherwise: `sda`, `tcp_rmem`, empty."""
    return "" if change.subject == host else change.subject.removesuffix(f" of {host}")


def _places(changes: Sequence[tuple[str, Change]]) -> list[Place]:
    """Equal changes of a host together, then hosts with equal ones."""
    of_host: dict[tuple[str, str, str, str, bool], dict[str, None]] = {}
    for host, change in changes:
        key = (host, change.value, change.wanted, change.because.replace(host, "the node"), change.is_harmful)
        of_host.setdefault(key, {})[_subject(host, change)] = None
    alike: dict[tuple[tuple[str, ...], str, str, str, bool], list[str]] = {}
    for (host, value, wanted, because, is_harmful), subjects in of_host.items():
        alike.setdefault((tuple(filter(None, subjects)), value, wanted, because, is_harmful), []).append(host)
    return _values_together([Place(tuple(hosts), *key) for key, hosts in alike.items()])


def _values_together(places: list[Place]) -> list[Place]:
    """Places that differ in the value of today alone as one, where there are too many to list."""
    together: dict[object, list[Place]] = {}
    for place in places:
        together.setdefault((place.subjects, place.wanted, place.is_harmful), []).append(place)
    merged = []
    for same in together.values():
        values = list(dict.fromkeys(place.value for place in same))
        if len(values) <= _MOST_VALUES or len({host for place in same for host in place.hosts}) <= _MOST_VALUES:
            merged += same
            continue
        reasons = {place.because for place in same}
        merged.append(
            Place(
                tuple(dict.fromkeys(host for place in same for host in place.hosts)),
                same[0].subjects,
                f"{', '.join(values[:_MOST_VALUES])}, … ({len(values)} values)",
                same[0].wanted,
                reasons.pop() if len(reasons) == 1 else "",
                same[0].is_harmful,
            )
        )
    return merged


def _commands(rule: Rule, changes: Sequence[tuple[str, Change]]) -> list[Command]:
    """One command line for all that can be set on a running host, and what to type for the rest."""
    settable: dict[str, dict[Assignment, None]] = {}
    others: dict[str, list[tuple[str, str, str]]] = {}
    for host, change in changes:
        if change.assignments and not change.command:
            settable.setdefault(host, {}).update(dict.fromkeys(change.assignments))
        else:
            text = change.command or f"see the sources of the rule {rule.name}"
            others.setdefault(_NUMBER.sub("#", text), []).append((host, _subject(host, change), text))
    alike: dict[tuple[Assignment, ...], list[str]] = {}
    for host, assignments in settable.items():
        alike.setdefault(tuple(assignments), []).append(host)
    commands = [Command(tuple(hosts), (), apply_text(every), every) for every, hosts in alike.items()]
    return [*commands, *(command for where in others.values() for command in _by_hand(where))]


def _by_hand(where: Sequence[tuple[str, str, str]]) -> Iterator[Command]:
    """Commands that differ in one name alone as one, with a word for the name; others one by one."""
    texts = _distinct(text for _, _, text in where)
    names = _names(texts)
    for group in [texts] if names else [(text,) for text in texts]:
        places_of_text = [(host, subject) for host, subject, text in where if text in group]
        text = group[0] if not names else re.sub(rf"(?<![\w-]){re.escape(names[0])}(?![\w-])", PLACEHOLDER, group[0])
        yield Command(
            _distinct(host for host, _ in places_of_text),
            _distinct(subject for _, subject in places_of_text if subject),
            text,
            (),
            names,
        )


def _names(texts: Sequence[str]) -> tuple[str, ...]:
    """The words in which the texts differ, if they differ in one name throughout; nothing otherwise."""
    words = [re.findall(r"[\w-]+", text) for text in texts]
    if len(texts) < 2 or len({len(word) for word in words}) > 1:
        return ()
    columns = [column for column in zip(*words, strict=True) if len(set(column)) > 1]
    if len(set(columns)) != 1 or any(name.isdigit() for name in columns[0]):
        return ()
    return columns[0]


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _exceptions(examination: Examination, rule: Rule, changes: Sequence[tuple[str, Change]]) -> str:
    """The hosts without a change, with the value that they have or the reason."""
    hosts = [system.host for system in examination.systems]
    changed = {host for host, _ in changes}
    if len(changed) == len(hosts):
        return ""
    of_host: Mapping[str, Sequence[object]] = {
        finding.host: finding.judgements for finding in examination.findings if finding.rule is rule
    }
    reasons: dict[str, list[str]] = {}
    for host in hosts:
        if host not in changed:
            judged = of_host.get(host, ())
            if any(isinstance(judgement, Fine) for judgement in judged):
                reasons.setdefault("as recommended", []).append(host)
            elif all(isinstance(judgement, NotApplicable) for judgement in judged):
                reasons.setdefault("the rule does not apply", []).append(host)
            else:
                reasons.setdefault("not judged", []).append(host)
    left = len(hosts) - len(changed)
    reasons_text = "; ".join(f"{folded(where)} ({reason})" for reason, where in reasons.items())
    return f"{format_count(left, 'other node')} without it: {reasons_text}."

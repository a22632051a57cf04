"""Doubts in words: those that change a conclusion, short enough to stand beside the number; those that hold for the
numbers alike, as sentences.

Not: which doubts are which (`ioassay.analysis.doubts`), words of a kind alone (`ioassay.store.doubt_kinds`), what the
engine says of each (its message is in the appendix).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ioassay.analysis.doubts import DoubtGroup, Doubts, Place
from ioassay.reports.document import Span, Text
from ioassay.store.doubt_kinds import kind_words
from ioassay.store.measurement import Measurement
from ioassay.text import format
from ioassay.text.units import format_count

_DISTURBERS: Mapping[str, str] = {
    "write-back": "earlier writes were still being written back",
    "others-read": "other processes read from the device",
    "others-wrote": "other processes wrote to the device",
    "quota": "the CPU quota was exhausted",
    "steal": "the hypervisor ran other guests",
    "processors": "other processes used the processors",
}

_Evidence = Mapping[str, Any]

_WITH_EVIDENCE: Mapping[str, Callable[[_Evidence], str]] = {
    "cache-resident": lambda e: (
        f"{format.share(e['resident_bytes'] / e['file_set_bytes'])} of it was in the page cache"
    ),
    "device-moved-less": lambda e: (
        f"partly from memory: the device moved {format.size(e['device_bytes'])} of {format.size(e['bytes'])}"
    ),
    "memory-backed": lambda e: f"the target is memory ({e['file_system']})",
    "short-phase": lambda e: f"phase of only {format.duration(e['duration_ns'])}",
    "finish-spread": lambda e: (
        f"ranks finished {format.duration(e['spread_ns'])} apart, {format.share(e['spread_ns'] / e['duration_ns'])} "
        "of the phase"
    ),
    "imbalance": lambda e: (
        f"one rank did {format.significant(e['most_operations'] / e['least_operations'])} times the work of another"
    ),
    "disturbed": lambda e: " and ".join(dict.fromkeys(_DISTURBERS[cause["what"]] for cause in e["by"])),
    "oversubscribed": lambda e: f"{e['ranks']} ranks on {format_count(e['processors'], 'processor')}",
    "shared-node": lambda e: f"{e['clients']} clients on {format_count(e['nodes'], 'node')}",
    "shared-machine": lambda e: f"{e['nodes']} nodes on {format_count(e['machines'], 'machine')}",
    "stalled": lambda e: f"the storage stalled for {format.duration(e['slowest_ns'])}",
    "suspended": lambda e: f"the run was suspended for {format.duration(e['suspended_ns'])}",
    "unwritten": lambda e: f"{format.share(e['unwritten_bytes'] / e['bytes'])} of what was read was never written",
    "payload-bound": lambda e: f"a rank spent {format.share(e['fill_ns'] / e['worked_ns'])} generating data",
    "rate-not-kept": lambda e: f"reached {format.share(e['reached_per_s'] / e['given_per_s'])} of the requested rate",
}
"""The kinds whose evidence says more in as few words."""


def words(kind: str, evidence: str | None = None) -> str:
    """A doubt in a few words, with its evidence (JSON) where that is known: `phase of only 671 ms`."""
    known = json.loads(evidence or "{}")
    if known and kind in _WITH_EVIDENCE:
        try:
            return _WITH_EVIDENCE[kind](known)
        except (KeyError, TypeError, ZeroDivisionError):
            pass  # what another tool or version stored: the words without evidence are true as well
    return kind_words(kind)


def beside_number(doubts: Doubts, places: Iterable[Measurement]) -> tuple[str, ...]:
    """The words beside a number that rests on these measurements: its decisive doubts, severest first.

    Of several measurements the first is described, with how many are concerned unless all are: `phase of only 671 ms (2
    of 3 measurements)`.
    """
    places = tuple(dict.fromkeys(places))
    return tuple(_beside(group, concerned, len(places)) for group, concerned in doubts.decisive(places))


def _beside(group: DoubtGroup, concerned: tuple[Place, ...], of: int) -> str:
    text = words(group.kind, concerned[0].evidence)
    return text if len(concerned) == of else f"{text} ({len(concerned)} of {of} measurements)"


def common(doubts: Doubts) -> tuple[tuple[str, str], ...]:
    """(what holds for the numbers alike and for how many of them, what to do about it) of each common doubt."""
    return tuple(
        (_common(group, doubts), "; ".join(filter(None, group.remedies))) for group in doubts.weighing("common")
    )


def general_remarks(doubts: Doubts) -> list[Text]:
    """Remarks on all numbers: invalid measurements, then doubts that all share, with the remedies."""
    invalid: list[Text] = [
        (
            Span(f"{format_count(len(group.place_of), 'measurement')} invalid", "failed"),
            f": {words(group.kind)}{_remedy('; '.join(filter(None, group.remedies)))}",
        )
        for group in doubts.groups
        if group.invalidates
    ]
    return [*invalid, *((Span(text, "strong"), _remedy(remedy)) for text, remedy in common(doubts))]


def letter_explanations(doubts: Doubts, letters: Collection[str]) -> list[Text]:
    """The meaning of the letters beside numbers, with affected measurements and remedies, the most severe first."""
    return [
        (Span(group.mark, "strong"), f"  {_common(group, doubts)}", _remedy("; ".join(filter(None, group.remedies))))
        for group in doubts.groups
        if group.mark in letters and not group.invalidates
    ]


def _remedy(remedy: str) -> str:
    return f" ({remedy})" if remedy else ""


def in_brackets(caveats: tuple[str, ...]) -> str:
    """After a sentence: ` (phase of only 671 ms)`; nothing without any."""
    return f" ({'; '.join(caveats)})" if caveats else ""


def _common(group: DoubtGroup, doubts: Doubts) -> str:
    concerned = len(group.place_of)
    if concerned == doubts.measurements:
        which = f"All {doubts.measurements} measurements" if concerned > 1 else "The only measurement"
    else:
        which = f"{concerned} of {format_count(doubts.measurements, 'measurement')}"
        if concerned == group.of and concerned > 1:
            which += f", every {' and '.join(group.operations)}"
    evidence = {place.evidence for place in group.places}
    return f"{which}: {words(group.kind, evidence.pop() if len(evidence) == 1 else None)}"

"""Differences between subjects besides their results: study, settings, target, versions, nodes, mount, devices.

A fact is listed where subjects differ in it, or where only some runs have it. Not: what
rates were measured with (`ioassay.analysis.compare.subject`), which stands beside the rates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ioassay.reports import nodes
from ioassay.store.document import RunDocument, StudyEntry
from ioassay.text import format

if TYPE_CHECKING:
    from ioassay.systems.model import System

AS_PUBLISHED = {
    "Processor": ("clients", "processor"),
    "Memory": ("clients", "memory"),
    "Kernel": ("clients", "kernel"),
    "Operating system": ("clients", "distribution"),
    "Mount options": ("mount", "options"),
}
"""Facts that published systems name differently from the environment of a run: the group and the name there."""

OF_RUN = "run"
"""The group of settings that are called as a run calls them, in the file about a system that was made of a run."""

_AS_OF_RUNS = {published: fact for fact, published in AS_PUBLISHED.items()}

_LISTS = ("Mount options", "Kernel settings", "Client parameters", "Queue settings")
"""Facts that are lists: a difference shows the items that not all subjects have."""

_STEP = re.compile(r"(?<=[:;]) ")
"""Separates the steps in a sentence of the method."""

_VOLATILE = "Size, free"
"""The free space of a file system, which differs in every run."""


class Difference(Struct, frozen=True):
    """A row of the table. `values` has a text for each subject, in their order; `format.ABSENT` where it is unknown.

    Of methods and lists they have only what differs.
    """

    what: str
    values: tuple[str, ...]


def run_facts(document: RunDocument) -> dict[str, str]:
    """The facts of a run."""
    imported = document.imported
    facts = {
        **study_facts(document.study, is_imported=imported is not None),
        "Method": " ".join(document.study.method),
        "Target": document.where,
        "Launcher": " ".join([document.launcher, *document.launcher_options]),
        "Nodes": str(len(document.environment)),
        "ioassay": document.ioassay_version,
        "Engine": document.engine_version or "",
        "Imported from": " ".join([imported.tool, *imported.versions]) if imported else "",
        "Lab": document.lab.yaml if document.lab else "",
    }
    of_nodes: dict[str, list[str]] = {}
    for group in nodes.alike(document.environment):
        for what, value in group.rows:
            of_nodes.setdefault(what, []).append(value)
    of_nodes.pop(_VOLATILE, None)
    facts |= {what: "; ".join(dict.fromkeys(values)) for what, values in of_nodes.items()}
    return {what: value for what, value in facts.items() if value}


def study_facts(study: StudyEntry, *, is_imported: bool = False) -> dict[str, str]:
    """The study and its settings; imported files keep their own names."""
    settings = {name if is_imported else f"Setting {name}": _text(value) for name, value in study.settings.items()}
    return {"Study": f"{study.name}, scale {study.scale}" if study.scale else study.name, **settings}


def system_facts(system: System, known: Mapping[str, System]) -> dict[str, str]:
    """The facts of a published system, completed by those of its test bed."""
    facts: dict[str, str] = {}
    bed = known[system.test_bed] if system.test_bed else None
    for source in (bed, system):
        values_by_fact: dict[str, list[str]] = {}
        for group, settings in source.settings.items() if source else ():
            # The storage of another system that was measured in the same room is none of this one.
            if source is bed and group == "storage":
                continue
            for setting in settings:
                values_by_fact.setdefault(_fact(group, setting.what), []).append(setting.value)
        facts |= {what: "; ".join(values) for what, values in values_by_fact.items()}
    return facts


def _fact(group: str, what: str) -> str:
    """The name that a run has for this fact."""
    if group == OF_RUN:
        return what
    return _AS_OF_RUNS.get((group, what), f"{group.replace('-', ' ').capitalize()}: {what}")


def differences(facts: Sequence[Mapping[str, str]], are_runs: Sequence[bool]) -> list[Difference]:
    """The facts that differ, in the order of their first report. `are_runs`: which of the subjects are runs."""
    differing = []
    for what in dict.fromkeys(what for fact in facts for what in fact):
        subject_values = [fact.get(what) for fact in facts]
        values = {value for value in subject_values if value is not None}
        of_runs = {value for value, is_run in zip(subject_values, are_runs, strict=True) if is_run}
        if len(values) > 1 or len(of_runs) > 1:
            differing.append(Difference(what, tuple(value or format.ABSENT for value in subject_values)))
    return [_shortened(difference) for difference in differing]


def _shortened(difference: Difference) -> Difference:
    """Reduce long values to what differs: the steps of a method's sentences, the items of a list."""
    if difference.what == "Method":
        every = [value.replace(". ", ".\n").split("\n") for value in difference.values]
        differing = _without_common(every)
        texts = (
            " ".join(_steps(sentence, [*differing[:index], *differing[index + 1 :]]) for sentence in sentences)
            for index, sentences in enumerate(differing)
        )
        return Difference(difference.what, tuple(text or format.ABSENT for text in texts))
    # Nodes that differ have a list each.
    if difference.what in _LISTS and not any("; " in value for value in difference.values):
        items = _without_common([value.split(", ") for value in difference.values])
        return Difference(difference.what, tuple(", ".join(item) or format.ABSENT for item in items))
    return difference


def _without_common(every: Sequence[Sequence[str]]) -> list[list[str]]:
    """For each value, the parts that not all values have."""
    common = set(every[0]).intersection(*every[1:])
    return [[part for part in parts if part not in common] for parts in every]


def _steps(sentence: str, others: Sequence[Sequence[str]]) -> str:
    """The beginning of a sentence and those of its steps that differ, where each of the others has a sentence that
    begins so: `Sequential takes these steps in each case: … read, until a stonewall at 900 ms.`
    """
    begins = sentence[: sentence.find(": ") + 1]
    alike = [
        next((candidate for candidate in other if begins and candidate.startswith(begins)), None) for other in others
    ]
    steps = _STEP.split(sentence)
    shown = {0}
    for other in alike:
        if other is None:
            return sentence
        blocks = SequenceMatcher(None, steps, _STEP.split(other), autojunk=False).get_matching_blocks()
        shown |= set(range(len(steps))).difference(*(range(block.a, block.a + block.size) for block in blocks))
    shown_steps = [step if index in shown else "…" for index, step in enumerate(steps)]
    return " ".join(step for step, _ in groupby(shown_steps))


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

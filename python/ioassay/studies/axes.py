"""Sweeps over any key: from lists below `sweep` to trees in which each of these keys has one of its values.

A workload whose `sweep` has lists is as many workloads as there are combinations of their values. Each becomes a tree
of its own, which is validated and checked like one that was written out, so every rule for a key holds for its swept
values too, and a wrong value is blamed on its place in the list.

Clients, ranks per client and groups are no keys of `sweep`: they have lists of their own, because their points decide
how sizes divide (`studies.sweep`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ioassay.store.point import MOST_CHARACTERS, PLACEMENT, AxisUnit
from ioassay.store.point_types import Axis
from ioassay.studies.files import FileSet
from ioassay.studies.model import Workload
from ioassay.studies.shorthand import STORAGE, TREE
from ioassay.studies.storage import Storage
from ioassay.studies.sweep import MOST_CASES
from ioassay.yaml_models.model import Part
from ioassay.yaml_models.source import Entries, Items, Node, Origin, Problem, SourceError, Text, locate, nearest
from ioassay.yaml_models.validate import keys, kind_of

SWEEP, STEPS = "sweep", "steps"

_NEVER = ("title", "repetitions", SWEEP)

_UNITS: Mapping[str, AxisUnit] = {"size": "bytes", "duration": "ns"}
"""By the kind of a key's value, as far as the first comma."""

Path = tuple[str, ...]
"""The keys that lead from a workload, as it is written, to a value."""


@dataclass(frozen=True)
class Swept:
    """A key that a workload sweeps: what the study calls it, where it belongs, its values."""

    axis: str
    path: Path
    values: tuple[Text, ...]


@dataclass(frozen=True)
class Choice:
    """The tree of a study in which every swept key has one value, and which of them each workload has."""

    tree: Entries
    """All workloads in the first one, in the others only those that have a further combination."""
    values: Mapping[str, tuple[tuple[Swept, Text], ...]]
    """By workload."""


def choices(tree: Entries) -> Iterator[Choice]:
    """A tree for each combination of the values of each workload's `sweep`, the first axis changing slowest.

    `tree` is that of a study whose workloads have inherited what it says for all. Raises `SourceError`.
    """
    workloads = tree.entries.get("workloads")
    if not isinstance(workloads, Entries):
        yield Choice(tree, {})
        return
    swept = {name: _swept(node) for name, node in workloads.entries.items() if isinstance(node, Entries)}
    combinations = {name: list(product(*(axis.values for axis in swept_axes))) for name, swept_axes in swept.items()}
    for index in range(max(map(len, combinations.values()), default=1)):
        chosen = {
            name: tuple(zip(swept[name], every[index], strict=True))
            for name, every in combinations.items()
            if index < len(every)
        }
        entries = {
            name: _with(node, chosen[name]) if isinstance(node, Entries) else node
            for name, node in workloads.entries.items()
            if name in chosen or index == 0
        }
        filled = Entries(entries, workloads.origins, workloads.origin)
        yield Choice(Entries(tree.entries | {"workloads": filled}, tree.origins, tree.origin), chosen)


def _swept(workload: Entries) -> list[Swept]:
    """What a workload sweeps. Raises `SourceError` with every problem of its `sweep`."""
    section = workload.entries.get(SWEEP)
    if section is None or (isinstance(section, Text) and not section.text):
        return []
    if not isinstance(section, Entries):
        problem = section.origin.problem("is not a set of keys", "write for example `sweep: {transfer: [64k, 1m]}`")
        raise SourceError([problem])
    problems = [
        problem
        for axis, node in section.entries.items()
        for problem in _problems(workload, axis, node, locate(section, (axis,)))
    ]
    axes = [
        Swept(axis, _path(axis), tuple(item for item in node.items if isinstance(item, Text)))
        for axis, node in section.entries.items()
        if isinstance(node, Items)
    ]
    if not problems and (points := math.prod(len(axis.values) for axis in axes)) > MOST_CASES:
        problems = [section.origin.problem(f"has {points} combinations", f"use at most {MOST_CASES}")]
    if problems:
        raise SourceError(problems)
    return axes


def _problems(workload: Entries, axis: str, node: Node, origin: Origin) -> Iterator[Problem]:
    first, *rest = axis.split(".")
    known = _keys()
    if axis in PLACEMENT:
        yield origin.problem(f"`{axis}` does not belong in `sweep`", f"write `{axis}: [1, 2, 4]` outside `sweep`")
    elif first in _NEVER or (not rest and first in ("files", "trees", "datasets", "checkpoints", TREE, STEPS)):
        yield origin.problem(f"`{axis}` cannot be swept", "use a key with a single value, such as `transfer`")
    elif first not in known:
        yield origin.problem(f"`{axis}` is not a key of a workload or its storage", nearest(first, known))
    elif first in keys(FileSet) and first not in keys(Workload) and "files" in workload.entries:
        yield origin.problem(f"`{axis}` is a key of a file set", f"write `files.NAME.{axis}`")
    elif first == STEPS and (len(rest) < 2 or _step(workload, rest[0]) is None):
        yield origin.problem(f"`{axis}` is not a key of a step", "write `steps.NAME.KEY`, such as `steps.write.fsync`")
    elif not isinstance(node, Items) or not node.items or not all(isinstance(item, Text) for item in node.items):
        yield origin.problem("is not a list of values", "write for example [64k, 1m]")
    elif any(not isinstance(item, Text) or len(item.text) > MOST_CHARACTERS for item in node.items):
        yield origin.problem("has a value that is too long", f"use at most {MOST_CHARACTERS} characters")


def _keys() -> list[str]:
    """What the first part of an axis can be."""
    return [
        key
        for key in (*keys(FileSet), *keys(Storage), STORAGE, TREE, *keys(Workload))
        if key not in (*PLACEMENT, *_NEVER)
    ]


def _path(axis: str) -> Path:
    path = tuple(axis.split("."))
    is_of_storage = path[0] in keys(Storage) and path[0] not in keys(FileSet) and path[0] not in keys(Workload)
    return (STORAGE, *path) if is_of_storage else path


def _with(workload: Entries, chosen: Sequence[tuple[Swept, Text]]) -> Entries:
    for swept, value in chosen:
        workload = _set(workload, swept.path, value)
    return workload


def _set(node: Entries, path: Path, value: Node) -> Entries:
    """`node` with `value` at `path`; parts of the way that are missing, or written as one word, are made."""
    key, *rest = path
    if key == STEPS:
        return _put(node, STEPS, _set_in_step(node, path, value))
    if not rest:
        return _put(node, key, value)
    inner = node.entries.get(key)
    if isinstance(inner, Text) and key == STORAGE:
        inner = Entries({"api": inner}, {"api": inner.origin}, inner.origin)
    if not isinstance(inner, Entries):
        inner = Entries({}, {}, value.origin)
    return _put(node, key, _set(inner, tuple(rest), value))


def _put(node: Entries, key: str, value: Node) -> Entries:
    return Entries({**node.entries, key: value}, node.origins, node.origin)


def _set_in_step(workload: Entries, path: Path, value: Node) -> Node:
    """The steps, one of them with `value` in it."""
    _, name, *rest = path
    steps, index = workload.entries[STEPS], _step(workload, name)
    assert isinstance(steps, Items)  # both were checked before
    assert index is not None
    step = steps.items[index]
    verb = _verb(step)
    body = step.entries[verb] if isinstance(step, Entries) else None
    if isinstance(body, Text) and verb == "mixed":
        body = Entries({"read": body}, {"read": body.origin}, body.origin)
    if not isinstance(body, Entries):
        body = Entries({}, {}, step.origin)
    origins = step.origins if isinstance(step, Entries) else {}
    done = Entries({verb: _set(body, tuple(rest), value)}, origins, step.origin)
    return Items([*steps.items[:index], done, *steps.items[index + 1 :]], steps.origin)


def _step(workload: Entries, name: str) -> int | None:
    """Which step is called so: by its `name`, or as what it does."""
    steps = workload.entries.get(STEPS)
    if not isinstance(steps, Items):
        return None
    named = (index for index, step in enumerate(steps.items) if _called(step) == name)
    return next(named, None)


def _called(step: Node) -> str:
    verb = _verb(step)
    body = step.entries[verb] if isinstance(step, Entries) and verb else None
    name = body.entries.get("name") if isinstance(body, Entries) else None
    return name.text if isinstance(name, Text) else verb


def _verb(step: Node) -> str:
    if isinstance(step, Text):
        return step.text
    return next(iter(step.entries)) if isinstance(step, Entries) and len(step.entries) == 1 else ""


def axis(swept: Swept, workloads: Sequence[Workload]) -> Axis:
    """An axis as `run.json` describes it; `workloads` has one for each value."""
    values = [_value(workload, swept.path) for workload in workloads]
    if any(isinstance(value, bool) or not isinstance(value, int) for value in values):
        return Axis(name=swept.axis, unit="word")
    return Axis(name=swept.axis, unit=_UNITS.get(_kind(workloads[0], swept.path).split(",")[0], "1"))


def value(axis: Axis, swept: Swept, workload: Workload, text: Text) -> int | str:
    """The value of a workload's key on its axis, in the axis's unit."""
    value = _value(workload, swept.path)
    return value if axis.unit != "word" and isinstance(value, int) else text.text


def _value(workload: Workload, path: Path) -> object:
    part, key = _place(workload, path)
    return part.get(key) if isinstance(part, Mapping) else getattr(part, _attribute(part, key))


def _kind(workload: Workload, path: Path) -> str:
    part, key = _place(workload, path)
    return kind_of(keys(type(part))[key]) if isinstance(part, Part) else ""


def _attribute(part: object, key: str) -> str:
    return key.replace("-", "_") if isinstance(part, Part) else key


def _place(workload: Workload, path: Path) -> tuple[object, str]:
    """What holds the value at the end of `path`, and its key there."""
    first, *rest = path
    part: object = workload
    if first == STEPS:
        part = next(step.body for step in workload.steps if rest[0] in (step.name, step.verb))
        rest = rest[1:]
    elif first == TREE:
        part = workload.trees[TREE]
    elif first not in keys(Workload):
        part, rest = next(iter(workload.files.values())), list(path)
    else:
        rest = list(path)
    *way, key = rest
    for step in way:
        part = part[step] if isinstance(part, Mapping) else getattr(part, _attribute(part, step))
    return part, key

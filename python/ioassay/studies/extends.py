"""A study that extends another: all that both say as one tree, in which every value knows its file and line.

    extends: io500
    settings: {ranks: 16}               mappings are merged, key by key
    figures: [...]                      single values and lists replace those of the base
    acceptance+: [...]                  a `+` adds to the list of the base
    steps+:
      - {after: ior-easy-write, steps: [...]}
    surveys:                            nothing, or null, takes out what the base has

Not here: what is valid (`studies.model`), settings and scales (`studies.resolve`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ioassay.studies.references import references
from ioassay.studies.shorthand import STORAGE, storage_of_word
from ioassay.yaml_models.library import Library
from ioassay.yaml_models.source import (
    Entries,
    Items,
    Node,
    Origin,
    Problem,
    Source,
    SourceError,
    Text,
    nearest,
    printable,
    quoted,
)
from ioassay.yaml_models.write import written

EXTENDS = "extends"

_ADDS = "+"
"""At the end of a key: its list is added to that of the base."""

_PLACES = ("before", "after", "instead_of")
"""Where steps are added, each with the name of a phase of the base."""

_NOTHING = ("", "null", "~")

_ABOUT_WORKLOADS = {"figures": "workloads", "summary": "workload", "surveys": "workload", "acceptance": "of"}
"""Lists of a study whose items name workloads, and the key under which they do."""


def extended(source: Source, library: Library) -> Source:
    """The study with all that it takes from the one it extends, and so on; itself where it extends none.

    Its text is that of the whole study, which needs no other file. Raises `SourceError`.
    """
    layers = list(_layers(source, library))
    if len(layers) == 1:
        return source
    merging = _Merging()
    if "name" not in source.tree.entries:
        merging.problems.append(
            Origin(source.tree.origin.place, "name").problem("is missing", "a study that extends another has its own")
        )
    *over, base = layers
    tree, file = base.tree, base.file
    for layer in reversed(over):
        entries = {name: entry for name, entry in layer.tree.entries.items() if name != EXTENDS}
        tree = _without_workloads(tree, _taken_out(entries.get("workloads")))
        tree = merging.merged(tree, Entries(entries, layer.tree.origins, layer.tree.origin), file)
        file = layer.file
    if merging.problems:
        raise SourceError(merging.problems)
    tree = _without_unused_settings(tree, source.tree)
    files = " and ".join(layer.file for layer in layers[1:])
    return Source(source.file, f"# {source.file} with all that it takes from {files}.\n\n{written(tree)}", tree)


def _layers(source: Source, library: Library) -> Iterator[Source]:
    """The study, the one that it extends, the one that this extends, and so on. Raises `SourceError`."""
    seen = [source]
    yield source
    while (typed := seen[-1].tree.entries.get(EXTENDS)) is not None:
        base = _base(seen[-1], typed, library)
        if any((base.file, base.text) == (source.file, source.text) for source in seen):
            way = " → ".join([*(source.file for source in seen), base.file])
            raise SourceError([typed.origin.problem(f"studies extend each other in a circle: {way}", "name another")])
        seen.append(base)
        yield base


def _base(source: Source, typed: Node, library: Library) -> Source:
    """The study that `source` extends. A path is relative to the file that names it."""
    if not isinstance(typed, Text) or not typed.text:
        raise SourceError([typed.origin.problem("is not a study", "write the name of a built-in study, or a path")])
    name = typed.text
    if not library.is_path(name):
        known = library.sources()
        if name not in known:
            raise SourceError(
                [typed.origin.problem(f"there is no built-in study {quoted(name)}", nearest(name, known))]
            )
        return known[name]
    path = os.path.normpath(Path(source.file).parent / name)
    try:
        return library.find(path if os.sep in path else os.path.join(os.curdir, path))
    except SourceError as error:
        # What is wrong inside of the file has a line there.
        inside = [problem for problem in error.problems if problem.origin.place != _shown(path)]
        raise SourceError(
            inside
            or [typed.origin.problem(f"{_shown(path)} {problem.wrong}", problem.meant) for problem in error.problems]
        ) from None


def _shown(path: str) -> str:
    return printable(str(Path(path)))


@dataclass
class _Merging:
    """Lays a study over another, and keeps what is wrong."""

    problems: list[Problem] = field(default_factory=list)

    def merged(self, base: Entries, over: Entries, file: str) -> Entries:
        """`base`, which `file` says, with what `over` says instead or besides."""
        entries, origins = dict(base.entries), dict(base.origins)
        for key, node in over.entries.items():
            origin = over.origins.get(key, node.origin)
            if key.endswith(_ADDS):
                name = key.removesuffix(_ADDS)
                if name in over.entries:
                    self.problems.append(origin.problem(f"stands beside `{name}`", "keep one of them"))
                elif (longer := self._longer(name, base.entries.get(name), node, origin, file)) is not None:
                    entries[name] = longer
            elif _is_nothing(node) and key in entries:
                del entries[key]
            else:
                entries[key] = self._changed(key, base.entries.get(key), node, file)
                origins[key] = origin
        return Entries(entries, origins, over.origin)

    def _changed(self, key: str, base: Node | None, over: Node, file: str) -> Node:
        if key == STORAGE and isinstance(base, Text):
            base = storage_of_word(base)
        return self.merged(base, over, file) if isinstance(base, Entries) and isinstance(over, Entries) else over

    def _longer(self, name: str, base: Node | None, more: Node, origin: Origin, file: str) -> Items | None:
        """The list of the base with more items; `None` where one of the two is no list."""
        if not isinstance(base, Items):
            wrong = f"there is no list `{name}` in {file} to add to"
            self.problems.append(origin.problem(wrong, f"write `{name}:` and the whole list"))
            return None
        if not isinstance(more, Items):
            self.problems.append(origin.problem("is not a list", "write its items in lines that begin with `- `"))
            return None
        items = list(base.items)
        for item in more.items:
            place = _place(item) if name == "steps" else None
            if place is None:
                items.append(item)
            else:
                self._place_steps(items, place, item, file)
        return Items(items, more.origin)

    def _place_steps(self, items: list[Node], place: str, item: Node, file: str) -> None:
        """Puts the steps of `item` among `items`, at a phase of these."""
        keys = item.entries if isinstance(item, Entries) else {}
        steps, phase = keys.get("steps"), keys.get(place)
        if not isinstance(steps, Items) or not isinstance(phase, Text) or len(keys) > 2:
            meant = f"write {{{place}: PHASE, steps: [...]}}"
            self.problems.append(item.origin.problem("is not a place with steps", meant))
            return
        names = [_phase(step) for step in items]
        if phase.text not in names:
            wrong = f"there is no phase {quoted(phase.text)} in the steps of {file}"
            self.problems.append(phase.origin.problem(wrong, nearest(phase.text, filter(None, names))))
            return
        index = names.index(phase.text)
        items[index + (place == "after") : index + (place != "before")] = steps.items


def _place(item: Node) -> str | None:
    """The word that says where an item's steps go; `None` for a step."""
    return next((key for key in _PLACES if isinstance(item, Entries) and key in item.entries), None)


def _phase(step: Node) -> str | None:
    """The name of a phase as `studies.steps.Step.name` has it; of other steps their word."""
    if isinstance(step, Text):
        return step.text
    if not isinstance(step, Entries) or len(step.entries) != 1:
        return None
    ((word, body),) = step.entries.items()
    name = body.entries.get("name") if isinstance(body, Entries) else None
    return name.text if isinstance(name, Text) else word


def _taken_out(over: Node | None) -> set[str]:
    """The keys that stand without a value."""
    entries = over.entries if isinstance(over, Entries) else {}
    return {key for key, node in entries.items() if _is_nothing(node)}


def _is_nothing(node: Node) -> bool:
    """True for what YAML calls null: no value, `null` or `~`."""
    return isinstance(node, Text) and node.text in _NOTHING


def _without_workloads(base: Entries, gone: set[str]) -> Entries:
    """Without the figures, rows of tables and criteria of the base that are only about workloads in `gone`."""
    entries = dict(base.entries)
    for key, naming in _ABOUT_WORKLOADS.items():
        if gone and isinstance(listed := entries.get(key), Items):
            left = [_about_others(item, naming, gone) for item in listed.items]
            entries[key] = Items([item for item in left if item is not None], listed.origin)
    return Entries(entries, base.origins, base.origin)


def _about_others(item: Node, naming: str, gone: set[str]) -> Node | None:
    """The item without the workloads in `gone`, which its key `naming` names; `None` where it names no other."""
    keys = item.entries if isinstance(item, Entries) else {}
    # A criterion may have the key of a file of criteria.
    naming = naming if naming in keys else "workload"
    named = keys.get(naming)
    if isinstance(named, Text) and named.text in gone:
        return None
    if not isinstance(item, Entries) or not isinstance(named, Items):
        return item
    left = [name for name in named.items if not (isinstance(name, Text) and name.text in gone)]
    return Entries(item.entries | {naming: Items(left, named.origin)}, item.origins, item.origin) if left else None


def _without_unused_settings(tree: Entries, over: Entries) -> Entries:
    """Without the settings of the base that nothing uses any more. An unused one of the study itself is a mistake."""
    settings = over.entries.get("settings")
    kept = {*references(tree), *(settings.entries if isinstance(settings, Entries) else ())}

    def used(node: Node) -> Node:
        if not isinstance(node, Entries):
            return node
        entries = {name: setting for name, setting in node.entries.items() if name in kept}
        return Entries(entries, node.origins, node.origin)

    entries = dict(tree.entries)
    if "settings" in entries:
        entries["settings"] = used(entries["settings"])
    if isinstance(scales := entries.get("scales"), Entries):
        by_name = {name: used(scale) for name, scale in scales.entries.items()}
        entries["scales"] = Entries(by_name, scales.origins, scales.origin)
    return Entries(entries, tree.origins, tree.origin)

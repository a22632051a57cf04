"""From a study as written to a study without questions left: settings filled in, everything checked.

A setting is a value with a name, given under `settings:` and used as `${NAME}` anywhere else. A scale replaces
some of them at once, `--set NAME=VALUE` one. A setting has no type of its own: it is read where it is used, and
because each value knows where it was written, a wrong one is blamed on its line or on `--set`.

Not here: reading YAML (`yaml_models.source`), what is valid (`studies.model`, `studies.sweep`).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ioassay.store.document import (
    CaseEntry,
    Criterion,
    FigureEntry,
    LeftOutEntry,
    RankBytes,
    RecordedClass,
    ReplaysEntry,
    StudyEntry,
    SummaryRow,
    SurveyEntry,
    TransferOrder,
    WorkloadEntry,
)
from ioassay.store.point import PLACEMENT
from ioassay.store.point_types import Axis
from ioassay.studies import axes, check_steps, defaults, plans, sweep
from ioassay.studies.axes import Choice
from ioassay.studies.files import FileSet
from ioassay.studies.method import method
from ioassay.studies.model import Study, Sweep, Workload
from ioassay.studies.references import REFERENCE, UNFILLED
from ioassay.studies.replay import RecordedTransfers, Replays
from ioassay.studies.shorthand import spread
from ioassay.studies.sweep import Locate, Point, Values
from ioassay.text.units import format_bytes
from ioassay.yaml_models.model import Part
from ioassay.yaml_models.source import (
    Entries,
    Items,
    Node,
    Origin,
    Problem,
    Source,
    SourceError,
    Text,
    locate,
    map_texts,
    nearest,
    plain,
    printable,
    texts,
)
from ioassay.yaml_models.validate import keys, validate

_TRANSFER = "{transfer}"
"""Stands in the title of a workload for the transfer size of its file set."""

_REPETITIONS = "repetitions"
"""The key that can be set in every study, also in one that has no setting of this name."""


@dataclass(frozen=True)
class Variant:
    """A workload in which every key that it sweeps has one value."""

    workload: Workload
    origin_of: Locate
    """Where the value at a path of keys of the study was written."""


@dataclass(frozen=True)
class ResolvedStudy:
    """A study without questions left: it can be expanded into cases."""

    study: Study
    """Its workloads with the first value of each key that they sweep."""
    points: Mapping[str, Sequence[Point]]
    """The points of the sweep of each workload, in the order in which they run."""
    entry: StudyEntry
    """The study as `run.json` keeps it."""
    variants: Mapping[tuple[str, Values], Variant]
    """Each workload with the values of each point of its `sweep`, by its name and these values."""

    def variant(self, case: CaseEntry) -> Variant:
        """The workload as a case has it."""
        return self.variants[case.workload, tuple(item for item in case.point.items() if item[0] not in PLACEMENT)]


def resolve(source: Source, scale: str | None, settings: Iterable[str], api: str = "posix") -> ResolvedStudy:
    """Fills in the settings: those of the study, over them those of `scale`, over them `NAME=VALUE` texts.

    `api` is the storage API of a study that names none. Raises `SourceError` with every problem found.
    """
    chosen = _Settings.of(source, scale, settings)
    inherited = _inherit(_with_api(_fill(chosen.applied_to(source.tree), chosen), api))
    written_out = [_checked(choice, is_first=index == 0) for index, choice in enumerate(axes.choices(inherited))]
    study = written_out[0].study
    swept = {name: _swept(name, written_out) for name in study.workloads}
    points = {
        name: sweep.ordered((values, variant.workload) for values, variant in swept_workload.variants.items())
        for name, swept_workload in swept.items()
    }
    if problems := [*sweep.check_points(study, points, written_out[0].origin_of)]:
        raise SourceError(problems)
    study = _titled(study, swept, written_out[0].origin_of)
    axes_of = {name: swept_workload.axes for name, swept_workload in swept.items()}
    entry = _entry(source, scale, chosen, study, swept=axes_of, points=points)
    variants = {
        (name, values): variant
        for name, swept_workload in swept.items()
        for values, variant in swept_workload.variants.items()
    }
    return ResolvedStudy(study, points, entry, variants)


@dataclass(frozen=True)
class _WrittenOut:
    """A study in which every key that is swept has one value."""

    choice: Choice
    study: Study
    origin_of: Locate


def _checked(choice: Choice, *, is_first: bool) -> _WrittenOut:
    """What is wrong with the study as a whole is reported for the first choice alone. Raises `SourceError`."""
    tree = spread(choice.tree, keys(Workload), keys(FileSet))
    study = validate(Study, tree, _advise)

    def origin_of(*path: str | int) -> Origin:
        return locate(tree, path)

    problems = sweep.check(study, origin_of) if is_first else []
    for name, workload in study.workloads.items():
        problems += [*sweep.check_workload(name, workload, origin_of), *check_steps.check(name, workload, origin_of)]
    if problems:
        raise SourceError(problems)
    return _WrittenOut(choice, study, origin_of)


@dataclass(frozen=True)
class _Swept:
    """A workload with each combination of the values that it sweeps."""

    axes: list[Axis]
    variants: dict[Values, Variant]


def _swept(name: str, written_out: Sequence[_WrittenOut]) -> _Swept:
    """Raises `SourceError` where two variants would do the same."""
    of_workload = [(variant.choice.values[name], variant) for variant in written_out if name in variant.choice.values]
    workloads = [variant.study.workloads[name] for _, variant in of_workload]
    described = [axes.axis(swept, workloads) for swept, _ in of_workload[0][0]]
    variants: dict[Values, Variant] = {}
    same: dict[str, Values] = {}
    for (chosen, variant), workload in zip(of_workload, workloads, strict=True):
        values = tuple(
            (axis.name, axes.value(axis, swept, workload, text))
            for axis, (swept, text) in zip(described, chosen, strict=True)
        )
        work = _done(workload)
        if work in same:
            *_, (swept, text) = chosen
            earlier = ", ".join(f"{axis} {value}" for axis, value in same[work])
            wrong = f"has the same effect as {earlier}: no step uses the key, or the values are equal"
            raise SourceError([text.origin.problem(wrong, f"leave it out of `{swept.axis}`")])
        same[work] = values
        variants[values] = Variant(workload, variant.origin_of)
    return _Swept(described, variants)


def _titled(study: Study, swept: Mapping[str, _Swept], origin_of: Locate) -> Study:
    """The study with what titles and labels say of transfers filled in: the range where they are swept."""

    def filled(text: str, name: str, *place: str | int) -> str:
        if _TRANSFER not in text:
            return text
        files = [[*variant.workload.files.values()] for variant in swept[name].variants.values()]
        if any(len(sets) != 1 for sets in files):
            wrong = f"has `{_TRANSFER}`, but the workload `{name}` has not one file set"
            raise SourceError([origin_of(*place).problem(wrong, "write the size")])
        sizes = sorted({sets[0].transfer for sets in files})
        return text.replace(_TRANSFER, " to ".join(dict.fromkeys(map(format_bytes, (sizes[0], sizes[-1])))))

    workloads = {
        name: workload.model_copy(update={"title": filled(workload.title, name, "workloads", name, "title")})
        for name, workload in study.workloads.items()
    }
    summary = [
        row.model_copy(
            update={
                "label": filled(row.label, row.workload, "summary", index, "label")
                if row.label
                else workloads[row.workload].title
            }
        )
        for index, row in enumerate(study.summary)
    ]
    return study.model_copy(update={"workloads": workloads, "summary": summary})


def _with_api(tree: Entries, api: str) -> Entries:
    origin = Origin("the target", "storage")
    storage = tree.entries.get("storage", Entries({}, {}, origin))
    if not isinstance(storage, Entries) or "api" in storage.entries:
        return tree
    named = Entries({"api": Text(api, origin), **storage.entries}, {"api": origin, **storage.origins}, storage.origin)
    return Entries({**tree.entries, "storage": named}, tree.origins, tree.origin)


def _advise(part: type[Part], key: str) -> str:
    if part is Workload and key in keys(FileSet):
        return "it belongs to a file set; write it below `files:` and a name"
    known = keys(part)
    is_near = difflib.get_close_matches(key, list(known), n=1)
    # A workload with a single file set has its keys, and looks like one.
    return nearest(key, keys(Workload) | known if part is FileSet and not is_near else known)


def scales(source: Source) -> list[str]:
    """Names of the study's scales, in their order."""
    overlays = source.tree.entries.get("scales")
    return list(overlays.entries) if isinstance(overlays, Entries) else []


@dataclass
class _Settings:
    """The settings with the values they have now."""

    values: dict[str, Node] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    repeats_all: bool = False
    """True if `repetitions` was typed and is no setting of the study: it holds for all workloads."""

    @classmethod
    def of(cls, source: Source, scale: str | None, typed: Iterable[str]) -> _Settings:
        """Reads the study's settings and everything that replaces them."""
        chosen = cls()
        # Unknown keys first: a misspelt `settings` would make every reference to one wrong.
        for key in source.tree.entries.keys() - keys(Study).keys():
            origin = source.tree.origins[key]
            chosen.problems.append(origin.problem("unknown key", nearest(key, keys(Study))))
        if chosen.problems:
            raise SourceError(sorted(chosen.problems, key=str))
        chosen._declare(source.tree.entries.get("settings"))
        overlays = _section(source.tree.entries.get("scales"), "scales", chosen.problems)
        for name, overlay in overlays.items():
            replaced = _section(overlay, f"scales.{name}", chosen.problems)
            for setting, value in replaced.items():
                chosen._replace(setting, value, value.origin, apply=name == scale)
        if scale is not None and scale not in overlays:
            origin = Origin(printable(f"--scale {scale}"))
            chosen.problems.append(origin.problem("the study has no such scale", nearest(scale, overlays)))
        for text in typed:
            chosen._set(text)
        if chosen.problems:
            raise SourceError(chosen.problems)
        return chosen

    def _declare(self, section: Node | None) -> None:
        for name, value in _section(section, "settings", self.problems).items():
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
                self.problems.append(
                    value.origin.problem("is not a valid name of a setting", "use letters, digits and _")
                )
            elif not _is_value(value):
                self.problems.append(value.origin.problem("is neither a value nor a list of values", "write one value"))
            elif any("${" in text.text for text in texts(value)):
                self.problems.append(value.origin.problem("refers to another setting", "write its value"))
            self.values[name] = value

    def _replace(self, name: str, value: Node, origin: Origin, *, apply: bool = True) -> None:
        """Gives a setting another value. Every scale is checked, the chosen one applied."""
        declared = self.values.get(name)
        if declared is None:
            self.problems.append(origin.problem(f"there is no setting `{printable(name)}`", nearest(name, self.values)))
        elif type(value) is not type(declared) or not _is_value(value):
            wanted = "a list, such as [1, 2, 4]" if isinstance(declared, Items) else "a single value"
            self.problems.append(origin.problem("is not of the same form as the setting", f"write {wanted}"))
        elif apply:
            self.values[name] = value

    def _set(self, text: str) -> None:
        name, equals, value = text.partition("=")
        origin = Origin(printable(f"--set {text}"))
        if not equals:
            self.problems.append(origin.problem("not NAME=VALUE", "write for example --set total=64GiB"))
        elif not value.isprintable():
            self.problems.append(origin.problem("has characters that cannot be printed", "leave them out"))
        elif isinstance(self.values.get(name), Items):
            listed = value.strip().removeprefix("[").removesuffix("]")  # as in the YAML, brackets or not
            items: list[Node] = [Text(item.strip(), origin) for item in listed.split(",")]
            self._replace(name, Items(items, origin), origin)
        elif name == _REPETITIONS and name not in self.values:
            self.values[name] = Text(value.strip(), origin)
            self.repeats_all = True
        else:
            self._replace(name, Text(value.strip(), origin), origin)

    def applied_to(self, tree: Entries) -> Entries:
        """The study with the repetitions that were typed in place of those of each workload."""
        if not self.repeats_all:
            return tree
        typed = Text(f"${{{_REPETITIONS}}}", self.values[_REPETITIONS].origin)
        entries: dict[str, Node] = {**tree.entries, _REPETITIONS: typed}
        if isinstance(workloads := tree.entries.get("workloads"), Entries):
            entries_without = {name: _without(node, _REPETITIONS) for name, node in workloads.entries.items()}
            entries["workloads"] = Entries(entries_without, workloads.origins, workloads.origin)
        return Entries(entries, {**tree.origins, _REPETITIONS: typed.origin}, tree.origin)


def _without(node: Node, key: str) -> Node:
    if not isinstance(node, Entries):
        return node
    return Entries({name: value for name, value in node.entries.items() if name != key}, node.origins, node.origin)


def _section(node: Node | None, key: str, problems: list[Problem]) -> dict[str, Node]:
    """The entries of `settings`, `scales` or a scale. An empty one has none."""
    if isinstance(node, Entries):
        return node.entries
    if node is not None and not (isinstance(node, Text) and not node.text):
        wanted = "write lines `NAME: value` below it" if key != "scales" else "write lines `NAME:` below it"
        problems.append(node.origin.problem("is not a set of keys", wanted))
    return {}


def _is_value(node: Node) -> bool:
    return isinstance(node, Text) or (isinstance(node, Items) and all(isinstance(item, Text) for item in node.items))


def _fill(tree: Entries, settings: _Settings) -> Entries:
    """The tree with every `${NAME}` replaced."""
    used: set[str] = set()
    problems: list[Problem] = []

    def value_of(name: str, origin: Origin) -> Node | None:
        used.add(name)
        value = settings.values.get(name)
        if value is None:
            problems.append(origin.problem(f"there is no setting `{name}`", nearest(name, settings.values)))
        return value

    def change(text: Text) -> Node:
        if whole := REFERENCE.fullmatch(text.text):
            return value_of(whole[1], text.origin) or text
        filled = REFERENCE.sub(lambda match: _shown(value_of(match[1], text.origin)), text.text)
        if "${" in REFERENCE.sub("", text.text):
            problems.append(text.origin.problem("`${` without a name and `}`", "write ${NAME}"))
        return Text(filled, text.origin)

    filled = {name: node if name in UNFILLED else map_texts(node, change) for name, node in tree.entries.items()}
    for name in settings.values.keys() - used:
        origin = locate(tree, ("settings", name))
        problems.append(
            origin.problem("nothing uses this setting", f"write ${{{name}}} where it belongs, or remove it")
        )
    if problems:
        raise SourceError(sorted(problems, key=str))
    return Entries(filled, tree.origins, tree.origin)


def _shown(value: Node | None) -> str:
    """A setting's value inside a text."""
    return ", ".join(text.text for text in texts(value)) if value is not None else ""


def _inherit(tree: Entries) -> Entries:
    """Gives every workload what the study says for all and the workload does not say itself."""
    workloads = tree.entries.get("workloads")
    if not isinstance(workloads, Entries):
        return tree
    common = {key: tree.entries[key] for key in keys(Sweep) if key in tree.entries}
    inherited: dict[str, Node] = {
        name: Entries(common | node.entries, node.origins, node.origin) if isinstance(node, Entries) else node
        for name, node in workloads.entries.items()
    }
    filled = Entries(inherited, workloads.origins, workloads.origin)
    return Entries(tree.entries | {"workloads": filled}, tree.origins, tree.origin)


def _done(workload: Workload) -> str:
    """What a workload does at its first point: the same text for all that do the same."""
    work = plans.work(sweep.points(workload)[0])
    jobs = [job for step in work["steps"] if step["step"] == "phase" for job in step["jobs"]]
    is_heeded = any("storage" not in job for job in jobs)
    return json.dumps({**work, "storage": work["storage"] if is_heeded else None}, sort_keys=True)


def _entry(
    source: Source,
    scale: str | None,
    settings: _Settings,
    study: Study,
    *,
    swept: Mapping[str, list[Axis]],
    points: Mapping[str, Sequence[Point]],
) -> StudyEntry:
    return StudyEntry(
        name=study.name,
        title=study.title,
        question=study.question,
        source=study.source,
        scale=scale,
        settings={name: plain(value) for name, value in settings.values.items()},
        text=source.text,
        method=method(study),
        workloads=[
            WorkloadEntry(
                name=name,
                title=workload.title,
                axes=swept[name],
                until=workload.repetitions.until,
                search=None if workload.search == "none" else workload.search,
            )
            for name, workload in study.workloads.items()
        ],
        figures=[FigureEntry(**figure.model_dump()) for figure in study.figures] or defaults.figures(study, points),
        summary=[SummaryRow(**row.model_dump()) for row in study.summary] or defaults.summary(study),
        surveys=[SurveyEntry(**survey.model_dump()) for survey in study.surveys],
        acceptance=[Criterion(**criterion.model_dump(), unit=criterion.unit) for criterion in study.acceptance],
        scores=study.scores,
        case_order=study.case_order,
        seed=study.seed,
        replays=_replays(study.replays) if study.replays else None,
    )


def _replays(replays: Replays) -> ReplaysEntry:
    def transfers(of: RecordedTransfers | None) -> RecordedClass:
        if of is None:
            return RecordedClass()
        order, ranks = of.order, of.rank_bytes
        return RecordedClass(
            operations=of.operations,
            bytes=of.bytes,
            order=TransferOrder(consecutive=order.consecutive, forward=order.forward, backward=order.backward)
            if order
            else None,
            rank_bytes=RankBytes(least=ranks.least, most=ranks.most) if ranks else None,
            sizes=sorted(of.sizes.items()),
            timeline=of.timeline,
        )

    names = replays.metadata
    return ReplaysEntry(
        source=replays.source,
        processes=replays.processes,
        duration_ns=replays.duration,
        phases=replays.phases,
        read=transfers(replays.read),
        write=transfers(replays.write),
        metadata=RecordedClass(operations=names.operations, timeline=names.timeline) if names else RecordedClass(),
        left_out=[
            LeftOutEntry(operation=left.operation, calls=left.calls, time_ns=left.time) for left in replays.left_out
        ],
    )

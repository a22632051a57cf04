"""The options of a sweep, as the same tree that its YAML becomes: one parser, one set of messages for both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ioassay.errors import UsageError
from ioassay.tuning.sweep.experiment import Experiment
from ioassay.yaml_models.source import Entries, Items, Node, Origin, Text
from ioassay.yaml_models.validate import validate

_WORD = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Options:
    """The options of the user. `None` or empty ones were not given: the file's value, or the default, stays."""

    study: str | None = None
    scale: str | None = None
    settings: Iterable[str] = ()
    """`KEY=VALUE` of the study."""
    vary: Iterable[str] = ()
    """`NAME=VALUE,VALUE,…`, NAME a setting with its kind or a setting of the study."""
    objective: str | None = None
    """`PHASE`, `PHASE:MEASURE` or `score`."""
    keep: Iterable[str] = ()
    """`PHASE=SHARE` or `PHASE:MEASURE=DURATION`."""
    budget: Mapping[str, str | None] = field(default_factory=dict)
    seed: str | None = None


def experiment(options: Options, tree: Entries | None = None) -> Experiment:
    """The request: the file's tree, where there is one, with what the options replace. Raises `SourceError`."""
    top = Origin("options")
    entries: dict[str, Node] = dict(tree.entries) if tree else {"name": Text("sweep", top)}
    origins = dict(tree.origins) if tree else {}
    for key, value in (("study", options.study), ("scale", options.scale), ("seed", options.seed)):
        if value is not None:
            entries[key] = Text(value, Origin(f"--{key} {value}"))
    settings = [_assigned("--set", setting) for setting in options.settings]
    _extend(entries, "settings", {name: Text(value, Origin(f"--set {name}={value}")) for name, value in settings})
    _extend(entries, "parameters", _parameters(options.vary))
    if options.objective is not None:
        entries["objective"] = _objective(options.objective)
    keep: list[Node] = [_constraint(text) for text in options.keep]
    if keep:
        entries["constraints"] = Items(keep, keep[0].origin)
    budget = {name: value for name, value in options.budget.items() if value is not None}
    _extend(entries, "budget", {name: Text(value, Origin(f"--{name} {value}")) for name, value in budget.items()})
    if "parameters" not in entries:
        raise UsageError(
            "There is nothing to vary.", "Add --vary, for example --vary block:sdb/nr_requests=64,128,256."
        )
    return validate(Experiment, Entries(entries, origins, tree.origin if tree else top))


def _extend(entries: dict[str, Node], key: str, more: Mapping[str, Node]) -> None:
    if not more:
        return
    known = entries.get(key)
    before = known if isinstance(known, Entries) else Entries({}, {}, next(iter(more.values())).origin)
    entries[key] = Entries({**before.entries, **more}, before.origins, before.origin)


def _assigned(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{option} {text} is not NAME=VALUE.", f"Write for example {option} transfer=1MiB.")
    return name, value


def _parameters(typed: Iterable[str]) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for text in typed:
        name, values = _assigned("--vary", text)
        origin = Origin(f"--vary {text}")
        kind = "setting" if ":" in name else "key"
        word = _short_name(name)
        word = word if word not in nodes else _WORD.sub("-", name)
        part: dict[str, Node] = {
            kind: Text(name, origin),
            "values": Items([Text(value.strip(), origin) for value in values.split(",") if value.strip()], origin),
        }
        nodes[word] = Entries(part, {}, origin)
    return nodes


def _short_name(name: str) -> str:
    """A short name for a parameter: what its setting's own name ends with."""
    return re.split(r"[/:]", name)[-1].split("*")[-1].strip(".") or "parameter"


def _measured(text: str, origin: Origin) -> dict[str, Node]:
    phase, _, measure = text.partition(":")
    nodes: dict[str, Node] = {"phase": Text(phase, origin)}
    return nodes | ({"measure": Text(measure, origin)} if measure else {})


def _objective(text: str) -> Entries:
    origin = Origin(f"--objective {text}")
    if text == "score":
        return Entries({"measure": Text(text, origin)}, {}, origin)
    return Entries(_measured(text, origin), {}, origin)


def _constraint(text: str) -> Entries:
    name, value = _assigned("--keep", text)
    origin = Origin(f"--keep {text}")
    limit = "at_most" if ":" in name and not name.endswith(":rate") else "at_least"
    return Entries(_measured(name, origin) | {limit: Text(value, origin)}, {}, origin)

"""The files of one execution of DLIO, read: summary, epochs, ranks and configuration. Not: what they mean together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ioassay.errors import UsageError
from ioassay.importers.json_text import Parsed, documents
from ioassay.importers.numbers import isoformat_ns
from ioassay.importers.source import Refused, Source
from ioassay.yaml_models.source import Entries, Text, parse_source

_EPOCH = re.compile(r"[1-9]\d{0,8}")
_STEP = re.compile(r"(block|ckpt|save_ckpt|load_ckpt)(\d{1,9})|eval")
_LONGEST_S = 10 * 366 * 86_400
_LARGEST = 1e18
_MOST = 10**12
_WHOLE = re.compile(r"\d{1,12}")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,30})?(?:[eE][+-]?\d)?")


@dataclass(frozen=True)
class Step:
    """A block of training, an evaluation or a checkpoint."""

    kind: str
    """`block`, `eval`, `ckpt`, `save_ckpt` or `load_ckpt`."""
    line: int
    started_unix_ns: int | None
    duration_s: float | None
    rate: float | None
    """Of a checkpoint, as printed: GiB/s, which DLIO calls GB/s."""


@dataclass(frozen=True)
class Epoch:
    """An epoch and what was done in it."""

    number: int
    steps: list[Step]

    def of(self, *kinds: str) -> list[Step]:
        """The steps of these kinds."""
        return [step for step in self.steps if step.kind in kinds]


@dataclass(frozen=True)
class Output:
    """What one rank says of itself."""

    host: str | None
    steps: Mapping[tuple[int, str], int]
    """By epoch and `train` or `eval`: batches that were processed."""
    first_s: Mapping[tuple[int, str], float]
    """The time of the first of them, which DLIO 2 leaves out."""
    samples_per_s: Mapping[tuple[int, str], float]


@dataclass
class Execution:
    """The files of one folder. `None`, or empty: there is no such file."""

    summary: Parsed | None = None
    summary_source: Source | None = None
    epochs: list[Epoch] = field(default_factory=list)
    epochs_source: Source | None = None
    outputs: list[Output] = field(default_factory=list)
    settings: Mapping[str, str] = field(default_factory=dict)
    """The configuration of the workload, by dotted name."""

    @property
    def metric(self) -> Parsed | None:
        """What the summary measured."""
        return self.summary.part("metric") if self.summary is not None else None

    def setting(self, *names: str) -> str:
        """The first of these settings that is there; empty: none."""
        return next((self.settings[name] for name in names if self.settings.get(name)), "")

    def whole(self, *names: str) -> int | None:
        """The same as a whole number above 0."""
        text = self.setting(*names)
        return int(text) or None if _WHOLE.fullmatch(text) else None

    def number(self, *names: str) -> float | None:
        """The same as a number above 0."""
        text = self.setting(*names)
        return float(text) or None if _NUMBER.fullmatch(text) else None

    def is_on(self, name: str) -> bool:
        """True if a switch of the configuration is on."""
        return self.settings.get(name, "").lower() == "true"


def read_summary(source: Source, execution: Execution) -> None:
    """Reads `summary.json`. Raises `Refused`."""
    told = _only(source)
    if not told.has("num_accelerators") or not isinstance(told.values.get("metric"), dict):
        raise Refused("is not a summary of DLIO: it lacks `num_accelerators` or `metric`", told.line)
    execution.summary, execution.summary_source = told, source


def read_epochs(source: Source, execution: Execution) -> None:
    """Reads `per_epoch_stats.json`. Raises `Refused`."""
    told = _only(source)
    place = _Lines(source)
    found = []
    for name, values in told.values.items():
        if not _EPOCH.fullmatch(name) or not isinstance(values, dict):
            raise Refused(f"has {name[:40]!r} where an epoch should be", told.line)
        place.go_to(name)
        epoch = Parsed(values, place.line, f"epoch {name}")
        steps = []
        for key in epoch.values:
            if match := _STEP.fullmatch(key):
                place.go_to(key)
                steps.append(_step(match[1] or "eval", Parsed(epoch.part(key).values, place.line, f"{key!r}")))
        found.append(Epoch(int(name), steps))
    execution.epochs = sorted(found, key=lambda epoch: epoch.number)
    execution.epochs_source = source


def read_output(source: Source, execution: Execution) -> None:
    """Reads `RANK_output.json`. Raises `Refused`."""
    told = _only(source)
    steps: dict[tuple[int, str], int] = {}
    first: dict[tuple[int, str], float] = {}
    rates: dict[tuple[int, str], float] = {}
    for name, values in told.values.items():
        if not _EPOCH.fullmatch(name) or not isinstance(values, dict):
            continue
        epoch = Parsed(values, told.line, f"epoch {name}")
        processed, throughput = epoch.part("proc"), epoch.part("throughput")
        for kind, keys in (("train", [key for key in processed.values if key != "eval"]), ("eval", ["eval"])):
            times = [numbers(processed, key) for key in keys if processed.has(key)]
            counts = [len(each) for each in times]
            if sum(counts) and all(throughput.has(key) for key in keys):
                at = int(name), kind
                steps[at] = sum(counts)
                first[at] = sum(each[0] for each in times if each)
                # DLIO weighs the blocks of an epoch by their steps.
                weighed = (number(throughput, key) * count for key, count in zip(keys, counts, strict=True))
                rates[at] = sum(weighed) / sum(counts)
    host = told.text("hostname") if told.has("hostname") else None
    execution.outputs.append(Output(host, steps, first, rates))


def read_configuration(source: Source, execution: Execution) -> None:
    """Reads Hydra's `config.yaml`. Raises `Refused`."""
    # Hydra ends each line. A number of which only the first digits are left would be another one.
    if not source.text.endswith("\n"):
        raise Refused("ends within a line: it was cut off")
    try:
        tree = parse_source(source.text, source.path.name, "configuration", "workload").tree
    except UsageError as error:
        raise Refused(f"cannot be read as YAML: {error.message.splitlines()[0]}") from None
    workload = tree.entries.get("workload")
    if isinstance(workload, Entries):
        execution.settings = dict(_flat(workload, ""))


def _flat(entries: Entries, before: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, node in entries.entries.items():
        if isinstance(node, Entries):
            found += _flat(node, f"{before}{name}.")
        elif isinstance(node, Text):
            found.append((f"{before}{name}", node.text))
    return found


def _only(source: Source) -> Parsed:
    found = list(documents(source))
    if len(found) != 1:
        raise Refused("is not one JSON document" if found else "has no JSON document", found[1].line if found else None)
    return found[0]


def _step(kind: str, told: Parsed) -> Step:
    return Step(
        kind=kind,
        line=told.line,
        started_unix_ns=isoformat_ns(told.text("start")) if told.has("start") else None,
        duration_s=_seconds(told) if told.has("duration") else None,
        rate=number(told, "throughput") if told.has("throughput") else None,
    )


def _seconds(told: Parsed) -> float:
    """A duration, which is text where it was rounded."""
    value = told.values["duration"]
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    found = number(Parsed({"duration": value}, told.line, told.what), "duration")
    if found > _LONGEST_S:
        raise Refused(f"has a duration of {found:g} s in {told.what}", told.line)
    return found


def number(told: Parsed, name: str) -> float:
    """A number that is not negative, nor larger than any result. Raises `Refused`."""
    value = told.values.get(name)
    if isinstance(value, (int, float)) and abs(value) > _LARGEST:
        raise Refused(f"has {name} of {str(value)[:20]} in {told.what}, more than any result", told.line)
    return told.number(name)


def count(told: Parsed, name: str) -> int | None:
    """How many there are; `None` for 0 and where it is not said. Raises `Refused`."""
    if not told.has(name):
        return None
    found = told.whole(name)
    if found > _MOST:
        raise Refused(f"has {name} of {str(found)[:20]}, more than any execution", told.line)
    return found or None


def numbers(told: Parsed, name: str) -> list[float]:
    """A list of them. Raises `Refused`."""
    values = told.values.get(name)
    if not isinstance(values, list):
        raise Refused(f"has no list {name!r} in {told.what}", told.line)
    return [number(Parsed({name: value}, told.line, told.what), name) for value in values]


class _Lines:
    """Finds the lines of keys that stand one after the other."""

    def __init__(self, source: Source) -> None:
        self._lines = source.lines
        self.line = 1

    def go_to(self, key: str) -> None:
        """The next line with this key; unchanged if there is none."""
        wanted = f'"{key}":'
        for at in range(self.line - 1, len(self._lines)):
            if wanted in self._lines[at]:
                self.line = at + 1
                return

"""The files of one execution of DLIO, read: summary, epochs, ranks and configuration. Not: what they mean together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
    """An epoch with its steps."""

    number: int
    steps: list[Step]

    def of(self, *kinds: str) -> list[Step]:
        return [step for step in self.steps if step.kind in kinds]


@dataclass(frozen=True)
class StepTimes:
    """Times of the batches of an epoch on a rank, in seconds: sums, and those of the first."""

    load_s: float
    """Waiting for batches."""
    compute_s: float
    step_s: float
    """Both, and what lies between."""
    first_load_s: float
    first_compute_s: float
    first_step_s: float


@dataclass(frozen=True)
class Output:
    """The output file of one rank."""

    host: str | None
    steps: Mapping[tuple[int, str], int]
    """Batches processed, by epoch and `train` or `eval`."""
    first_s: Mapping[tuple[int, str], float]
    """Seconds that the first batch took; DLIO 2 leaves it out."""
    samples_per_s: Mapping[tuple[int, str], float]
    times: Mapping[tuple[int, str], StepTimes]
    """DLIO 1 has none."""


@dataclass
class Execution:
    """The files of one folder; a field is `None` or empty if its file does not exist."""

    summary: Parsed | None = None
    summary_source: Source | None = None
    epochs: list[Epoch] = field(default_factory=list)
    epochs_source: Source | None = None
    outputs: list[Output] = field(default_factory=list)
    settings: Mapping[str, str] = field(default_factory=dict)
    """The configuration of the workload, by dotted name."""

    @property
    def metric(self) -> Parsed | None:
        """The metrics of the summary."""
        return self.summary.part("metric") if self.summary is not None else None

    def setting(self, *names: str) -> str:
        """The first of these settings that is set; an empty string if none is."""
        return next((self.settings[name] for name in names if self.settings.get(name)), "")

    def integer(self, *names: str) -> int | None:
        """The first of these settings as a whole number above 0."""
        text = self.setting(*names)
        return int(text) or None if _WHOLE.fullmatch(text) else None

    def number(self, *names: str) -> float | None:
        """The first of these settings as a number above 0."""
        text = self.setting(*names)
        return float(text) or None if _NUMBER.fullmatch(text) else None

    def is_on(self, name: str) -> bool:
        return self.settings.get(name, "").lower() == "true"


def read_summary(source: Source, execution: Execution) -> None:
    """Reads `summary.json`. Raises `Refused`."""
    document = _only(source)
    if not document.has("num_accelerators") or not isinstance(document.values.get("metric"), dict):
        raise Refused("is not a summary of DLIO: it lacks `num_accelerators` or `metric`", document.line)
    execution.summary, execution.summary_source = document, source


def read_epochs(source: Source, execution: Execution) -> None:
    """Reads `per_epoch_stats.json`. Raises `Refused`."""
    document = _only(source)
    key_lines = _Lines(source)
    epochs = []
    for name, values in document.values.items():
        if not _EPOCH.fullmatch(name) or not isinstance(values, dict):
            raise Refused(f"has {name[:40]!r} where an epoch should be", document.line)
        key_lines.go_to(name)
        epoch = Parsed(values, key_lines.line, f"epoch {name}")
        steps = []
        for key in epoch.values:
            if match := _STEP.fullmatch(key):
                key_lines.go_to(key)
                steps.append(_step(match[1] or "eval", Parsed(epoch.part(key).values, key_lines.line, f"{key!r}")))
        epochs.append(Epoch(int(name), steps))
    execution.epochs = sorted(epochs, key=lambda epoch: epoch.number)
    execution.epochs_source = source


def read_output(source: Source, execution: Execution) -> None:
    """Reads `RANK_output.json`. Raises `Refused`."""
    document = _only(source)
    steps: dict[tuple[int, str], int] = {}
    first_s: dict[tuple[int, str], float] = {}
    rates: dict[tuple[int, str], float] = {}
    step_times: dict[tuple[int, str], StepTimes] = {}
    for name, values in document.values.items():
        if not _EPOCH.fullmatch(name) or not isinstance(values, dict):
            continue
        epoch = Parsed(values, document.line, f"epoch {name}")
        processed, throughput = epoch.part("proc"), epoch.part("throughput")
        for kind, keys in (("train", [key for key in processed.values if key != "eval"]), ("eval", ["eval"])):
            times = [numbers(processed, key) for key in keys if processed.has(key)]
            counts = [len(seconds) for seconds in times]
            if sum(counts) and all(throughput.has(key) for key in keys):
                epoch_and_kind = int(name), kind
                steps[epoch_and_kind] = sum(counts)
                first_s[epoch_and_kind] = sum(seconds[0] for seconds in times if seconds)
                # DLIO weighs the blocks of an epoch by their steps.
                weighed = (number(throughput, key) * count for key, count in zip(keys, counts, strict=True))
                rates[epoch_and_kind] = sum(weighed) / sum(counts)
                if (of_steps := _step_times(epoch, keys)) is not None:
                    step_times[epoch_and_kind] = of_steps
    host = document.text("hostname") if document.has("hostname") else None
    execution.outputs.append(Output(host, steps, first_s, rates, step_times))


def _step_times(epoch: Parsed, keys: Sequence[str]) -> StepTimes | None:
    """`None` unless each batch has all three times."""
    parts = [epoch.part(name) for name in ("load", "compute", "proc")]
    if not all(part.has(key) for part in parts for key in keys):
        return None
    times = [[numbers(part, key) for key in keys] for part in parts]
    load, compute, step = ([seconds for of_key in of_part for seconds in of_key] for of_part in times)
    if not len(load) == len(compute) == len(step) > 0 or sum(step) > _LONGEST_S or sum(compute) > sum(step):
        return None
    return StepTimes(sum(load), sum(compute), sum(step), load[0], compute[0], step[0])


def read_configuration(source: Source, execution: Execution) -> None:
    """Reads Hydra's `config.yaml`. Raises `Refused`."""
    # Hydra ends every line with a line feed; without it, the last number may have lost digits.
    if not source.text.endswith("\n"):
        raise Refused("ends within a line: it was cut off")
    try:
        tree = parse_source(source.text, source.path.name, "configuration", "workload").tree
    except UsageError as error:
        raise Refused(f"cannot be read as YAML: {error.message.splitlines()[0]}") from None
    workload = tree.entries.get("workload")
    if isinstance(workload, Entries):
        execution.settings = dict(_flat(workload, ""))


def _flat(entries: Entries, prefix: str) -> list[tuple[str, str]]:
    settings: list[tuple[str, str]] = []
    for name, node in entries.entries.items():
        if isinstance(node, Entries):
            settings += _flat(node, f"{prefix}{name}.")
        elif isinstance(node, Text):
            settings.append((f"{prefix}{name}", node.text))
    return settings


def _only(source: Source) -> Parsed:
    objects = list(documents(source))
    if len(objects) != 1:
        raise Refused(
            "is not one JSON document" if objects else "has no JSON document", objects[1].line if objects else None
        )
    return objects[0]


def _step(kind: str, parsed: Parsed) -> Step:
    return Step(
        kind=kind,
        line=parsed.line,
        started_unix_ns=isoformat_ns(parsed.text("start")) if parsed.has("start") else None,
        duration_s=_seconds(parsed) if parsed.has("duration") else None,
        rate=number(parsed, "throughput") if parsed.has("throughput") else None,
    )


def _seconds(parsed: Parsed) -> float:
    """The duration; rounded ones are printed as text."""
    value = parsed.values["duration"]
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    seconds = number(Parsed({"duration": value}, parsed.line, parsed.what), "duration")
    if seconds > _LONGEST_S:
        raise Refused(f"has a duration of {seconds:g} s in {parsed.what}", parsed.line)
    return seconds


def number(parsed: Parsed, name: str) -> float:
    """A number between 0 and `_LARGEST`. Raises `Refused`."""
    value = parsed.values.get(name)
    if isinstance(value, (int, float)) and abs(value) > _LARGEST:
        raise Refused(f"has {name} of {str(value)[:20]} in {parsed.what}, more than any result", parsed.line)
    return parsed.number(name)


def count(parsed: Parsed, name: str) -> int | None:
    """A count; `None` for 0 and where it is missing. Raises `Refused`."""
    if not parsed.has(name):
        return None
    value = parsed.integer(name)
    if value > _MOST:
        raise Refused(f"has {name} of {str(value)[:20]}, more than any execution", parsed.line)
    return value or None


def numbers(parsed: Parsed, name: str) -> list[float]:
    """A list of numbers. Raises `Refused`."""
    values = parsed.values.get(name)
    if not isinstance(values, list):
        raise Refused(f"has no list {name!r} in {parsed.what}", parsed.line)
    return [number(Parsed({name: value}, parsed.line, parsed.what), name) for value in values]


class _Lines:
    """Finds the lines of keys, in the order of the file."""

    def __init__(self, source: Source) -> None:
        self._lines = source.lines
        self.line = 1

    def go_to(self, key: str) -> None:
        """Moves to the next line with this key; stays if there is none."""
        quoted_key = f'"{key}":'
        for index in range(self.line - 1, len(self._lines)):
            if quoted_key in self._lines[index]:
                self.line = index + 1
                return

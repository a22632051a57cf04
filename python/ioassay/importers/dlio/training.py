"""Epochs of training and evaluation: throughput in samples, and in bytes by the configured size of a sample.

DLIO counts neither bytes nor samples read: samples per second are steps over time, and its MB/s (in fact MiB/s)
are those times the configured record length. Both are compared with the configuration and with the epoch's duration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ioassay.importers import doubts, model
from ioassay.importers.dlio.execution import Epoch, Execution, count, number, numbers
from ioassay.importers.json_text import Parsed, lines_of
from ioassay.importers.model import Case, Doubt, Measurement, Rank, Setting, TrainedRank, Training
from ioassay.importers.numbers import MIB, NS_PER_S
from ioassay.importers.source import Refused
from ioassay.store.document import UtilisationDefinition
from ioassay.text.units import format_about_bytes, format_count, format_number, format_size

DEFAULT_GOAL = 0.9
"""DLIO's default goal."""

_SAME = 1e-3
"""Relative tolerance between numbers that DLIO computed from each other."""

_NEAR = 0.25
"""Relative tolerance between throughput and samples over time: clocks of ranks differ, and the first step is not
counted everywhere. In 3,300 epochs of public submissions it differed by up to 0.12."""

_MOST_BYTES = 2**62

_KINDS = {"train": "train", "eval": "evaluate"}
"""DLIO's kinds of epochs, and our phases."""


@dataclass(frozen=True)
class _Set:
    """The data set of training or of evaluation."""

    files: int | None
    samples_per_file: int | None
    record_bytes: float | None
    batch: int | None

    def bytes(self) -> int:
        """Size of the data set; 0 if unknown."""
        return self.bytes_of((self.files or 0) * (self.samples_per_file or 0)) or 0

    def bytes_of(self, samples: int | None) -> int | None:
        """Size of this many samples, `None` if unknown. Raises `Refused` if it exceeds what the tables hold."""
        if samples is None or self.record_bytes is None:
            return None
        if samples * self.record_bytes >= _MOST_BYTES:
            raise Refused(f"has {samples} samples of {self.record_bytes:g} bytes, more than any data set")
        return round(samples * self.record_bytes)


@dataclass(frozen=True)
class _Work:
    """The work of an epoch, as counted by the ranks or as configured."""

    samples: int
    steps: float
    """Steps per rank."""
    seconds: float | None
    first_s: float
    """Seconds that the first steps took on the slowest rank; 0 if unknown."""


@dataclass(frozen=True)
class _Rate:
    """The throughput of an epoch, as printed."""

    samples_per_s: float
    line: int


def cases(execution: Execution) -> Iterator[Case]:
    """A case for each epoch of training, and one for each of evaluation. Raises `Refused`."""
    metric = execution.metric
    for kind in _KINDS:
        name = f"{kind}_throughput_samples_per_second"
        if metric is not None and metric.values.get(name):
            yield from _told(execution, metric, kind, numbers(metric, name))
        elif metric is None and (rates := list(_of_ranks(execution, kind))):
            yield from _cases(execution, kind, [_Rate(rate, 1) for rate in rates])


def _of_ranks(execution: Execution, kind: str) -> Iterator[float]:
    """Throughput of all ranks together, by epoch, from their own files."""
    for epoch in execution.epochs:
        key = epoch.number, kind
        if execution.outputs and all(key in output.samples_per_s for output in execution.outputs):
            yield sum(output.samples_per_s[key] for output in execution.outputs)


def _told(execution: Execution, metric: Parsed, kind: str, rates: list[float]) -> Iterator[Case]:
    """Cases of the epochs of a summary."""
    source = execution.summary_source
    assert source is not None
    utilisation = numbers(metric, f"{kind}_au_percentage") if metric.has(f"{kind}_au_percentage") else []
    line = next(iter(lines_of(source, metric, f'"{kind}_throughput_samples_per_second"')), metric.line)
    is_list = source.lines[line - 1].rstrip().endswith("[")
    for percent in utilisation:
        if percent > 100:
            raise Refused(f"has an accelerator utilisation of {percent:g} %", line)
    if utilisation and len(utilisation) != len(rates):
        raise Refused(f"has {len(rates)} epochs of throughput and {len(utilisation)} of utilisation ({kind})", line)
    if not any(rates):
        raise Refused(f"has a throughput of 0 in every epoch ({kind}): nothing was measured", line)
    contradictions = [doubts.does_not_add_up(message) for message in _contradictions(execution, metric, kind, rates)]
    epoch_rates = [_Rate(rate, line + 1 + index if is_list else line) for index, rate in enumerate(rates)]
    yield from _cases(
        execution, kind, epoch_rates, [*contradictions, *_goal(execution, metric, kind, utilisation)], utilisation
    )


def _cases(
    execution: Execution,
    kind: str,
    rates: Sequence[_Rate],
    shared_doubts: Sequence[Doubt] = (),
    utilisation: Sequence[float] = (),
) -> Iterator[Case]:
    data = _data(execution, kind)
    ranks = _ranks(execution)
    source = execution.summary_source or execution.epochs_source
    assert source is not None
    matching = [epoch for epoch in execution.epochs if epoch.of("block" if kind == "train" else "eval")]
    epochs: list[Epoch | None] = [*matching] if len(matching) == len(rates) else [None] * len(rates)
    percents: list[float | None] = [*utilisation] or [None] * len(rates)
    for epoch_number, (rate, epoch, percent) in enumerate(zip(rates, epochs, percents, strict=True), start=1):
        steps = epoch.of("block" if kind == "train" else "eval") if epoch else []
        seconds = sum(step.duration_s for step in steps if step.duration_s) or None
        work = _work(execution, data, (epoch_number, kind), seconds)
        samples = work.samples if work else None
        yield Case(
            tool_version=None,
            settings=_settings(execution, kind, data),
            amount=format_count(data.files, "file") if data.files else "",
            clients=hosts(execution),
            ranks=ranks,
            measured=[
                Measurement(
                    file=source.path,
                    line=rate.line,
                    phase=_KINDS[kind],
                    operation="read",
                    order=_order(execution),
                    files=data.files,
                    file_set_bytes=data.bytes() or None,
                    started_unix_ns=steps[0].started_unix_ns if steps else None,
                    bytes=data.bytes_of(samples),
                    operations=samples,
                    duration_ns=round(seconds * NS_PER_S) if seconds else None,
                    rate_bytes_per_s=rate.samples_per_s * data.record_bytes if data.record_bytes else None,
                    rate_operations_per_s=rate.samples_per_s,
                    each=model.ranks(list(_each(execution, data, kind, epoch_number))),
                    training=_training(execution, data, epoch_number, percent) if kind == "train" else None,
                    doubts=[
                        *shared_doubts,
                        *_size(data),
                        *_cached(execution, kind, epoch_number),
                        *(doubts.short_phase(seconds, "train on more files, or in more steps") if seconds else ()),
                        *(_against_time(rate.samples_per_s, work) if work else ()),
                    ],
                )
            ],
            target=execution.setting("dataset.data_folder") or None,
            facts=facts(
                execution,
                {
                    "accelerator utilisation": _range(utilisation),
                    "goal": _goal_text(execution),
                    "checkpoints of unknown size": _unsized(execution),
                },
            ),
            started_unix_ns=steps[0].started_unix_ns if steps else None,
        )


def _ranks(execution: Execution) -> int | None:
    if execution.summary is not None:
        return count(execution.summary, "num_accelerators")
    return len(execution.outputs) or None


def hosts(execution: Execution) -> int | None:
    """Number of client hosts."""
    summary = execution.summary
    return count(summary, "num_hosts") if summary is not None else None


def facts(execution: Execution, more: dict[str, str]) -> list[Setting]:
    """Where it was measured; facts do not distinguish results."""
    summary = execution.summary
    return model.nonempty_settings(
        {"machine": summary.text("hostname") if summary is not None and summary.has("hostname") else None} | more
    )


def name_of_model(execution: Execution) -> str:
    """The trained model; DLIO 1 has its name in place of its description."""
    return execution.setting("model.name", "model")


def _data(execution: Execution, kind: str) -> _Set:
    summary = execution.summary
    name = f"num_files_{kind}"
    each = "num_samples_per_file"
    files, samples = (
        count(summary, key) if summary is not None and summary.has(key) else execution.integer(f"dataset.{key}")
        for key in (name, each)
    )
    record = execution.number("dataset.record_length_bytes", "dataset.record_length")
    return _Set(
        files=files,
        samples_per_file=samples,
        record_bytes=record or _printed_record(execution.metric, kind),
        batch=execution.integer("reader.batch_size" if kind == "train" else "reader.batch_size_eval"),
    )


def _printed_record(metric: Parsed | None, kind: str) -> float | None:
    """Bytes of a sample, as implied by the printed MB/s."""
    rate, moved = f"{kind}_throughput_mean_samples_per_second", f"{kind}_io_mean_MB_per_second"
    if metric is None or not metric.has(rate) or not metric.has(moved) or not (per_s := number(metric, rate)):
        return None
    return number(metric, moved) * MIB / per_s or None


def _work(execution: Execution, data: _Set, key: tuple[int, str], seconds: float | None) -> _Work | None:
    """The work of an epoch, named by number and kind; `None` if unknown."""
    ranks, outputs = _ranks(execution), execution.outputs
    if not data.batch or not ranks:
        return None
    if outputs and all(key in output.steps for output in outputs):
        batches = sum(output.steps[key] for output in outputs)
        first_s = max(output.first_s[key] for output in outputs)
        return _Work(batches * data.batch, batches / len(outputs), seconds, first_s)
    if not (data.files and data.samples_per_file):
        return None
    steps = data.files * data.samples_per_file // (data.batch * ranks)
    most_steps = execution.integer("train.total_training_steps") if key[1] == "train" else None
    steps = min(steps, most_steps) if most_steps else steps
    return _Work(steps * data.batch * ranks, steps, seconds, 0.0)


def _each(execution: Execution, data: _Set, kind: str, epoch: int) -> Iterator[Rank]:
    for rank, output in enumerate(execution.outputs):
        if data.batch and (steps := output.steps.get((epoch, kind))):
            samples = steps * data.batch
            yield Rank(rank=rank, node=output.host, operations=samples, bytes=data.bytes_of(samples))


def _training(execution: Execution, data: _Set, epoch: int, percent: float | None) -> Training:
    key = epoch, "train"
    printed = {} if percent is None else {_definition(execution): percent / 100}
    outputs = execution.outputs
    are_all = len(outputs) == _ranks(execution) and all(key in output.times for output in outputs)
    nominal_s = execution.number("train.computation_time")
    each = [
        TrainedRank(
            rank=rank,
            node=output.host,
            steps=output.steps[key],
            samples=output.steps[key] * data.batch if data.batch else None,
            asked_compute_ns=_ns(nominal_s) if nominal_s is not None else None,
            compute_ns=_ns(times.compute_s),
            wait_ns=_ns(times.load_s),
            first_batch_ns=_ns(times.first_load_s),
            first_step_ns=_ns(times.first_step_s),
            last_step_ns=_ns(times.step_s),
            first_compute_ns=_ns(times.first_compute_s),
        )
        for rank, output in enumerate(outputs if are_all else [])
        for times in [output.times[key]]
    ]
    goal = _goal_share(execution) if execution.settings else None
    return Training(goal=goal, printed=printed, each=each)


def _definition(execution: Execution) -> UtilisationDefinition:
    """Only the repository has the statistics of epochs by rank."""
    source = execution.epochs_source
    by_rank = source is not None and source.path.name[:1].isdigit()
    return "DLIO repository" if by_rank else "DLIO release"


def _ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)


def _settings(execution: Execution, kind: str, data: _Set) -> list[Setting]:
    compute = execution.setting("train.computation_time" if kind == "train" else "evaluation.eval_time")
    deviation = execution.number("dataset.record_length_bytes_stdev", "dataset.record_length_stdev")
    record = f"samples of {format_size(round(data.record_bytes))}" if data.record_bytes else ""
    threads = execution.integer("reader.read_threads")
    settings = {
        "model": name_of_model(execution),
        "work": "training" if kind == "train" else "evaluation",
        "framework": execution.setting("framework"),
        "format": execution.setting("dataset.format"),
        "record": record + (f" ± {format_size(round(deviation))}" if record and deviation else ""),
        "samples per file": f"{data.samples_per_file} a file" if (data.samples_per_file or 0) > 1 else "",
        "batch": f"batches of {data.batch}" if data.batch else "",
        "threads": format_count(threads, "loader thread") if threads else "",
        "computation": f"{compute} s of computation a step" if compute and "{" not in compute else "",
    }
    return model.nonempty_settings(settings)


def _order(execution: Execution) -> str:
    return "random" if execution.setting("reader.file_shuffle") in ("seed", "random") else ""


def _goal_share(execution: Execution) -> float:
    return execution.number("metric.au", "au") or DEFAULT_GOAL


def _goal_text(execution: Execution) -> str:
    return f"{100 * _goal_share(execution):g} % of utilisation" if execution.settings else ""


def _range(percent: Sequence[float]) -> str:
    if not percent:
        return ""
    least, most = f"{min(percent):.1f}", f"{max(percent):.1f}"
    return f"{least} %" if least == most else f"{least} to {most} %"


def _unsized(execution: Execution) -> str:
    """How long the checkpoints of DLIO 1 took, which have no size."""
    seconds = [
        step.duration_s for epoch in execution.epochs for step in epoch.of("ckpt") if step.duration_s is not None
    ]
    return f"{format_count(len(seconds), 'save')} of {min(seconds):g} to {max(seconds):g} s" if seconds else ""


def _goal(execution: Execution, metric: Parsed, kind: str, percent: Sequence[float]) -> Iterator[Doubt]:
    """Utilisation below the goal: DLIO reports it in its summary, but exits with 0."""
    expectation = metric.values.get(f"{kind}_au_meet_expectation")
    mean = fmean(percent) if percent else None
    goal = 100 * _goal_share(execution)
    if expectation == "fail" or (mean is not None and execution.settings and mean < goal):
        reached = f"was {mean:.1f} %" if mean is not None else "is not printed"
        goal_text = f", the goal is {goal:g} %" if execution.settings else ", below its goal"
        yield Doubt(
            kind="utilisation-goal-missed",
            message=f"the accelerators' utilisation {reached}{goal_text}: the benchmark counts the result as failed",
            remedy="reduce the number of accelerators until the goal is met",
            evidence={"utilisation_percent": mean, "goal_percent": goal if execution.settings else None},
        )
    if expectation == "success" and mean is not None and execution.settings and mean < goal * (1 - _SAME):
        yield doubts.does_not_add_up(
            f'the summary says "success", but the utilisation of {mean:.1f} % is below the goal of {goal:g} %'
        )


def _contradictions(execution: Execution, metric: Parsed, kind: str, rates: Sequence[float]) -> Iterator[str]:
    """Contradictions between the summary and the other files."""
    for name, values, unit in (
        (f"{kind}_throughput_mean_samples_per_second", rates, "samples/s"),
        (f"{kind}_au_mean_percentage", metric.values.get(f"{kind}_au_percentage"), "% of utilisation"),
    ):
        if values and metric.has(name) and not _agree(mean := number(metric, name), fmean(values)):
            yield f"the printed mean is {mean:g} {unit}, that of the epochs {fmean(values):g}"
    summary = execution.summary
    if kind == "train" and summary is not None and (epochs := count(summary, "epochs") or len(rates)) != len(rates):
        yield f"the summary counts {epochs} epochs and has the throughput of {len(rates)}"
    printed = _printed_record(metric, kind)
    configured = execution.number("dataset.record_length_bytes", "dataset.record_length")
    if printed and configured and not _agree(printed, configured):
        yield (
            f"the printed MB/s stand for samples of {printed:g} bytes, but the configured size is {configured:g}: "
            "the rate in bytes is that of the configured size"
        )
    ranks = list(_of_ranks(execution, kind))
    if len(execution.outputs) == _ranks(execution) and len(ranks) == len(rates):
        for epoch_number, (own_rate, rate) in enumerate(zip(ranks, rates, strict=True), start=1):
            if not _agree(own_rate, rate):
                yield (
                    f"epoch {epoch_number}: the ranks' own files add up to {own_rate:g} samples/s, the summary has "
                    f"{rate:g}"
                )


def _agree(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=_SAME, abs_tol=1e-9)


def _size(data: _Set) -> Iterator[Doubt]:
    if data.record_bytes:
        yield Doubt(
            kind="nominal-size",
            message=f"DLIO does not count bytes: the rate is samples per second times {data.record_bytes:,.0f} bytes, "
            "the configured size of a sample",
            remedy="compare samples per second, or count bytes with `ioassay record`",
            evidence={"record_bytes": data.record_bytes},
        )


def _cached(execution: Execution, kind: str, epoch: int) -> Iterator[Doubt]:
    """Doubts data that fit in a host's memory and that the host has read or written before."""
    summary = execution.summary
    caching = summary.values.get("potential_caching") if summary is not None else None
    fits = any(caching) if isinstance(caching, list) else bool(caching)
    generated = execution.is_on("workflow.generate_data")
    if summary is None or not fits or (epoch == 1 and not generated):
        return
    before = "the same execution generated the data" if epoch == 1 else f"this was epoch {epoch} on the same data"
    memory = summary.values.get("host_memory_GB")
    memory = memory[0] if isinstance(memory, list) and memory else memory
    memory_text = (
        f" ({format_about_bytes(memory * 1024**3)})" if isinstance(memory, float) and 0 < memory < _MOST_GIB else ""
    )
    yield Doubt(
        kind="may-be-cached",
        message=f"{before}, and a host's share of it fits in its memory{memory_text}: it may have come from the page "
        "cache",
        remedy="use a data set of at least five times the memory of all hosts, and clear caches before the run",
        evidence={"epoch": epoch, "kind": kind},
    )


_MOST_GIB = 1e9


def _against_time(rate: float, work: _Work) -> Iterator[Doubt]:
    """Throughput that does not follow from samples and time, whichever of its definitions the version has: DLIO 1
    divides all steps by the whole time, DLIO 2 all but two by the time without the first.
    """
    if not work.seconds or not work.steps:
        return
    least = work.samples * max(1 - 2 / work.steps, 0) / work.seconds * (1 - _NEAR)
    most = work.samples / max(work.seconds - work.first_s, work.seconds / 10) * (1 + _NEAR)
    if not least <= rate <= most:
        yield doubts.does_not_add_up(
            f"the throughput is {format_number(rate)} samples/s, but {work.samples:,} samples in {work.seconds:g} s "
            f"make {format_number(work.samples / work.seconds)}"
        )

"""Checkpoints of DLIO 2: saves and loads, each a repetition. Its GB are GiB. DLIO 1 does not print their size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from statistics import fmean

from ioassay.importers import doubts, model
from ioassay.importers.dlio.execution import Execution, Step, count, number
from ioassay.importers.dlio.training import facts, hosts, name_of_model
from ioassay.importers.json_text import Parsed, lines_of
from ioassay.importers.model import Case, Doubt, Measurement, Setting
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Refused
from ioassay.store.document import Operation
from ioassay.text.units import format_about_bytes, format_count

_GIB = 1 << 30
_PHASES: dict[str, tuple[str, Operation]] = {"save": ("save", "write"), "load": ("load", "read")}
_NEAR = 0.01
"""Relative tolerance between the size, time and rate of a checkpoint, which are computed from each other; durations
are rounded.
"""


def cases(execution: Execution) -> Iterator[Case]:
    """A case for each pair of a save and a load; one case of means if only the summary exists. Raises `Refused`."""
    size = _size(execution)
    steps = {way: [step for epoch in execution.epochs for step in epoch.of(f"{way}_ckpt")] for way in _PHASES}
    shared_doubts = {way: list(_of_all(execution, way, steps[way])) for way in _PHASES}
    if not any(steps.values()):
        means = [mean for way in _PHASES if (mean := _mean(execution, way, size))]
        if means:
            yield _case(execution, size, means, None)
        return
    for save, load in zip_longest(*steps.values()):
        measured = [
            _measured(execution, way, step, size, shared_doubts[way])
            for way, step in (("save", save), ("load", load))
            if step is not None and step.duration_s is not None
        ]
        if measured:
            yield _case(execution, size, measured, (save or load).started_unix_ns)


def _size(execution: Execution) -> int | None:
    """Bytes of one checkpoint."""
    metric = execution.metric
    if metric is None or not metric.has("checkpoint_size_GB"):
        return None
    size = number(metric, "checkpoint_size_GB") * _GIB
    if size >= 2**62:
        raise Refused(f"has a checkpoint of {size:g} bytes", metric.line)
    return round(size) or None


def _case(execution: Execution, size: int | None, measured: Sequence[Measurement], started_unix_ns: int | None) -> Case:
    summary = execution.summary
    return Case(
        tool_version=None,
        settings=_settings(execution),
        amount=f"{format_about_bytes(size)} a checkpoint" if size else "",
        clients=hosts(execution),
        ranks=count(summary, "num_accelerators") if summary is not None else None,
        measured=measured,
        target=execution.setting("checkpoint.checkpoint_folder") or None,
        facts=facts(execution, {}),
        started_unix_ns=started_unix_ns,
    )


def _settings(execution: Execution) -> list[Setting]:
    parallel = "model.parallelism"
    zero = execution.setting(f"{parallel}.zero_stage")
    tensor, pipeline = (execution.integer(f"{parallel}.{name}") or 1 for name in ("tensor", "pipeline"))
    settings = {
        "model": name_of_model(execution),
        "work": "checkpoints",
        "framework": execution.setting("framework"),
        "parallelism": f"tensor × pipeline {tensor} × {pipeline}" if tensor * pipeline > 1 else "",
        "sharding": f"ZeRO stage {zero}" if zero else "",
    }
    return model.nonempty_settings(settings)


def _measured(
    execution: Execution, way: str, step: Step, size: int | None, shared_doubts: Sequence[Doubt]
) -> Measurement:
    source = execution.epochs_source
    seconds = step.duration_s
    assert source is not None
    assert seconds is not None
    if step.rate is not None and step.rate * seconds * _GIB > 2**62:
        raise Refused(f"has a checkpoint of {step.rate:g} GB/s", step.line)
    moved = size if size is not None else round(step.rate * seconds * _GIB) if step.rate is not None else None
    found_doubts = [*doubts.short_phase(seconds, "save and load larger checkpoints")]
    if step.rate is not None and size is not None and not math.isclose(step.rate * seconds * _GIB, size, rel_tol=_NEAR):
        found_doubts.append(
            doubts.does_not_add_up(
                f"{format_about_bytes(size)} in {seconds:g} s do not make the printed {step.rate:g} GB/s (GiB/s)"
            )
        )
    phase, operation = _PHASES[way]
    return Measurement(
        file=source.path,
        line=step.line,
        phase=phase,
        operation=operation,
        file_set_bytes=moved,
        started_unix_ns=step.started_unix_ns,
        bytes=moved,
        duration_ns=round(seconds * NS_PER_S),
        rate_bytes_per_s=step.rate * _GIB if step.rate is not None else None,
        doubts=[*found_doubts, *shared_doubts],
    )


def _mean(execution: Execution, way: str, size: int | None) -> Measurement | None:
    """The mean, if the summary has nothing else."""
    metric, source = execution.metric, execution.summary_source
    name = f"{way}_checkpoint_io_mean_GB_per_second"
    if metric is None or source is None or not metric.has(name):
        return None
    if not (rate := number(metric, name)):
        raise Refused(f"has a rate of 0 ({name}): nothing was measured", metric.line)
    phase, operation = _PHASES[way]
    seconds = f"{way}_checkpoint_duration_mean_seconds"
    return Measurement(
        file=source.path,
        line=next(iter(lines_of(source, metric, f'"{name}"')), metric.line),
        phase=phase,
        operation=operation,
        file_set_bytes=size,
        bytes=size,
        duration_ns=round(number(metric, seconds) * NS_PER_S) if metric.has(seconds) else None,
        rate_bytes_per_s=rate * _GIB,
        doubts=[
            Doubt(
                kind="mean-only",
                message="the summary has only the mean of several checkpoints",
                remedy="import the folder with its per_epoch_stats.json, which has each checkpoint",
            ),
            *_of_all(execution, way, []),
        ],
    )


def _of_all(execution: Execution, way: str, steps: Sequence[Step]) -> Iterator[Doubt]:
    """Doubts that apply to every save, or to every load."""
    metric = execution.metric
    if way == "save" and not execution.is_on("checkpoint.fsync"):
        yield Doubt(
            kind="unsynced-write",
            message="DLIO was not configured to call fsync: the data may still have been in the page cache when the "
            "save ended",
            remedy="set checkpoint.fsync, and check with strace that it takes effect",
        )
    if way == "load" and any(epoch.of("save_ckpt") for epoch in execution.epochs):
        yield Doubt(
            kind="may-be-cached",
            message="the same execution saved the checkpoints: they may have come from the page cache",
            remedy="save and load in separate executions, and clear caches between them",
        )
    if metric is not None:
        yield from (doubts.does_not_add_up(message) for message in _contradictions(metric, way, steps))


def _contradictions(metric: Parsed, way: str, steps: Sequence[Step]) -> Iterator[str]:
    rates = [step.rate for step in steps if step.rate is not None]
    name = f"{way}_checkpoint_io_mean_GB_per_second"
    if rates and metric.has(name) and not math.isclose(number(metric, name), fmean(rates), rel_tol=_NEAR):
        counted = format_count(len(rates), way)
        yield f"the summary's mean of {number(metric, name):g} GB/s is not that of {counted}: {fmean(rates):g}"

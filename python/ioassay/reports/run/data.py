"""A run for other programs, as one JSON document: base units, unrounded, units in the names."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ioassay.analysis.acceptance import Verdict
from ioassay.analysis.io500 import UNITS, Score
from ioassay.analysis.kv_cache import GOAL as SERVED_GOAL
from ioassay.analysis.peak_sustained import Level, PeakSustained, Row
from ioassay.analysis.stop_rule import WidePoint
from ioassay.analysis.watch.phases import Activity
from ioassay.reports.compare.data import data as comparison_data
from ioassay.reports.run.content import Content, FindingLine
from ioassay.reports.run.surveys import Survey
from ioassay.reports.run.workloads import measurements
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.text.rate_units import RateColumn

if TYPE_CHECKING:
    from ioassay.analysis.checkpoints import Checkpointing
    from ioassay.analysis.feeding import Feeding
    from ioassay.analysis.kv_cache import Served, Serving
    from ioassay.analysis.replay.faithful import ClassFaithfulness, Faithfulness, Order
    from ioassay.analysis.training import Training

REPORT_VERSION = 3


def data(content: Content) -> dict[str, Any]:
    """`version`, `run` (run.json), every table of the report by name, `measurements`, `doubts`, and if there are any
    `watched` and `comparison`.
    """
    run = content.run
    return {
        "version": REPORT_VERSION,
        "run": run.document,
        "findings": [_finding(line) for line in content.findings],
        "peak_sustained": [_row(row) for row in content.levels],
        "surveys": [_survey(survey) for survey in content.surveys],
        "replays": [_faithfulness(faithfulness) for faithfulness in content.faithfulness],
        "training": [_training(training) for training in content.training],
        "kv_cache": [_serving(serving) for serving in content.serving],
        "users": [_served(served) for served in content.served],
        "checkpoints": [_checkpointing(phase) for phase in content.checkpoints],
        "accelerators": [_feeding(feeding) for feeding in content.feeding],
        "io500": [_score(score) for score in content.scores],
        "acceptance": _acceptance(content),
        "still_wide": [_wide(point) for point in content.wide],
        "measurements": measurements(run),
        "doubts": [row | {"evidence": json.loads(row["evidence"])} for row in run.doubts.to_dicts()],
        **({"watched": _watched(run, content.activity)} if run.watch else {}),
        **({"comparison": comparison_data(content.comparison)} if content.comparison else {}),
    }


def _watched(run: LoadedRun, activity: Activity | None) -> dict[str, Any]:
    """`watch/watch.json`, and what hosts did beside the phases."""
    assert run.watch is not None
    return run.watch.document.model_dump(mode="json") | {
        "damaged_lines": run.watch.tables.damaged_lines,
        "unknown_lines": run.watch.tables.unknown_lines,
        "phases": activity.phases if activity else [],
        "phases_of_hosts": activity.hosts if activity else [],
    }


def _wide(wide: WidePoint) -> dict[str, Any]:
    return {"workload": wide.point.workload, **dict(wide.point.values)} | {
        "until": wide.rule,
        "series": [
            width.series._asdict()
            | {
                "repetitions": width.repetitions,
                "half_width_share": width.share if math.isfinite(width.share) else None,
            }
            for width in wide.wide
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "label": row.label,
        "workload": row.workload,
        "series": [series._asdict() | (_both(both, row.unit.column) or {}) for series, both in row.series.items()],
    }


def _both(both: PeakSustained | None, column: RateColumn) -> dict[str, Any] | None:
    if both is None:
        return None
    return {"peak": _level(both.peak, column), "sustained": _level(both.sustained, column)}


def _level(level: Level, column: RateColumn) -> dict[str, Any]:
    whole: dict[str, Any] = {column: level.rate, level.axis: list(level.points)}
    if level.interval is not None:
        whole["interval"] = level.interval
    if level.alike > 1:
        whole |= {"alike": level.alike, "luck": level.luck}
    if level.stonewall is not None:
        whole[f"stonewall_{column}"] = level.stonewall
    return whole


def _finding(line: FindingLine) -> dict[str, Any]:
    finding = line.finding
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "sentence": finding.message.text,
        "remedy": finding.message.remedy,
        "evidence": finding.evidence,
        "rests_on": [reference._asdict() for reference in finding.rests_on],
    }


def _survey(survey: Survey) -> dict[str, Any]:
    """The grids with their saturation points; rates in the base unit of the column."""
    return {
        "title": survey.title,
        "column": survey.unit.column,
        "grids": [
            grid.series._asdict()
            | {
                "points": [vars(cell) for cell in grid.cells],
                "saturation": grid.saturation
                and {
                    "point": vars(grid.saturation.point),
                    "best": vars(grid.saturation.best),
                    "tolerance": grid.saturation.tolerance,
                    "possible": grid.saturation.possible and list(map(vars, grid.saturation.possible)),
                    "equal": [vars(cell) for cell in grid.saturation.equal],
                    "at_the_edge": grid.saturation.at_the_edge,
                },
            }
            for grid in survey.grids
        ],
    }


def _score(score: Score) -> dict[str, Any]:
    """Scores in GiB/s and kIOPS, as the IO500 has them."""
    return {
        "case": score.case,
        "list": score.list,
        "official": False,
        "valid": score.is_valid,
        "reasons": list(score.reasons),
        "bandwidth_gib_per_s": score.bandwidth,
        "metadata_kiops": score.metadata,
        "total": score.total,
        "printed_total": score.printed,
        "phases": [
            {
                "phase": phase.rule.phase,
                "counts": score.counts(phase),
                "score": phase.score,
                "unit": UNITS[phase.rule.group],
                "duration_ns": phase.duration_ns,
                "valid": not phase.reasons,
                "reasons": list(phase.reasons),
                "note": phase.note,
            }
            for phase in score.phases
        ],
    }


def _orders(of: ClassFaithfulness) -> tuple[tuple[str, Order | None], ...]:
    return ("recorded_order", of.recorded_order), ("order", of.order)


def _faithfulness(faithfulness: Faithfulness) -> dict[str, Any]:
    return {
        "case": faithfulness.case,
        "complete": faithfulness.is_complete,
        "recorded_ns": faithfulness.recorded_ns,
        "duration_ns": faithfulness.duration_ns,
        "duration_ratio": faithfulness.duration_ratio,
        "classes": [
            asdict(of)
            | {name: order._asdict() if order else None for name, order in _orders(of)}
            | {
                "operations_ratio": of.operations_ratio,
                "bytes_ratio": of.bytes_ratio,
                "order_distance": of.order_distance,
            }
            for of in faithfulness.classes
        ],
    }


def _training(training: Training) -> dict[str, Any]:
    """Shares from 0 to 1, times in nanoseconds; `ioassay.analysis.training` defines the utilisations."""
    return {
        "case": training.case,
        "accelerators": training.accelerators,
        "epochs": [
            asdict(epoch)
            | {
                "samples_per_s": epoch.samples_per_s,
                "read_bytes_per_s": epoch.read_bytes_per_s,
                "cached_share": epoch.cached_share,
                "loader_busy_share": epoch.loader_busy_share,
                "loader_processor_share": epoch.loader_processor_share,
            }
            for epoch in training.epochs
        ],
    }


def _serving(serving: Serving) -> dict[str, Any]:
    """Shares from 0 to 1, times in nanoseconds; `ioassay.analysis.kv_cache` defines them."""
    return asdict(serving) | {
        "hit_share": serving.hit_share,
        "storage_share": serving.storage_share,
        "mean_first_token_ns": serving.mean_first_token_ns,
        "read_time_share": serving.read_time_share,
        "queue_time_share": serving.queue_time_share,
        "read_tokens_per_s": serving.read_tokens_per_s,
        "prefill_tokens_per_s": serving.prefill_tokens_per_s,
        "speed_up": serving.speed_up,
        "first_tokens_in_time_share": serving.first_tokens_in_time_share,
        "answers_in_time_share": serving.answers_in_time_share,
    }


def _served(served: Served) -> dict[str, Any]:
    return {
        "workload": served.swept.workload,
        "point": dict(served.swept.values),
        "first_token_deadline_ns": served.deadline_ns,
        "goal": SERVED_GOAL,
        "served": served.most.users if served.most else 0,
        "counts": [asdict(count) for count in served.counts],
    }


def _feeding(feeding: Feeding) -> dict[str, Any]:
    return {
        "workload": feeding.swept.workload,
        "point": dict(feeding.swept.values),
        "goal": feeding.goal,
        "fed": feeding.fed.accelerators if feeding.fed else 0,
        "certainly_fed": feeding.certainly_fed and feeding.certainly_fed.accelerators,
        "certainly_not_fed": feeding.certainly_unfed and feeding.certainly_unfed.accelerators,
        "counts": [
            {
                "accelerators": count.accelerators,
                "utilisation": count.utilisation,
                "utilisations": [epoch.utilisation for epoch in count.epochs],
                "repetitions": count.repetitions,
                "limit": count.limit,
            }
            for count in feeding.counts
        ],
    }


def _checkpointing(phase: Checkpointing) -> dict[str, Any]:
    """Shares from 0 to 1, times in nanoseconds; `ioassay.analysis.checkpoints` defines them."""
    rank, node, times = phase.last_rank
    return {
        "case": phase.case,
        "phase": phase.phase,
        "is_save": phase.is_save,
        "valid": phase.is_valid,
        "ranks": phase.ranks,
        "bytes": phase.bytes,
        "stall_ns": phase.stall_ns,
        "bytes_per_s": phase.bytes_per_s,
        "stall_share": phase.stall_share,
        "cached_bytes": phase.cached_bytes,
        "last": {"rank": rank, "node": node, "generations": times},
        "generations": [
            asdict(generation) | {"bytes_per_s": generation.bytes_per_s, "fsync_share": generation.fsync_share}
            for generation in phase.generations
        ],
    }


def _acceptance(content: Content) -> dict[str, Any]:
    return {"judgement": content.accepted, "criteria": [_verdict(verdict) for verdict in content.judged]}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return verdict.criterion.model_dump(mode="json") | {
        "judgement": verdict.judgement,
        "value": verdict.value,
        "reason": verdict.missing,
        "rests_on": [dict(zip(KEY, place, strict=True)) for place in verdict.rests_on],
    }

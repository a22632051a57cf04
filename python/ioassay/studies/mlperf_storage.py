"""The rules of MLPerf Storage, as far as they can be checked before I/O begins: what would make a result invalid there,
or open and not closed. Here are those of training; `mlperf_checkpoints` has those of checkpoints.

A result of ioassay is none of MLPerf Storage, whatever the verdict: only mlpstorage may submit one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from ioassay.text.units import format_about_bytes, format_bytes, format_count, format_duration
from ioassay.yaml_models.model import BeforeValidator
from ioassay.yaml_models.values import text_of

if TYPE_CHECKING:
    from ioassay.protocol.plan import Dataset, Plan, TrainOperationEpoch

ModelName = Annotated[Literal["unet3d", "resnet50", "cosmoflow", "retinanet"], BeforeValidator(text_of)]
Verdict = Literal["invalid", "open", "closed"]

LEAST_STEPS = 500
"""Of each accelerator in an epoch."""

LEAST_MEMORIES = 5
"""How many times the memory of all clients a dataset must have."""


@dataclass(frozen=True)
class Model:
    """A model of MLPerf Storage."""

    version: str
    sample_bytes: int
    """The mean."""
    deviation_bytes: int
    samples_per_file: int
    container: str
    """As a dataset says it; JPEGs are `raw`, since nothing is decoded."""
    batch: int
    compute_ns: Mapping[str, int]
    """Of a batch, by accelerator."""
    epochs: int
    goal_percent: int
    """How busy accelerators must be."""
    goal_elsewhere: str = ""
    """What its documentation says of the goal, where that differs."""

    @property
    def goal(self) -> str:
        """In words: `90 %`."""
        return f"{self.goal_percent} %{self.goal_elsewhere}"


MS = 1_000_000

MODELS: Mapping[str, Model] = {
    "unet3d": Model(
        "v2.0", 146_600_628, 68_341_808, 1, "npz", 7, {"A100": 636 * MS, "H100": 323 * MS}, epochs=5, goal_percent=90
    ),
    "resnet50": Model(
        "v2.0", 114_660, 0, 1251, "tfrecord", 400, {"A100": 435 * MS, "H100": 224 * MS}, epochs=5, goal_percent=90
    ),
    "cosmoflow": Model(
        "v2.0", 2_828_486, 71_311, 1, "tfrecord", 1, {"A100": 5_510_000, "H100": 3_500_000}, epochs=5, goal_percent=70
    ),
    "retinanet": Model(
        "v3.0",
        322_957,
        0,
        1,
        "raw",
        24,
        {"B200": 47_550_000},
        epochs=8,
        goal_percent=85,
        goal_elsewhere=" (90 % in its documentation)",
    ),
}
"""Read in github.com/mlcommons/storage: v2.0 at caa90c9, v3.0 at 0366ccf (`configs/dlio/workload`; the
rules in `mlpstorage/rules`). Closed results may choose files, folders, loader threads, prefetch, transfer size and
O_DIRECT (unet3d); open ones also the format and the samples of a file; everything else is as in the model.
"""


@dataclass(frozen=True)
class Issue:
    """What a rule is not met by."""

    verdict: Verdict
    reason: str


_ASCENDING: tuple[Verdict, ...] = ("closed", "open", "invalid")


@dataclass(frozen=True)
class Judgement:
    """What a result of a plan would be by the rules, and why."""

    model: str
    version: str
    subject: str
    """The model, with what the rules depend on: `unet3d with 2 accelerators`."""
    issues: list[Issue]
    remark: str = ""
    """What else to know: a goal, what could not be checked. Begins with a space where it is not empty."""

    @property
    def verdict(self) -> Verdict:
        """That of the worst issue."""
        return max((issue.verdict for issue in self.issues), key=_ASCENDING.index, default="closed")

    @property
    def text(self) -> str:
        """The verdict, with the reasons for it."""
        reasons = "; ".join(issue.reason for issue in self.issues if issue.verdict == self.verdict)
        judged = f"By the rules of MLPerf Storage {self.version}, {self.subject} would be {self.verdict}"
        because = f": {reasons}" if reasons else ""
        return f"{judged}{because}.{self.remark} No result of ioassay is one of MLPerf Storage."


def of_training(model_name: str, cases: Sequence[tuple[Plan, int]], memory_bytes: int | None) -> Judgement:
    """That of cases which train with one of `MODELS`: plans, each with the bytes of its dataset. `memory_bytes`: of all
    clients together, `None` if unknown. The case with the most accelerators decides, since it needs the most samples.
    """
    model = MODELS[model_name]
    plan, dataset_bytes = max(cases, key=lambda case: accelerators(case[0]))
    issues = [*_issues(model, plan)]
    if memory_bytes and dataset_bytes < (least := LEAST_MEMORIES * memory_bytes):
        size, memories = format_about_bytes(dataset_bytes), format_about_bytes(least)
        issues.append(Issue("invalid", f"a dataset of {size}, where {LEAST_MEMORIES} times the memory is {memories}"))
    remark = "" if issues else f" Its goal: accelerators {model.goal} busy."
    if not memory_bytes:
        remark += f" Not checked: a dataset of {LEAST_MEMORIES} times the memory of all clients."
    subject = f"{model_name} with {format_count(accelerators(plan), 'accelerator')}"
    return Judgement(model_name, model.version, subject, issues, remark)


def _issues(model: Model, plan: Plan) -> Iterator[Issue]:
    trained = [(name, epoch) for name, epoch in _epochs(plan) if not epoch.get("evaluation")]
    if not trained:
        yield Issue("invalid", "nothing trains")
        return
    name, epoch = trained[0]
    dataset = plan["datasets"][name]
    yield from _of_dataset(model, dataset)
    yield from _of_epoch(model, epoch, len(trained))
    needed = LEAST_STEPS * accelerators(plan) * model.batch
    if dataset["samples"] < needed:
        yield Issue("invalid", f"{dataset['samples']:,} samples, where {LEAST_STEPS} steps need {needed:,}")


def _epochs(plan: Plan) -> Iterator[tuple[str, TrainOperationEpoch]]:
    for step in plan["steps"]:
        if step["step"] == "phase":
            for job in step["jobs"]:
                if job["work"]["kind"] == "train" and job["work"]["operation"]["kind"] == "epoch":
                    yield job["work"]["dataset"], job["work"]["operation"]


def _of_dataset(model: Model, dataset: Dataset) -> Iterator[Issue]:
    sizes = dataset["sizes"]
    normal = sizes.get("normal")
    described = (normal["mean_bytes"], normal["standard_deviation_bytes"]) if normal else (sizes.get("fixed"), 0)
    if described != (model.sample_bytes, model.deviation_bytes):
        deviation = f" (standard deviation {model.deviation_bytes:,})" if model.deviation_bytes else ""
        yield Issue("invalid", f"other samples than of {model.sample_bytes:,} bytes{deviation}")
    if (container := dataset.get("container", "raw")) != model.container:
        yield Issue("open", f"files are {container}, not {model.container}")
    if dataset["samples_per_file"] != model.samples_per_file:
        samples = format_count(dataset["samples_per_file"], "sample")
        yield Issue("open", f"{samples} in a file, not {model.samples_per_file:,}")


def _of_epoch(model: Model, epoch: TrainOperationEpoch, epochs: int) -> Iterator[Issue]:
    if epoch["batch"] != model.batch:
        yield Issue("invalid", f"batches of {epoch['batch']}, not {model.batch}")
    if epoch["compute_ns"] not in model.compute_ns.values() or epoch.get("compute_times"):
        times = " or ".join(f"{format_duration(ns)} ({name})" for name, ns in model.compute_ns.items())
        yield Issue("invalid", f"{format_duration(epoch['compute_ns'])} of computation for a batch, not {times}")
    if epochs != model.epochs:
        yield Issue("invalid", f"{format_count(epochs, 'epoch')}, not {model.epochs}")
    if (part := epoch.get("read_bytes")) is not None:
        yield Issue("invalid", f"only {format_bytes(part)} of each sample are read")
    if epoch.get("samples") is not None:
        yield Issue("invalid", "only some of the samples are read")


def accelerators(plan: Plan) -> int:
    """Ranks of a case, each of which stands for one."""
    return plan["ranks"]["clients"] * plan["ranks"]["per_client"]

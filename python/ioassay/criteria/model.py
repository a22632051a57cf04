"""The model of a file of criteria: every key with its meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from ioassay.studies.model import OF_TRAINING
from ioassay.studies.values import AnyOperation, Layout, Utilisation
from ioassay.text.rate_units import RateColumn
from ioassay.text.units import parse_duration_ns, parse_operations_rate, parse_rate, parse_share
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.source import SourceError, locate, quoted, read_source
from ioassay.yaml_models.validate import validate
from ioassay.yaml_models.values import Count, Identifier, Kind, Prose, parsed, text_of


@dataclass(frozen=True)
class RateLimit:
    """The smallest rate that passes, in the unit of `column`."""

    per_s: float
    column: RateColumn


def _rate_limit(text: str) -> RateLimit:
    if text.endswith("IOPS"):
        return RateLimit(parse_operations_rate(text), "rate_operations_per_s")
    return RateLimit(parse_rate(text), "rate_bytes_per_s")


AtLeast = Annotated[RateLimit, parsed(_rate_limit), Kind("`20GB/s` or `5kIOPS`")]
AtMostShare = Annotated[float, parsed(parse_share), Kind("percentage, such as `3%`")]
AtMostSeconds = Annotated[float, parsed(lambda text: parse_duration_ns(text) / 1e9), Kind("duration, such as `50ms`")]


LIMITS = (
    "peak",
    "sustained",
    "every_point",
    "slow_samples",
    "p99_latency",
    "slowest_operation",
    "utilisation",
    "accelerators",
)
"""The keys of a criterion that limit something."""


class Criterion(Part):
    """A criterion: which series it is about, from how many clients on, and at least one limit.

    What it means where it has several limits, or means several series, is stated in `criteria.verdicts`.
    """

    name: Identifier = Field(description="Name in verdicts. Unique in the file.")
    operation: AnyOperation = Field(description="The operation of the series.")
    workload: Identifier | None = Field(default=None, description="Only series of this workload.")
    phase: Identifier | None = Field(
        default=None,
        description="Only series of the phase of this name, such as `ior-easy-read`, where several do the operation.",
    )
    layout: Layout | None = Field(default=None, description="Only series on file sets of this layout.")
    order: Prose | None = Field(
        default=None, description="Only series with transfers in this order, such as `sequential`."
    )
    from_clients: Count = Field(default=1, description="Only points of the sweep with at least this many clients.")
    peak: AtLeast | None = Field(default=None, description="The best median must be this or more.")
    sustained: AtLeast | None = Field(
        default=None,
        description="The median of all points from the first that reaches 90 % of the peak must be this or more.",
    )
    every_point: AtLeast | None = Field(default=None, description="The lowest median must be this or more.")
    slow_samples: AtMostShare | None = Field(
        default=None,
        description="At most this share of all samples, of all ranks together, may move less than half of the median "
        "sample of their phase.",
    )
    p99_latency: AtMostSeconds | None = Field(
        default=None,
        description="The 99th percentile of the latency of single operations, the largest over the points, may be "
        "this or less.",
    )
    slowest_operation: AtMostSeconds | None = Field(
        default=None, description="No single operation may take longer, also in phases that are invalid."
    )
    utilisation: Utilisation | None = Field(
        default=None,
        description="Each epoch of a step `train` (`operation: step`) must keep accelerators at least this busy: the "
        "median of the repetitions, at each point of the sweep. Some points of a search miss it: use `accelerators`.",
    )
    accelerators: Count | None = Field(
        default=None,
        description="Storage must feed this many accelerators or more in each epoch (`operation: step`), as a sweep of "
        "their number or a search found it.",
    )
    because: Prose | None = Field(default=None, description="Why a healthy system meets it.")

    @model_validator(mode="before")
    @classmethod
    def _of_a_study(cls, value: Any) -> Any:
        """Also a criterion as a study's `acceptance` has it, with `measure` and `at_least` or `at_most`."""
        if not isinstance(value, dict) or "measure" not in value:
            return value
        measure = text_of(value["measure"])
        limit = "every_point" if measure in ("rate", "operations_rate") else measure
        if limit not in LIMITS:
            raise ValueError(f"{quoted(measure)} is judged only by the `acceptance` of a study; move it there")
        side = "at_least" if limit in ("every_point", *OF_TRAINING) else "at_most"
        if side not in value:
            raise ValueError(f"`{measure}` needs `{side}`")
        others = {key: other for key, other in value.items() if key not in ("measure", "of", side)}
        workload = {"workload": value["of"]} if value.get("of", "all") != "all" else {}
        name = {"name": measure.replace("_", "-")} if "name" not in value else {}
        return {**others, **workload, **name, limit: value[side]}

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if all(getattr(self, limit) is None for limit in LIMITS):
            raise ValueError(f"has no limit; set one of {', '.join(f'`{limit}`' for limit in LIMITS)}")
        return self


class Criteria(Part):
    """A file of criteria."""

    criteria: list[Criterion] = Field(min_length=1, description="What a run must meet.")


def read(path: Path) -> Criteria:
    """The criteria in a file. Raises `SourceError` with every problem and its line."""
    source = read_source(path, "file of criteria")
    criteria = validate(Criteria, source.tree)
    problems = [
        locate(source.tree, ["criteria", index, "name"]).problem(f"{quoted(name)} is given twice", "rename one of them")
        for index, name in _repeated(criteria)
    ]
    if problems:
        raise SourceError(problems)
    return criteria


def _repeated(criteria: Criteria) -> Iterator[tuple[int, str]]:
    names = [criterion.name for criterion in criteria.criteria]
    return ((index, name) for index, name in enumerate(names) if name in names[:index])

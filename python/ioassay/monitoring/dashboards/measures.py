"""The quantities of panels: fields of the documents of a kind, summed by labels. Not: queries of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ioassay.monitoring import calls
from ioassay.protocol.watch_kinds import JOB_KINDS, NODE_KINDS, Field, Kind

KINDS: Final[Mapping[str, Kind]] = {**JOB_KINDS, **NODE_KINDS}
"""The kinds of documents, by name."""

Group = Literal["read", "write", "metadata"]

CLASS_GROUPS: Final[Mapping[Group, tuple[str, ...]]] = {
    "read": calls.GROUPS["read"],
    "write": calls.GROUPS["write"],
    "metadata": calls.GROUPS["metadata"],
}
"""Classes of calls on storage. Calls of MPI-IO are in none, because the calls that they make are counted too."""

CLASS_GROUP: Final = "class group"
"""A further label for `Measure.by`: the group of the class."""

TOP: Final = 10
"""Most values of a label in a panel: those with the highest measure."""


@dataclass(frozen=True)
class Measure:
    """A number for each second, by labels.

    Amounts are shown per second, levels and greatest values as they are. Without `field`, documents are counted.
    """

    kind: str
    field: str | None = None
    by: tuple[str, ...] = ()
    """Labels of the kind."""
    per: str | None = None
    """The divisor: another amount of the kind."""
    scale: float = 1.0
    """The factor for the panel's unit."""
    groups: tuple[Group, ...] = ()
    """Only calls of these groups."""
    where: tuple[tuple[str, str], ...] = ()
    """Only documents whose labels have these values."""
    name: str = ""
    """The name in the legend."""

    def __post_init__(self) -> None:
        for label in (*self.by, *(label for label, _ in self.where)):
            required_label = "class" if label == CLASS_GROUP else label
            assert required_label in labels(self.kind), (self.kind, label)
        for field in (self.field, self.per):
            assert field is None or field_of(self.kind, field).kind in ("amount", "greatest", "level"), (
                self.kind,
                field,
            )
        assert self.per is None or self.meaning == "amount"
        assert not self.groups or "class" in labels(self.kind)

    @property
    def meaning(self) -> Literal["amount", "greatest", "level", "count"]:
        """How values are aggregated."""
        if self.field is None:
            return "count"
        kind = field_of(self.kind, self.field).kind
        assert kind in ("amount", "greatest", "level")
        return kind

    @property
    def shown_groups(self) -> tuple[Group, ...]:
        """The groups of calls, if it is not of all calls."""
        return self.groups or ((*CLASS_GROUPS,) if CLASS_GROUP in self.by else ())


def field_of(kind: str, name: str) -> Field:
    """The field of that name."""
    return next(field for field in KINDS[kind].fields if field.name == name)


def labels(kind: str) -> tuple[str, ...]:
    return tuple(field.name for field in KINDS[kind].fields if field.kind == "label")


@dataclass(frozen=True)
class Variable:
    """A choice at the top of a dashboard: values of a label that restrict all documents with that label."""

    label: str
    kinds: tuple[str, ...]
    """Kinds of documents with the label."""
    title: str
    only_one: bool = False
    """True to choose exactly one value, otherwise several or all."""
    within: tuple[str, ...] = ()
    """Other variables of the dashboard that restrict the values."""

    def __post_init__(self) -> None:
        assert all(self.label in labels(kind) for kind in self.kinds), self.label


def restrictions(kind: str, variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """The variables that apply to documents of a kind."""
    return tuple(variable for variable in variables if variable.label in labels(kind))

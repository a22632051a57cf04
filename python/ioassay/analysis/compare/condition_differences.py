"""What two rates were not measured alike in, so that no ratio stands without it. Not: which rates are compared."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ioassay.analysis.compare.subject import Conditions

Condition = str | int | None
"""A value of a field of `Conditions`; also `True` and `False`."""


@dataclass(frozen=True)
class ConditionDifference:
    """A condition that differs: a field of `Conditions` with both values, `None` where one side does not tell it."""

    what: str
    reference: Condition
    other: Condition

    @property
    def is_told(self) -> bool:
        """True if both sides tell it, and differently."""
        return self.reference is not None and self.other is not None


def unlike(reference: Conditions, other: Conditions) -> tuple[ConditionDifference, ...]:
    """Every condition that differs, in the order of `Conditions`.

    Names of tools are compared without case. More ranks have more files of their own: that is said once, of the ranks.
    """
    found = [
        ConditionDifference(one.name, getattr(reference, one.name), getattr(other, one.name))
        for one in fields(Conditions)
    ]
    differing = [one for one in found if _plain(one.reference) != _plain(one.other)]
    more_ranks = any(one.what == "ranks" for one in differing)
    return tuple(one for one in differing if not (one.what == "files" and more_ranks))


def _plain(value: Condition) -> Condition:
    return value.casefold() if isinstance(value, str) else value

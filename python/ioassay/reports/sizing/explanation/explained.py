"""A configuration with what is reported of it. Not: computing any of it, how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.reports.document import Section
from ioassay.reports.sizing import file_system_limits, survival, times
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Size
from ioassay.sizing.packing import PackedRack, racks_of
from ioassay.sizing.reliability.failures import drive_failures
from ioassay.sizing.times import of_size


@dataclass(frozen=True)
class Explained:
    """What follows from a configuration, its racks, and what else is known of it."""

    size: Size
    racks: Sequence[PackedRack] = ()
    """Empty where they are not known: its bricks may not say how high they are."""
    sections: Sequence[Section] = ()
    """What it survives, limits of its file systems, times, and what failing drives mean."""
    times: Sequence[Value] = ()
    """The numbers of those sections."""


def explain(catalogue: Catalogue, name: str, configuration: Configuration) -> Explained:
    """All that is reported of a configuration. Raises `UsageError` for what the catalogue does not have."""
    size = evaluate(catalogue, name, configuration)
    failing = drive_failures(catalogue, size)
    return Explained(
        size,
        racks_of(catalogue, configuration),
        (
            survival.survival(catalogue, size),
            *file_system_limits.limits(catalogue, size),
            times.times(size),
            times.failures(failing),
        ),
        (*of_size(size), *failing.values),
    )

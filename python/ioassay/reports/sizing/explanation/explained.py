"""Configurations with everything that is reported of them. Not: computing any of it, how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.reports.document import Section
from ioassay.reports.sizing import file_system_limits, survival, times
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.configuration import Configuration, ConfigurationFile
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Size
from ioassay.sizing.packing import PackedRack, racks_of
from ioassay.sizing.published.model import Published
from ioassay.sizing.reliability.failures import drive_failures
from ioassay.sizing.times import of_size


@dataclass(frozen=True)
class Explained:
    """The results of a configuration, its racks, and sections about it."""

    size: Size
    racks: Sequence[PackedRack] = ()
    """Empty where they are not known: its bricks may not say how high they are."""
    sections: Sequence[Section] = ()
    """Failure domains, limits of its file systems, times, and drive failures."""
    times: Sequence[Value] = ()
    """The numbers of those sections."""


@dataclass(frozen=True)
class Content:
    """The configurations of a file, explained."""

    file: ConfigurationFile
    catalogue: Catalogue
    explained: Sequence[Explained]
    """All configurations in the order of the file, or one of them."""
    published: Published
    """The published figures of the file beside the arithmetic; none where only one configuration is explained."""


def explain(catalogue: Catalogue, name: str, configuration: Configuration) -> Explained:
    """Explains a configuration. Raises `UsageError` for components that the catalogue lacks."""
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

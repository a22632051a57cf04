"""Every number that is published of configurations, held against the arithmetic, alone and together.

Not: how one number can be meant (`readings`), what several say together (`joint`), prices (`prices`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.errors import UsageError
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.sizing.model import Size
from ioassay.sizing.published.joint import rates_of_one_brick, repetitions, shared_units
from ioassay.sizing.published.model import Figure, Published
from ioassay.sizing.published.prices import relative_prices
from ioassay.sizing.published.readings import examine


def check(catalogue: Catalogue, file: ConfigurationFile, sizes: Mapping[str, Size]) -> Published:
    """The comparison, with what agrees and what does not; `sizes` has the evaluation of each configuration, by name.

    Raises `UsageError` for a price relative to a configuration that the file does not have.
    """
    figures: list[Figure] = []
    for name, configuration in file.configurations.items():
        earlier = [(figure, sizes[figure.configuration]) for figure in figures]
        for stated in configuration.stated:
            if stated.relative_to is not None and stated.relative_to not in file.configurations:
                raise UsageError(
                    f"The price of {name} at {stated.at} is relative to {stated.relative_to}, which is missing.",
                    f"Write one of {', '.join(file.configurations)}.",
                )
            figures.append(examine(catalogue, name, sizes[name], stated, earlier))
    units = shared_units(figures)
    return Published(
        figures=tuple(figures),
        units=units,
        rates=rates_of_one_brick(figures, sizes, units),
        repeated=repetitions(figures, units),
        prices=relative_prices(catalogue, figures, sizes),
    )

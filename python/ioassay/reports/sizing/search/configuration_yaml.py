"""A configuration that a search found, as a file that `ioassay size explain` takes. Not: what may stand in one."""

from __future__ import annotations

import os
from typing import Any

import yaml

from ioassay.sizing.components import Scaling
from ioassay.sizing.configuration import Clients, Configuration
from ioassay.sizing.quantities import Quantity
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.model import Answer
from ioassay.text.prose import listed
from ioassay.text.units import format_exact_bytes

_HEADING = "# Found by `ioassay size`. Every step of its arithmetic: ioassay size explain FILE\n"


def configuration_yaml(answer: Answer, requirements: Requirements, folder: str = "") -> str:
    """The file. `way` leads from its folder to that of the requirements, whose catalogues it names."""
    role = answer.role.replace(" ", "-")  # `cheapest and fastest`
    name = f"{requirements.name}-{role}"[:64]
    file: dict[str, Any] = {
        "name": name,
        "title": f"{answer.role.capitalize()} configuration for {_title(requirements)}",
    }
    if requirements.catalogues:
        file["catalogues"] = [os.path.join(folder, path) for path in requirements.catalogues]
    if requirements.sources:
        file["sources"] = {name: source.model_dump(exclude_none=True) for name, source in requirements.sources.items()}
    file["configurations"] = {
        tier or role: _configuration(size.configuration if tier else answer.configuration)
        for tier, size in answer.parts.items()
    }
    switches = [f"{count} × {name}" for name, count in answer.configuration.switches.items()] if answer.tiers else []
    shared = f"# All of them share {listed(switches)}, of which no configuration has its part.\n" if switches else ""
    return _HEADING + shared + yaml.safe_dump(file, sort_keys=False, allow_unicode=True, width=110)


def _title(requirements: Requirements) -> str:
    return requirements.title or requirements.name


def _configuration(configuration: Configuration) -> dict[str, Any]:
    written: dict[str, Any] = {"bricks": [brick.model_dump(exclude_none=True) for brick in configuration.bricks]}
    for key in ("metadata", "switches"):
        if counts := getattr(configuration, key):
            written[key] = dict(counts)
    if configuration.rack is not None:
        written["rack"] = configuration.rack
    if configuration.clients is not None:
        written["clients"] = _clients(configuration.clients)
    if configuration.scaling is not None:
        written["scaling"] = _scaling(configuration.scaling)
    if configuration.request is not None:
        written["request"] = format_exact_bytes(configuration.request)
    return written


def _clients(clients: Clients) -> dict[str, Any]:
    return {"count": clients.count, "link": _quantity(clients.link)}


def _scaling(scaling: Scaling) -> dict[str, Any]:
    points = {
        kind: [{"count": point.count, "rate": _quantity(point.rate)} for point in several]
        for kind, several in scaling.points.items()
    }
    return {
        "by": scaling.by,
        **({"because": scaling.because} if scaling.because else {}),
        **({"points": points} if points else {}),
    }


def _quantity(quantity: Quantity) -> dict[str, Any]:
    """The quantity as written, without defaults."""
    written = quantity.model_dump(exclude_none=True, exclude_defaults=True)
    if quantity.at is not None:
        written["at"] = str(quantity.at)
    if quantity.figure is not None:
        written["figure"] = "/".join(quantity.figure)
    return written

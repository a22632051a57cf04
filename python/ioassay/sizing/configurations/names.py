"""Names in configurations and requirements that must mean something. Not: those in catalogues (`sizing.names`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ioassay.errors import UsageError
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Component, MetadataModule, Rack, Switch
from ioassay.sizing.configuration import BrickCount, Configuration, ConfigurationFile
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.names import Steps, unknown_components, unresolved_origins
from ioassay.sizing.parts import choice_of
from ioassay.sizing.requirements import Requirements
from ioassay.yaml_models.source import Problem, Source, locate, nearest, quoted


def unresolved(file: ConfigurationFile, source: Source, catalogue: Catalogue) -> Iterator[Problem]:
    """Every name in a file of configurations that means nothing."""
    yield from unresolved_origins(file, source, file.sources)
    for name, one in file.configurations.items():
        yield from _of_configuration(one, source, catalogue, ["configurations", name])
        for index, stated in enumerate(one.stated):
            if stated.relative_to is not None and stated.relative_to not in file.configurations:
                origin = locate(source.tree, ["configurations", name, "stated", index, "relative_to"])
                wrong = f"there is no configuration {quoted(stated.relative_to)} in this file"
                yield origin.problem(wrong, nearest(stated.relative_to, file.configurations))


def unresolved_in_requirements(requirements: Requirements, source: Source, catalogue: Catalogue) -> Iterator[Problem]:
    """Every name in requirements that means nothing, or that is written twice."""
    yield from unresolved_origins(requirements, source, requirements.sources)
    known = _known(catalogue)
    lists: list[tuple[Steps, list[str], type[Component]]] = [
        (["bricks"], requirements.bricks, Brick),
        (["metadata"], requirements.metadata, MetadataModule),
        (["switches"], requirements.switches, Switch),
    ]
    for tier_name, tier in requirements.tiers.items():
        lists.append((["tiers", tier_name, "bricks"], tier.bricks, Brick))
        lists.append((["tiers", tier_name, "metadata"], tier.metadata, MetadataModule))
    for path, names, kind in lists:
        yield from unknown_components(names, kind, known, source, path)
        for index, name in enumerate(names):
            if name in names[:index]:
                yield locate(source.tree, [*path, index]).problem(f"{quoted(name)} is named twice", "write it once")
    yield from unknown_components(requirements.limits.rack, Rack, known, source, ["limits", "rack"])


def _of_configuration(one: Configuration, source: Source, catalogue: Catalogue, path: Steps) -> Iterator[Problem]:
    known = _known(catalogue)
    chosen: set[BrickChoice] = set()
    for index, counted in enumerate(one.bricks):
        at: Steps = [*path, "bricks", index]
        unknown = [*unknown_components(counted.brick, Brick, known, source, [*at, "brick"])]
        yield from unknown or _of_brick(counted, source, catalogue, at, chosen)
    yield from unknown_components(one.metadata, MetadataModule, known, source, [*path, "metadata"])
    yield from unknown_components(one.switches, Switch, known, source, [*path, "switches"])
    yield from unknown_components(one.rack, Rack, known, source, [*path, "rack"])


def _of_brick(
    counted: BrickCount, source: Source, catalogue: Catalogue, path: Steps, chosen: set[BrickChoice]
) -> Iterator[Problem]:
    """A drive that its brick does not take, and a brick that is `chosen` already, to which this one is added."""
    try:
        choice = choice_of(catalogue, counted)
    except UsageError as error:
        yield locate(source.tree, [*path, "drive"]).problem(error.message.rstrip("."), error.remedy)
        return
    if choice in chosen:
        wrong = f"{choice.name} is named twice"
        yield locate(source.tree, [*path, "brick"]).problem(wrong, "write it once, with the sum of both counts")
    chosen.add(choice)


def _known(catalogue: Catalogue) -> Mapping[str, Component]:
    return {name: entry.component for name, entry in catalogue.entries.items()}

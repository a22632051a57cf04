"""Names in configurations and requirements that must mean something. Not: those in catalogues (`sizing.names`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ioassay.errors import UsageError
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Component, MetadataModule, Rack, Switch
from ioassay.sizing.configuration import BrickCount, Configuration, ConfigurationFile
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.names import Steps, matching, unknown_components, unmatched, unresolved_origins
from ioassay.sizing.parts import choice_of, media_of
from ioassay.sizing.requirements import Requirements, Tier
from ioassay.yaml_models.source import Problem, Source, SourceError, locate, nearest, quoted


def unresolved(file: ConfigurationFile, source: Source, catalogue: Catalogue) -> Iterator[Problem]:
    """Every name in a file of configurations that means nothing."""
    yield from unresolved_origins(file, source, file.sources)
    for name, configuration in file.configurations.items():
        yield from _of_configuration(configuration, source, catalogue, ["configurations", name])
        for index, stated in enumerate(configuration.stated):
            if stated.relative_to is not None and stated.relative_to not in file.configurations:
                origin = locate(source.tree, ["configurations", name, "stated", index, "relative_to"])
                wrong = f"there is no configuration {quoted(stated.relative_to)} in this file"
                yield origin.problem(wrong, nearest(stated.relative_to, file.configurations))


def resolved_requirements(requirements: Requirements, source: Source, catalogue: Catalogue) -> Requirements:
    """The requirements with the name of each component that they name by a word or pattern.

    Raises `SourceError` for names that mean nothing or are written twice, and tiers without bricks of their media.
    """
    problems = list(unresolved_origins(requirements, source, requirements.sources))
    named = {}
    for key, kind in _NAMED.items():
        named[key], wrong = _resolved(getattr(requirements, key), kind, source, catalogue, [key])
        problems += wrong
    tiers = {}
    for tier_name, tier in requirements.tiers.items():
        path: Steps = ["tiers", tier_name]
        bricks, wrong_bricks = _resolved(tier.bricks, Brick, source, catalogue, [*path, "bricks"])
        modules, wrong_modules = _resolved(tier.metadata, MetadataModule, source, catalogue, [*path, "metadata"])
        problems += [*wrong_bricks, *wrong_modules]
        if not wrong_bricks:
            problems += _without_media(tier, bricks or named["bricks"], source, catalogue, path)
        tiers[tier_name] = tier.model_copy(update={"bricks": bricks, "metadata": modules})
    problems += unknown_components(
        requirements.limits.rack, Rack, _known_components(catalogue), source, ["limits", "rack"]
    )
    if problems:
        raise SourceError(problems)
    return requirements.model_copy(update={**named, "tiers": tiers})


_NAMED: Mapping[str, type[Component]] = {"bricks": Brick, "metadata": MetadataModule, "switches": Switch}
"""The keys of requirements that name components, and of which kind."""


def _resolved(
    words: list[str], kind: type[Component], source: Source, catalogue: Catalogue, path: Steps
) -> tuple[list[str], list[Problem]]:
    """The names that words stand for, each once, and what is wrong with the words."""
    known = {entry.name: entry.component for entry in catalogue.all(kind)}
    names: list[str] = []
    problems = []
    for index, word in enumerate(words):
        origin = locate(source.tree, [*path, index])
        matches = matching(word, known)
        if not matches:
            problems.append(origin.problem(*unmatched(word, kind, known)))
        elif word in words[:index]:
            problems.append(origin.problem(f"{quoted(word)} is named twice", "write it once"))
        names += matches
    return list(dict.fromkeys(names)), problems


def _without_media(
    tier: Tier, bricks: list[str], source: Source, catalogue: Catalogue, path: Steps
) -> Iterator[Problem]:
    """A tier none of whose bricks has drives of its media."""
    names = bricks or [entry.name for entry in catalogue.all(Brick)]
    media = {media_of(catalogue, drive) for name in names for drive in catalogue.find(name, Brick).drives}
    if tier.media is not None and tier.media not in media:
        wrong = f"no brick of the tier {path[-1]} has {tier.media} drives"
        yield locate(source.tree, [*path, "media"]).problem(wrong, "change it or `bricks`")


def _of_configuration(
    configuration: Configuration, source: Source, catalogue: Catalogue, path: Steps
) -> Iterator[Problem]:
    known = _known_components(catalogue)
    chosen: set[BrickChoice] = set()
    for index, counted in enumerate(configuration.bricks):
        place: Steps = [*path, "bricks", index]
        unknown = [*unknown_components(counted.brick, Brick, known, source, [*place, "brick"])]
        yield from unknown or _of_brick(counted, source, catalogue, place, chosen)
    yield from unknown_components(configuration.metadata, MetadataModule, known, source, [*path, "metadata"])
    yield from unknown_components(configuration.switches, Switch, known, source, [*path, "switches"])
    yield from unknown_components(configuration.rack, Rack, known, source, [*path, "rack"])


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


def _known_components(catalogue: Catalogue) -> Mapping[str, Component]:
    return {name: entry.component for name, entry in catalogue.entries.items()}

"""The built-in systems, and how a system is found by what was typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ioassay.systems.model import Claim, Place, Reference, StatedOperand, System
from ioassay.yaml_models.library import Library
from ioassay.yaml_models.source import Problem, Source, SourceError, locate, nearest, quoted
from ioassay.yaml_models.validate import validate

LIBRARY = Library("ioassay.systems", "system")


def builtin_systems() -> dict[str, System]:
    """All of them, by name."""
    sources = LIBRARY.sources()
    known = {name: validate(System, source.tree) for name, source in sources.items()}
    for name, source in sources.items():
        _refuse(known[name], source, known)
    return known


def find_system(name_or_path: str, known: Mapping[str, System]) -> System:
    """The one of `known` of that name, else the system in the file at that path.

    Raises `UsageError` for an unknown name, `SourceError` with every problem of a file.
    """
    return known[name_or_path] if name_or_path in known else read(LIBRARY.find(name_or_path), known)


def read(source: Source, known: Mapping[str, System]) -> System:
    """The system that was written; its claims may rest on figures of `known`. Raises `SourceError`."""
    system = validate(System, source.tree)
    _refuse(system, source, known)
    return system


def _refuse(system: System, source: Source, known: Mapping[str, System]) -> None:
    if problems := [*_repeated(system, source), *_unknown(system, source, known)]:
        raise SourceError(problems)


def _repeated(system: System, source: Source) -> Iterator[Problem]:
    ids = {"figures": [figure.id for figure in system.figures], "claims": [claim.id for claim in system.claims]}
    for key, named in ids.items():
        for index, id in enumerate(named):
            if id in named[:index]:
                origin = locate(source.tree, [key, index, "id"])
                yield origin.problem(f"{quoted(id)} is given twice", "call one of them differently")


def _unknown(system: System, source: Source, known: Mapping[str, System]) -> Iterator[Problem]:
    for path, place in _places(system):
        if place.source not in system.sources:
            wrong = f"the source {quoted(place.source)} is unknown"
            yield locate(source.tree, path).problem(wrong, nearest(place.source, system.sources))
    if system.test_bed is not None and system.test_bed not in known:
        origin = locate(source.tree, ["test_bed"])
        yield origin.problem(f"the system {quoted(system.test_bed)} is unknown", nearest(system.test_bed, known))
    for index, claim in enumerate(system.claims):
        origin = locate(source.tree, ["claims", index, "of"])
        for reference in _references(claim):
            if reference.system is not None and reference.system not in known:
                yield origin.problem(
                    f"the system {quoted(reference.system)} is unknown", nearest(reference.system, known)
                )
                continue
            other = known[reference.system] if reference.system else system
            if other.figure(reference.figure) is None:
                ids = [figure.id for figure in other.figures]
                yield origin.problem(
                    f"{other.name} has no figure {quoted(reference.figure)}", nearest(reference.figure, ids)
                )


def _places(system: System) -> Iterator[tuple[list[str | int], Place]]:
    for group, settings in system.settings.items():
        for index, setting in enumerate(settings):
            yield ["settings", group, index, "at"], setting.at
    for index, figure in enumerate(system.figures):
        yield ["figures", index, "at"], figure.at
    for index, claim in enumerate(system.claims):
        yield ["claims", index, "at"], claim.at
        for point in claim.of:
            for operand in point:
                if isinstance(operand, StatedOperand) and operand.at is not None:
                    yield ["claims", index, "of"], operand.at


def _references(claim: Claim) -> Iterable[Reference]:
    return (operand for point in claim.of for operand in point if isinstance(operand, Reference))

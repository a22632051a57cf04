"""Validates a tree as a typed document: every error of the model becomes a problem with its line.

Not here: what is valid (the models), settings (`studies.resolve`).
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from ioassay.yaml_models.model import FieldError, FieldInfo, InvalidDocument, Part
from ioassay.yaml_models.source import (
    Entries,
    Origin,
    Problem,
    ProblemAt,
    SourceError,
    locate,
    nearest,
    plain,
    quoted,
    wrong_and_meant,
)
from ioassay.yaml_models.values import Kind

_WRONG_SHAPE = {
    "list_type": ("is not a list", "write its items in lines that begin with `- `, or as [a, b]"),
    "mapping_type": ("is not a set of keys", "write `key: value` lines below it"),
    "too_short": ("is empty", "write at least one"),
}
"""Messages for values of another shape than their type's."""

Model = TypeVar("Model", bound=Part)

Advise = Callable[[type[Part], str], str]
"""The advice for an unknown key of a part."""


def nearest_key(part: type[Part], key: str) -> str:
    """The key of the part that is most similar to an unknown one."""
    return nearest(key, keys(part))


def validate(model: type[Model], tree: Entries, advise: Advise = nearest_key) -> Model:
    """The typed document. Raises `SourceError` with every problem."""
    try:
        return model.model_validate(plain(tree))
    except InvalidDocument as error:
        errors = _without_echoes(error.errors)
        raise SourceError(_problem(model, tree, error, advise) for error in errors) from None


def keys(model: type[Part]) -> dict[str, FieldInfo]:
    """The fields of a part, by the key in the document."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def part_of(field: FieldInfo) -> type[Part] | None:
    """The type of part in a field, or in its list or mapping."""
    return next(_parts(field.annotation), None)


def _parts(annotation: object) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _parts(argument)


def kind_of(field: FieldInfo) -> str:
    """The name of the kind of a field's value; empty for a choice of words."""
    return leaf(field.annotation, field.metadata)[1]


def leaf(annotation: object, metadata: Sequence[object] = ()) -> tuple[tuple[str, ...], str]:
    """The words of a choice, or else the name of the kind."""
    for note in (*metadata, *getattr(annotation, "__metadata__", ())):
        if isinstance(note, Kind):
            return (), note.name
    if typing.get_origin(annotation) is typing.Literal:
        return typing.get_args(annotation), ""
    leaves = [leaf(argument) for argument in typing.get_args(annotation)]
    return next((leaf for leaf in leaves if any(leaf)), ((), ""))


def _without_echoes(errors: Sequence[FieldError]) -> Iterator[FieldError]:
    """Drops the missing key of a misspelt one: it is a single problem."""
    unknown = [error.path for error in errors if error.kind == "extra"]
    for error in errors:
        *part, key = error.path or ("",)
        misspelt = (difflib.get_close_matches(str(path[-1]), [str(key)]) for path in unknown if list(path[:-1]) == part)
        if error.kind != "missing" or not any(misspelt):
            yield error


def _problem(model: type[Part], tree: Entries, error: FieldError, advise: Advise) -> Problem:
    path = [step for step in error.path if step != "[key]"]
    origin = locate(tree, path)
    match error.kind:
        case "extra":
            return _at_key(tree, path, origin).problem("unknown key", advise(_part_at(model, path[:-1]), str(path[-1])))
        case "missing":
            field = keys(_part_at(model, path[:-1]))[str(path[-1])]
            return _below(origin, str(path[-1])).problem("is missing", f"add it: {field.description}")
        case "word":
            word = error.value if isinstance(error.value, str) else ""
            return origin.problem(f"{quoted(word)} is unknown" if word else "is not a word", nearest(word, error.words))
        case "value":
            assert error.error is not None
            if isinstance(error.error, ProblemAt):
                origin = locate(tree, [*path, *error.error.path])
            return origin.problem(*wrong_and_meant(error.error))
        case kind if kind in _WRONG_SHAPE:
            return origin.problem(*_WRONG_SHAPE[kind])
        case _:
            return origin.problem(error.message, "")


def _below(origin: Origin, key: str) -> Origin:
    return Origin(origin.place, f"{origin.key}.{key}" if origin.key else key)


def _at_key(tree: Entries, path: list[int | str], origin: Origin) -> Origin:
    """The place of an unknown key. A step written as one word, `- wirte`, has no key but is one."""
    around = locate(tree, path[:-1])
    return _below(around, str(path[-1])) if origin == around else origin


def _part_at(part: type[Part], path: Iterable[int | str]) -> type[Part]:
    """The part that `path` leads to from `part`."""
    steps = iter(path)
    for step in steps:
        field = keys(part).get(str(step)) if isinstance(step, str) else None
        if field is None:
            continue
        part = part_of(field) or part
        if typing.get_origin(field.annotation) is dict:
            next(steps, None)  # the name in a mapping by name, which may be spelled like a field
    return part

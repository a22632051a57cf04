"""From the tree of a study to the typed study: every error of the model as a problem with its line.

Not here: what is valid (`studies.model`), settings (`studies.resolve`).
"""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Iterable, Iterator

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ioassay.studies.files import FileSet
from ioassay.studies.model import Study, Workload
from ioassay.studies.source import Entries, Origin, Problem, StudyError, locate, nearest, plain, quoted
from ioassay.studies.values import Part

_WRONG_SHAPE = {
    "list_type": ("is not a list", "write its items in lines that begin with `- `, or as [a, b]"),
    "model_type": ("is not a set of keys", "write `key: value` lines below it"),
    "dict_type": ("is not a set of keys", "write `key: value` lines below it"),
    "too_short": ("is empty", "give at least one"),
}
"""What to say of pydantic's structural errors."""


def validate(tree: Entries) -> Study:
    """The typed study. Raises `StudyError` with every problem."""
    try:
        return Study.model_validate(plain(tree))
    except ValidationError as error:
        raise StudyError(_problem(tree, details) for details in _without_echoes(error.errors())) from None


def keys(model: type[Part]) -> dict[str, FieldInfo]:
    """The fields of a part of a study, by the key that is written."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def part_of(field: FieldInfo) -> type[Part] | None:
    """The part that a field holds, or holds a list or mapping of."""
    return next(_parts(field.annotation), None)


def _parts(annotation: object) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _parts(argument)


def _without_echoes(errors: list[ErrorDetails]) -> Iterator[ErrorDetails]:
    """A misspelt key is one problem, not also the lack of the key that was meant."""
    unknown = [details["loc"] for details in errors if details["type"] == "extra_forbidden"]
    for details in errors:
        *part, key = details["loc"] or ("",)
        meant = (difflib.get_close_matches(str(path[-1]), [str(key)]) for path in unknown if list(path[:-1]) == part)
        if details["type"] != "missing" or not any(meant):
            yield details


def _problem(tree: Entries, details: ErrorDetails) -> Problem:
    path = [step for step in details["loc"] if step != "[key]"]
    origin = locate(tree, path)
    context = details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            return _at_key(tree, path, origin).problem("unknown key", _meant(_part_at(path[:-1]), str(path[-1])))
        case "missing":
            field = keys(_part_at(path[:-1]))[str(path[-1])]
            return _below(origin, str(path[-1])).problem("is missing", f"add it: {field.description}")
        case "literal_error":
            words = re.findall(r"'([^']*)'", context["expected"])
            return origin.problem(f"{quoted(details['input'])} is unknown", nearest(details["input"], words))
        case "value_error":
            wrong, _, meant = str(context["error"]).partition("; ")
            return origin.problem(wrong, meant)
        case kind if kind in _WRONG_SHAPE:
            return origin.problem(*_WRONG_SHAPE[kind])
        case _:
            return origin.problem(details["msg"], "")


def _meant(part: type[Part], key: str) -> str:
    if part is Workload and key in keys(FileSet):
        return "it belongs to a file set; write it below `files:` and a name"
    known = keys(part)
    return nearest(key, keys(Workload) | known if part is FileSet and not _near(key, known) else known)


def _near(key: str, known: Iterable[str]) -> bool:
    return bool(difflib.get_close_matches(key, list(known), n=1))


def _below(origin: Origin, key: str) -> Origin:
    return Origin(origin.place, f"{origin.key}.{key}" if origin.key else key)


def _at_key(tree: Entries, path: list[int | str], origin: Origin) -> Origin:
    """Where an unknown key stands. A step written as one word, `- wirte`, has no key but is one."""
    around = locate(tree, path[:-1])
    return _below(around, str(path[-1])) if origin == around else origin


def _part_at(path: Iterable[int | str]) -> type[Part]:
    """The part of the study that `path` leads to."""
    part: type[Part] = Study
    steps = iter(path)
    for step in steps:
        field = keys(part).get(str(step)) if isinstance(step, str) else None
        if field is None:
            continue
        part = part_of(field) or part
        if typing.get_origin(field.annotation) is dict:
            next(steps, None)  # the name in a mapping by name, which may be spelled like a field
    return part

"""The base of models of documents: fields with types, checked all at once, so that every problem has its path.

A part of a document is a class that derives from `Part`; its fields are annotated, as those of pydantic's models are,
and its methods have their names. Pydantic itself takes a tenth of a second to load and to build the classes of studies,
as long as everything else that `run --dry-run` does; here a class costs nothing before it is used. What is read comes
from YAML as texts, lists and mappings, and validators turn texts into values, so that few types are needed: those of
`_check`. Not: types of values (`values`), words for what is wrong (`validate`).
"""

from __future__ import annotations

import copy
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Generic, Literal, NoReturn, Self, TypeVar, dataclass_transform

Path = tuple[int | str, ...]

_ErrorKind = Literal["extra", "missing", "word", "value", "list_type", "mapping_type", "too_short", "type"]

_REQUIRED: Any = object()
_INVALID: Any = object()


@dataclass(frozen=True)
class FieldError:
    """What is wrong, and where: `path` leads there from the document, with `[key]` after a key that is wrong itself."""

    kind: _ErrorKind
    path: Path
    value: object = None
    words: tuple[str, ...] = ()
    """Those that are known, where another was found."""
    error: ValueError | None = None
    """What a validator raised."""
    message: str = ""


class InvalidDocument(ValueError):
    """Everything that is wrong with a document."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__(
            "; ".join(
                f"{'.'.join(map(str, error.path))}: {error.message or error.error or error.kind}" for error in errors
            )
        )
        self.errors = tuple(errors)


_Check = Callable[[Any, Path, list[FieldError]], Any]
"""From what is written to the value; or `_INVALID`, with what is wrong added to the list."""


@dataclass(frozen=True)
class BeforeValidator:
    """Makes the value of what is written, before its type is checked. Raises `ValueError`."""

    func: Callable[[Any], object]


@dataclass(frozen=True)
class AfterValidator:
    """The same with the value, after its type was checked."""

    func: Callable[[Any], object]


@dataclass
class FieldInfo:
    """A key of a part."""

    default: Any = _REQUIRED
    alias: str | None = None
    """The key in the document, where that is no name."""
    description: str | None = None
    min_length: int | None = None
    ge: float | None = None
    annotation: Any = None
    """Without what `Annotated` adds."""
    metadata: tuple[object, ...] = ()
    """What `Annotated` adds."""

    def is_required(self) -> bool:
        """Whether a document must have it."""
        return self.default is _REQUIRED

    def get_default(self) -> Any:
        """The value where a document does not have it. No two parts share a list or a mapping."""
        return copy.deepcopy(self.default) if isinstance(self.default, (list, dict)) else self.default


def Field(
    *,
    default: Any = _REQUIRED,
    alias: str | None = None,
    description: str | None = None,
    min_length: int | None = None,
    ge: float | None = None,
) -> Any:
    """A key of a part: `default`, `description`, and limits of a list's length or of a number."""
    return FieldInfo(default, alias, description, min_length, ge)


_Method = TypeVar("_Method", bound=Callable[..., Any])
_Value = TypeVar("_Value")


def _marked(method: _Method, mark: object) -> _Method:
    function: Any = getattr(method, "__func__", method)
    function.validates = mark
    return method


def model_validator(*, mode: Literal["before", "after"]) -> Callable[[_Method], _Method]:
    """A method that checks a whole part: `before`, a class method of what is written; `after`, a method."""
    return lambda method: _marked(method, mode)


def field_validator(*fields: str) -> Callable[[_Method], _Method]:
    """A class method that checks the values of some fields, after their types were checked."""
    return lambda method: _marked(method, fields)


class _OfClass(Generic[_Value]):
    """What is computed once of each class, when it is used."""

    def __init__(self, compute: Callable[[Any], _Value]) -> None:
        self._compute = compute
        self._computed: dict[type, _Value] = {}

    def __get__(self, _: object, owner: type) -> _Value:
        if owner not in self._computed:
            self._computed[owner] = self._compute(owner)
        return self._computed[owner]


def _fields(part: type[Part]) -> dict[str, FieldInfo]:
    """The fields of a part by name, those of its bases first, with the types that their annotations name."""
    fields_of_part: dict[str, FieldInfo] = {}
    for base in reversed(part.__mro__):
        names = vars(sys.modules[base.__module__])
        for name, field in base.__dict__.get("_declared", {}).items():
            annotation = eval(inspect.get_annotations(base)[name], names)
            notes: tuple[object, ...] = ()
            if typing.get_origin(annotation) is Annotated:
                annotation, *more = typing.get_args(annotation)
                notes = tuple(more)
            fields_of_part[name] = replace(field, annotation=annotation, metadata=notes)
    return fields_of_part


def _methods(part: type[Part], of: Callable[[Any], bool]) -> list[str]:
    """The names of methods that validate so, in the order of their definition."""
    marked = (name for base in reversed(part.__mro__) for name, value in vars(base).items() if of(_validates(value)))
    return [*dict.fromkeys(marked)]


def _validates(method: object) -> Any:
    return getattr(getattr(method, "__func__", method), "validates", None)


def _keys(part: type[Part]) -> list[tuple[str, str, _Check, FieldInfo]]:
    """Of each field its key, its name, and the check of its value."""
    keys = []
    for name, field in part.model_fields.items():
        check = _noted(_check_of(field.annotation), field.metadata)
        if field.min_length is not None:
            check = _with_least_length(check, field.min_length)
        if field.ge is not None:
            check = _with_least(check, field.ge)
        for method in _methods(part, lambda fields, name=name: isinstance(fields, tuple) and name in fields):  # type: ignore[misc]
            check = _noted(check, [AfterValidator(getattr(part, method))])
        keys.append((field.alias or name, name, check, field))
    return keys


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class Part:
    """Base of all parts of a document: an unknown key is an error. Frozen."""

    model_fields: ClassVar[_OfClass[dict[str, FieldInfo]]] = _OfClass(_fields)
    _keys: ClassVar[_OfClass[list[tuple[str, str, _Check, FieldInfo]]]] = _OfClass(_keys)
    _before: ClassVar[_OfClass[list[str]]] = _OfClass(lambda part: _methods(part, lambda mode: mode == "before"))
    _after: ClassVar[_OfClass[list[str]]] = _OfClass(lambda part: _methods(part, lambda mode: mode == "after"))

    model_fields_set: ClassVar[frozenset[str]] = frozenset()
    """Of an instance: the names of the fields that the document has."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        declared: dict[str, FieldInfo] = {}
        for name, annotation in inspect.get_annotations(cls).items():
            if name.startswith("_") or annotation.startswith("ClassVar"):
                continue
            value = cls.__dict__.get(name, _REQUIRED)
            declared[name] = value if isinstance(value, FieldInfo) else FieldInfo(value)
            if value is not _REQUIRED:
                delattr(cls, name)
        cls._declared = declared  # type: ignore[attr-defined]

    def __init__(self, **values: Any) -> None:
        """Raises `InvalidDocument`."""
        self.__dict__.update(self.model_validate(values).__dict__)

    @classmethod
    def model_validate(cls, written: object) -> Self:
        """The part in texts, lists and mappings. Raises `InvalidDocument` with everything that is wrong."""
        errors: list[FieldError] = []
        made = _validated(cls, written, (), errors)
        if errors:
            raise InvalidDocument(errors)
        return made  # type: ignore[no-any-return]

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """A part with values that are known to be valid."""
        made = cls.__new__(cls)
        defaults = {name: field.get_default() for name, field in cls.model_fields.items() if name not in values}
        made.__dict__.update(defaults | values, model_fields_set=frozenset(values))
        return made

    def model_copy(self, *, update: Mapping[str, Any] = MappingProxyType({})) -> Self:
        """A copy with some fields changed, which are not checked."""
        values = {name: getattr(self, name) for name in type(self).model_fields} | dict(update)
        made = type(self).__new__(type(self))
        made.__dict__.update(values, model_fields_set=self.model_fields_set | frozenset(update))
        return made

    def model_dump(self, *, exclude_none: bool = False, exclude_defaults: bool = False) -> dict[str, Any]:
        """Its fields, with those of its parts, as plain dicts and lists; on request without those that are null, or
        that are as they are by default.
        """
        options = {"exclude_none": exclude_none, "exclude_defaults": exclude_defaults}
        dumped = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if not (exclude_none and value is None) and not (exclude_defaults and value == field.default):
                dumped[name] = _dumped(value, options)
        return dumped

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in type(self).model_fields)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Part) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).model_fields)
        return f"{type(self).__name__}({fields})"


def _dumped(value: Any, options: Mapping[str, bool]) -> Any:
    match value:
        case Part():
            return value.model_dump(**options)
        case list():
            return [_dumped(element, options) for element in value]
        case dict():
            return {key: _dumped(element, options) for key, element in value.items()}
    return value


def _validated(part: type[Part], written: Any, path: Path, errors: list[FieldError]) -> Any:
    """The part, or `_INVALID` and what is wrong."""
    for method in part._before:
        try:
            written = getattr(part, method)(written)
        except ValueError as error:
            errors.append(FieldError("value", path, written, error=error))
            return _INVALID
    if isinstance(written, part):
        made = written
    elif isinstance(written, dict):
        before = len(errors)
        values: dict[str, Any] = {}
        known = set()
        for key, name, check, field in part._keys:
            known.add(key)
            if key in written:
                values[name] = check(written[key], (*path, key), errors)
            elif field.is_required():
                errors.append(FieldError("missing", (*path, key), written))
            else:
                values[name] = field.get_default()
        errors += [FieldError("extra", (*path, key), extra) for key, extra in written.items() if key not in known]
        if len(errors) > before:
            return _INVALID
        made = part.__new__(part)
        given = frozenset(name for key, name, _, _ in part._keys if key in written)
        made.__dict__.update(values, model_fields_set=given)
    else:
        errors.append(FieldError("mapping_type", path, written))
        return _INVALID
    for method in part._after:
        try:
            made = getattr(made, method)()
        except ValueError as error:
            errors.append(FieldError("value", path, written, error=error))
            return _INVALID
    return made


def _check_of(annotation: Any) -> _Check:  # noqa: PLR0911
    """The check of a type's values."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _noted(_check_of(arguments[0]), arguments[1:])
    if annotation is Any:
        return lambda value, _path, _errors: value
    if origin in (typing.Union, types.UnionType):
        return _union([argument for argument in arguments if argument is not type(None)], type(None) in arguments)
    if origin is Literal:
        return _choice(arguments)
    if origin is list:
        return _list(_check_of(arguments[0]))
    if origin is dict:
        return _mapping(_check_of(arguments[0]), _check_of(arguments[1]))
    if origin is not None:
        return _instance(origin)
    if issubclass(annotation, Part):
        return lambda value, path, errors: _validated(annotation, value, path, errors)
    return _instance(annotation)


def _noted(check: _Check, notes: Iterable[object]) -> _Check:
    """A check with the validators among what `Annotated` adds."""
    for note in notes:
        if isinstance(note, BeforeValidator):
            check = _after_making(note.func, check)
        elif isinstance(note, AfterValidator):
            check = _before_making(check, note.func)
    return check


def _after_making(make: Callable[[Any], object], check: _Check) -> _Check:
    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        try:
            made = make(value)
        except ValueError as error:
            errors.append(FieldError("value", path, value, error=error))
            return _INVALID
        return check(made, path, errors)

    return checked


def _before_making(check: _Check, make: Callable[[Any], object]) -> _Check:
    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        parsed = check(value, path, errors)
        try:
            return parsed if parsed is _INVALID else make(parsed)
        except ValueError as error:
            errors.append(FieldError("value", path, value, error=error))
            return _INVALID

    return checked


def _with_least_length(check: _Check, least: int) -> _Check:
    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        parsed = check(value, path, errors)
        if parsed is not _INVALID and len(parsed) < least:
            errors.append(FieldError("too_short", path, value))
            return _INVALID
        return parsed

    return checked


def _with_least(check: _Check, least: float) -> _Check:
    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        parsed = check(value, path, errors)
        if parsed is not _INVALID and parsed < least:
            message = f"Input should be greater than or equal to {least}"
            errors.append(FieldError("type", path, value, message=message))
            return _INVALID
        return parsed

    return checked


def _union(choices: Sequence[Any], has_none: bool) -> _Check:
    """One of several types, or nothing. Where none fits, the errors of each of them are reported."""
    checks = [_check_of(choice) for choice in choices]

    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        if has_none and value is None:
            return None
        if len(checks) == 1:
            return checks[0](value, path, errors)
        wrong: list[FieldError] = []
        for check in checks:
            choice_errors: list[FieldError] = []
            parsed = check(value, path, choice_errors)
            if not choice_errors:
                return parsed
            wrong += choice_errors
        errors += wrong
        return _INVALID

    return checked


def _choice(words: tuple[str, ...]) -> _Check:
    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        if isinstance(value, str) and value in words:
            return value
        known = " or ".join(map(repr, words))
        errors.append(FieldError("word", path, value, words, message=f"Input should be {known}"))
        return _INVALID

    return checked


def _list(item: _Check) -> _Check:
    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        if not isinstance(value, list):
            errors.append(FieldError("list_type", path, value))
            return _INVALID
        before = len(errors)
        items = [item(element, (*path, index), errors) for index, element in enumerate(value)]
        return items if len(errors) == before else _INVALID

    return checked


def _mapping(key: _Check, item: _Check) -> _Check:
    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        if not isinstance(value, dict):
            errors.append(FieldError("mapping_type", path, value))
            return _INVALID
        before = len(errors)
        items = {
            key(name, (*path, name, "[key]"), errors): item(element, (*path, name), errors)
            for name, element in value.items()
        }
        return items if len(errors) == before else _INVALID

    return checked


_NAMES: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _instance(kind: type) -> _Check:
    taken: tuple[type, ...] = (float, int) if kind is float else (kind,)
    name = _NAMES.get(kind)
    message = f"Input should be a valid {name}" if name else f"Input should be an instance of {kind.__name__}"

    def checked(value: Any, path: Path, errors: list[FieldError]) -> Any:
        if isinstance(value, taken) and (kind is bool or not isinstance(value, bool)):
            return value
        errors.append(FieldError("type", path, value, message=message))
        return _INVALID

    return checked

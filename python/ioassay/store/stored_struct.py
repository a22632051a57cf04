"""The base of stored documents that most commands read: msgspec checks them as they are decoded.

A pydantic model of `run.json` takes a tenth of a second to build, as long as everything else that a short command does.
The methods are called as those of pydantic's models, which the other stored documents are (`stored_types`), so that
code need not know which of both it has. Made in Python, a document is checked when it is written, not before; only
names and moments are at once.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NotRequired, Self, TypedDict

import msgspec
from msgspec import Meta, Struct

if TYPE_CHECKING:
    from ioassay.protocol.event import Environment

LARGEST = 2**63 - 1
"""The largest value of the tables' columns."""

MOST_CHARACTERS = 4 << 20
"""The longest string in a stored document: longer than a command line may be."""

LIMITS = {
    f"{sign}int{bits}": (0, 2**bits - 1) if sign == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
"""The lowest and highest number of each type of the engine's."""

Count = Annotated[int, Meta(ge=0, le=LARGEST)]
"""How many, or an amount."""

Amount = Annotated[float, Meta(ge=0)]
"""A rate, a duration or a share."""

Moment = str
"""ISO 8601 with a time zone: a field of this type is in the `checks` of its class."""

Component = str
"""A name that becomes a file or a directory, never a path that leads elsewhere: a field of this type is in the `checks`
of its class.
"""

Setting = Any

if TYPE_CHECKING:
    Node = Environment
else:
    Node = dict[str, Any]
    """A node as the engine describes it: `checked_node`."""


class StoredStruct(Struct, kw_only=True, forbid_unknown_fields=True):
    """A document in a stored directory, or a part of one. Raises `ValueError` where it is not as its types say."""

    checks: ClassVar[Mapping[str, Callable[[Any], object]]] = MappingProxyType({})
    """By field what raises `ValueError` for values that its type cannot exclude; null is passed over."""

    def __post_init__(self) -> None:
        for name, check in self.checks.items():
            value = getattr(self, name)
            if value is not None:
                try:
                    check(value)
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None

    @classmethod
    def model_validate_json(cls, content: str | bytes) -> Self:
        """The document in a text."""
        try:
            document = msgspec.json.decode(content, type=cls)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        except msgspec.MsgspecError as error:
            raise ValueError(_reason(error)) from None
        if len(content) > MOST_CHARACTERS:
            refuse_long_texts(msgspec.json.decode(content))
        return document

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """The document in what is left of it in plain dicts and lists."""
        return cls.model_validate_json(_encoded(value))

    def model_dump_json(self, *, indent: int | None = None) -> str:
        """Its text, which can be read again."""
        checked = _encoded(self.model_validate_json(_encoded(self)))
        return (checked if indent is None else msgspec.json.format(checked, indent=indent)).decode()

    def model_dump(self, *, mode: str = "json", exclude: Collection[str] = ()) -> dict[str, Any]:
        """Plain dicts and lists, whatever the `mode`."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return {name: value for name, value in content.items() if name not in exclude}

    def model_copy(self, *, update: Mapping[str, Any] = MappingProxyType({}), deep: bool = False) -> Self:
        """A copy with some fields changed."""
        copied = msgspec.structs.replace(copy.deepcopy(self) if deep else self, **update)
        if more := getattr(self, "__dict__", None):
            copied.__dict__.update(more)
        return copied


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (RecursionError, msgspec.MsgspecError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _reason(error: msgspec.MsgspecError) -> str:
    """Where in the document, and what is wrong there."""
    message, _, place = str(error).partition(" - at `")
    where = place.rpartition("$")[2].rstrip("`").replace("[", ".").replace("]", "").lstrip(".")
    return f"{where}: {message}" if where else message


def refuse_long_texts(value: Any) -> None:
    """Raises `ValueError` for a string of more than `MOST_CHARACTERS`."""
    match value:
        case str() if len(value) > MOST_CHARACTERS:
            raise ValueError(f"a string of more than {MOST_CHARACTERS} characters")
        case list():
            for element in value:
                refuse_long_texts(element)
        case dict():
            for name, member in value.items():
                refuse_long_texts(name)
                refuse_long_texts(member)


def bounded(value: Any, largest: int = LARGEST) -> None:
    """Raises `ValueError` for integers beyond it: Python refuses to print those of very many digits."""
    match value:
        case bool():
            pass
        case int() if abs(value) > largest:
            raise ValueError("an integer of more than 64 bits")
        case list():
            for element in value:
                bounded(element, largest)
        case dict():
            for member in value.values():
                bounded(member, largest)


def checked_node(value: Any) -> Any:
    """A node, with the fields that the protocol knows. Raises `ValueError` where it is none."""
    bounded(value, 2**64 - 1)
    try:
        return msgspec.convert(value, _environment())
    except msgspec.ValidationError as error:
        raise ValueError(_reason(error)) from None


@cache
def _environment() -> Any:
    """The protocol's `Environment` as a type, made of its JSON schema."""
    schema = json.loads(resources.files("ioassay").joinpath("schemas", "event.json").read_bytes())
    return _type(schema["$defs"]["Environment"], schema["$defs"])


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:  # noqa: PLR0911
    """The type of a value. Raises `KeyError` for a keyword that `Environment` does not use."""
    if "$ref" in schema:
        return _type(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "anyOf" in schema:
        inner, _null = schema["anyOf"]
        return _type(inner, definitions) | None
    kind = schema["type"]
    if isinstance(kind, list):
        (only,) = (type_name for type_name in kind if type_name != "null")
        return _type({**schema, "type": only}, definitions) | None
    if kind == "array":
        return list[_type(schema["items"], definitions)]  # type: ignore[misc]
    if kind == "integer":
        lowest, highest = LIMITS[schema["format"]]
        return Annotated[int, Meta(ge=lowest, le=highest if highest <= LARGEST else None)]  # `bounded` has the rest
    if kind == "string":
        return str
    if "properties" not in schema:
        return dict[str, _type(schema["additionalProperties"], definitions)]  # type: ignore[misc]
    fields = {name: _type(value, definitions) for name, value in schema["properties"].items()}
    required = schema["required"]
    typed_dict: Any = TypedDict  # which type checkers take for a statement
    return typed_dict(
        "_Object",
        {name: field_type if name in required else NotRequired[field_type] for name, field_type in fields.items()},
    )

"""The documents of the engine's protocol, checked against their JSON schemas (`crates/protocol`) as they are read.

A stored file may be damaged or made up. What has passed has the keys and types that the protocol says, numbers of the
engine's types (unsigned ones may exceed what the tables hold), and strings of a bounded length, so readers take its
parts by name without asking again.

Not: what a document means, its version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from ioassay.store.stored_struct import LIMITS, MOST_CHARACTERS

Document = Literal["agent", "contract", "event", "front-end", "plan", "progress", "snapshot"]
"""A schema in `ioassay/schemas`."""

_Schema = Mapping[str, Any]


@cache
def validator(document: Document, definition: str | None = None) -> SchemaValidator:
    """A validator of a document, or of one of the definitions in its schema, that gives plain dicts and lists."""
    schema = json.loads(resources.files("ioassay").joinpath("schemas", f"{document}.json").read_bytes())
    definitions: dict[str, _Schema] = schema.get("$defs", {})
    compiled = _Compiler(definitions)
    top = {"$ref": f"#/$defs/{definition}"} if definition else schema
    return SchemaValidator(
        core_schema.definitions_schema(
            compiled.of(top), [compiled.of(each) | {"ref": name} for name, each in definitions.items()]
        )
    )


def reason(error: ValidationError) -> str:
    """Why a document was refused: where in it, and what is wrong there."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def is_cut_short(error: ValidationError) -> bool:
    """True if what was read ends before the document does, as where its writer was killed."""
    first = error.errors(include_url=False, include_input=False)[0]
    return first["type"] == "json_invalid" and first["ctx"]["error"].startswith("EOF")


class _Compiler:
    """Turns the parts of JSON Schema that the protocol's schemas use into pydantic's own."""

    def __init__(self, definitions: Mapping[str, _Schema]) -> None:
        self._definitions = definitions

    def of(self, schema: _Schema) -> Any:
        """The schema of a value. Raises `ValueError` for a keyword that is new to this."""
        if "const" in schema:
            return core_schema.literal_schema([schema["const"]])
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            if "properties" in schema:  # a tagged variant: its tag beside the definition's own properties
                return self._object(_merged(self._definitions[name], schema))
            return core_schema.definition_reference_schema(name)
        for either in ("oneOf", "anyOf"):
            if either in schema:
                return self._union(schema)
        kind = schema.get("type")
        if isinstance(kind, list):
            (only,) = (type_name for type_name in kind if type_name != "null")
            return core_schema.nullable_schema(self.of({**schema, "type": only}))
        return self._plain(kind, schema)

    def _plain(self, kind: str | None, schema: _Schema) -> CoreSchema:  # noqa: PLR0911
        match kind:
            case "string":
                return core_schema.str_schema(strict=True, max_length=MOST_CHARACTERS)
            case "integer":
                lowest, highest = LIMITS[schema["format"]]
                return core_schema.int_schema(strict=True, ge=lowest, le=highest)
            case "number":
                return core_schema.float_schema(strict=True, allow_inf_nan=False)
            case "boolean":
                return core_schema.bool_schema(strict=True)
            case "null":
                return core_schema.none_schema()
            case "array":
                return core_schema.list_schema(self.of(schema["items"]), strict=True)
            case "object":
                return self._object(schema)
        raise ValueError(f"{kind} is not a type that the protocol's schemas use")

    def _object(self, schema: _Schema) -> CoreSchema:
        more = schema.get("additionalProperties")
        if "properties" not in schema and isinstance(more, Mapping):
            return core_schema.dict_schema(core_schema.str_schema(), self.of(more), strict=True)
        required = schema.get("required", [])
        fields = {
            name: core_schema.typed_dict_field(self.of(value), required=name in required)
            for name, value in schema.get("properties", {}).items()
        }
        # Fields are added freely, so those of a later version are passed over.
        return core_schema.typed_dict_schema(
            fields, extra_behavior="forbid" if more is False else "ignore", strict=True
        )

    def _union(self, schema: _Schema) -> CoreSchema:
        variants = schema.get("oneOf") or schema["anyOf"]
        tag = _tag(variants)
        if tag is not None:
            choices = {variant["properties"][tag]["const"]: self._variant(variant, schema) for variant in variants}
            return core_schema.tagged_union_schema(choices, tag)
        return core_schema.union_schema([self.of(variant) for variant in variants])

    def _variant(self, variant: _Schema, outer: _Schema) -> CoreSchema:
        """A variant of a tagged union, with the properties that all variants have."""
        if "$ref" in variant:
            variant = _merged(self._definitions[variant["$ref"].removeprefix("#/$defs/")], variant)
        return self._object(_merged(outer, variant) if "properties" in outer else variant)


def _merged(base: _Schema, more: _Schema) -> _Schema:
    return {
        **more,
        "properties": {**base.get("properties", {}), **more.get("properties", {})},
        "required": [*base.get("required", []), *more.get("required", [])],
    }


def _tag(variants: list[_Schema]) -> str | None:
    """The property whose constant tells the variants apart."""
    constants = [
        {name for name, value in variant.get("properties", {}).items() if "const" in value} for variant in variants
    ]
    shared = set.intersection(*constants) if constants else set()
    return next(iter(sorted(shared)), None)

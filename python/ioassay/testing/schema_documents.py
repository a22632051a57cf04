"""Documents that a JSON schema of the protocol allows, made up by Hypothesis, with numbers at the ends of their types.

Beside them documents that are almost right: with a number beyond its type, without a key, with another type of value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from hypothesis import strategies as st

from ioassay.store.stored_struct import LIMITS

_MOST_ITEMS = 2

_TEXTS = st.sampled_from(["", "a", "ä\u2028\U0001f600", "\x00\x7f", '"\\', "1"])

_FLOATS = st.sampled_from([0.0, -0.0, 1.5, 5e-324, 1.7976931348623157e308, -1e300, 0.1])

# No list: serde takes one for an object whose fields stand in their order, which nothing writes.
_WRONG: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 1.5, 1e300, "", "x", {}]
)

_Schema = Mapping[str, Any]


def documents(name: str) -> st.SearchStrategy[Any]:
    """Documents that the schema `name` allows."""
    schema = json.loads(resources.files("ioassay").joinpath("schemas", f"{name}.json").read_bytes())
    return _Documents(schema.get("$defs", {})).of(schema)


@st.composite
def almost(draw: st.DrawFn, right: st.SearchStrategy[Any]) -> Any:
    """A document with one thing changed."""
    document = json.loads(json.dumps(draw(right)))
    containers = [*_containers(document)]
    container = draw(st.sampled_from(containers)) if containers else None
    if isinstance(container, dict):
        key = draw(st.sampled_from([*sorted(container), "unheard_of"]))
        if draw(st.booleans()):
            container.pop(key, None)
        else:
            container[key] = draw(_WRONG)
    elif isinstance(container, list):
        container.insert(draw(st.integers(0, len(container))), draw(_WRONG))
    else:
        document = draw(_WRONG)
    return document


def _containers(value: Any) -> list[Any]:
    """Every object and list in a document, with itself."""
    if isinstance(value, dict):
        return [value, *(container for item in value.values() for container in _containers(item))]
    if isinstance(value, list):
        return [value, *(container for item in value for container in _containers(item))]
    return []


class _Documents:
    """Strategies for the parts of JSON Schema that the protocol's schemas use."""

    def __init__(self, definitions: Mapping[str, _Schema]) -> None:
        self._definitions = definitions
        self._named: dict[str, st.SearchStrategy[Any]] = {}

    def of(self, schema: _Schema) -> st.SearchStrategy[Any]:  # noqa: PLR0911
        if "const" in schema:
            return st.just(schema["const"])
        if "$ref" in schema:
            own_keys = {key: value for key, value in schema.items() if key in ("properties", "required")}
            named = self._reference(schema["$ref"].removeprefix("#/$defs/"))
            return _joined(named, self._object(own_keys)) if own_keys else named
        for either in ("oneOf", "anyOf"):
            if either in schema:
                variants = st.one_of([self.of(variant) for variant in schema[either]])
                return _joined(variants, self._object(schema)) if "properties" in schema else variants
        kind = schema["type"]
        if isinstance(kind, list):
            return st.one_of([self.of({**schema, "type": variant}) for variant in kind])
        match kind:
            case "string":
                return _TEXTS
            case "integer":
                return _integers(schema)
            case "number":
                return _FLOATS
            case "boolean":
                return st.booleans()
            case "null":
                return st.none()
            case "array":
                return st.lists(self.of(schema["items"]), max_size=_MOST_ITEMS)
            case "object":
                return self._object(schema)
        raise ValueError(f"{kind} is not a type that the protocol's schemas use")

    def _reference(self, name: str) -> st.SearchStrategy[Any]:
        if name not in self._named:
            self._named[name] = st.deferred(lambda: self.of(self._definitions[name]))
        return self._named[name]

    def _object(self, schema: _Schema) -> st.SearchStrategy[dict[str, Any]]:
        more = schema.get("additionalProperties")
        if "properties" not in schema and isinstance(more, Mapping):
            return st.dictionaries(_TEXTS, self.of(more), max_size=_MOST_ITEMS)
        fields = {name: self.of(value) for name, value in schema.get("properties", {}).items()}
        required = {name: fields.pop(name) for name in schema.get("required", [])}
        return st.fixed_dictionaries(required, optional=fields)


def _integers(schema: _Schema) -> st.SearchStrategy[int]:
    lowest, highest = LIMITS[schema["format"]]
    ends = (lowest, highest, lowest + 1, highest - 1, 0, 1, 2**53 + 1, 2**63 - 1, 2**63)
    return st.sampled_from([number for number in ends if lowest <= number <= highest])


def _joined(first: st.SearchStrategy[Any], second: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with the keys of both."""
    return st.builds(lambda first_object, second_object: {**first_object, **second_object}, first, second)

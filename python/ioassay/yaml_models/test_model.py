from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import pytest

from ioassay.yaml_models.model import (
    AfterValidator,
    BeforeValidator,
    Field,
    FieldError,
    InvalidDocument,
    Part,
    field_validator,
    model_validator,
)

Number = Annotated[int, BeforeValidator(int)]


class Inner(Part):
    """A part of a part."""

    number: Number = Field(description="A number.")
    word: Literal["a", "b"] = Field(default="a", description="A word.")


class Outer(Part):
    """A part with everything."""

    NOT_A_FIELD: ClassVar[int] = 3

    inner: Inner = Field(default=Inner(number=1), description="A part.")
    parts: dict[Annotated[str, AfterValidator(_lower)], Inner] = Field(default={}, description="Parts.")
    numbers: list[Number] = Field(default=[], min_length=1, description="Numbers.")
    with_alias: str | None = Field(default=None, alias="with-alias", description="A text.")
    either: Literal["x"] | list[str] | None = Field(default=None, description="One or the other.")
    few: Number = Field(default=5, ge=3, description="At least 3.")

    @model_validator(mode="before")
    @classmethod
    def _of_a_text(cls, written: object) -> object:
        return {"with-alias": written} if isinstance(written, str) else written

    @field_validator("numbers")
    @classmethod
    def _ascending(cls, numbers: list[int]) -> list[int]:
        if numbers != sorted(numbers):
            raise ValueError("not ascending")
        return numbers

    @model_validator(mode="after")
    def _not_seven(self) -> Self:
        if self.few == 7:
            raise ValueError("seven")
        return self


class Narrowed(Outer):
    """One that requires what another may leave out."""

    numbers: list[Number] = Field(description="Numbers.")
    more: str = Field(default="", description="A text.")


def _lower(key: str) -> str:
    if key != key.lower():
        raise ValueError("not lower case")
    return key


def errors(written: Any, model: type[Part] = Outer) -> list[tuple[str, tuple[int | str, ...]]]:
    with pytest.raises(InvalidDocument) as raised:
        model.model_validate(written)
    return [(error.kind, error.path) for error in raised.value.errors]


def test_what_is_written_becomes_values() -> None:
    made = Outer.model_validate(
        {"inner": {"number": "4"}, "parts": {"p": {"number": "5", "word": "b"}}, "numbers": ["1", "2"]}
    )
    assert (made.inner.number, made.parts["p"].word, made.numbers, made.few) == (4, "b", [1, 2], 5)
    assert made.model_fields_set == {"inner", "parts", "numbers"}
    assert Outer.model_validate("text").with_alias == "text"


def test_every_error_is_found_with_its_path() -> None:
    written = {
        "inner": {"word": "c", "other": "1"},
        "parts": {"P": {"number": "x"}, "q": "text"},
        "numbers": "1",
        "few": "2",
        "unknown": "1",
        "with_alias": "not its key",
    }
    assert errors(written) == [
        ("missing", ("inner", "number")),
        ("word", ("inner", "word")),
        ("extra", ("inner", "other")),
        ("value", ("parts", "P", "[key]")),
        ("value", ("parts", "P", "number")),
        ("mapping_type", ("parts", "q")),
        ("list_type", ("numbers",)),
        ("type", ("few",)),
        ("extra", ("unknown",)),
        ("extra", ("with_alias",)),
    ]


def test_a_part_is_checked_as_a_whole_where_its_fields_are_valid() -> None:
    assert errors({"few": "7"}) == [("value", ())]
    assert errors({"few": "7", "numbers": ["2", "1"]}) == [("value", ("numbers",))]
    assert errors({"numbers": []}) == [("too_short", ("numbers",))]


def test_of_a_union_the_first_type_that_fits_is_taken() -> None:
    assert Outer(either="x").either == "x"
    assert Outer(either=["y"]).either == ["y"]
    assert errors({"either": "y"}) == [("word", ("either",)), ("list_type", ("either",))]


def test_no_two_parts_share_a_default() -> None:
    first, second = Outer(), Outer()
    first.numbers.append(1)
    assert second.numbers == []


def test_a_field_that_is_declared_again_keeps_its_place() -> None:
    assert [*Narrowed.model_fields] == ["inner", "parts", "numbers", "with_alias", "either", "few", "more"]
    assert errors({}, Narrowed) == [("missing", ("numbers",))]
    assert Narrowed.model_fields["numbers"].min_length is None


def test_parts_are_frozen_and_equal_by_their_values() -> None:
    inner = Inner(number=1)
    with pytest.raises(AttributeError, match="Inner is frozen"):
        inner.number = 2  # type: ignore[misc]
    changed = inner.model_copy(update={"number": 2})
    assert (inner.number, changed.number, changed.model_fields_set) == (1, 2, frozenset({"number"}))
    assert inner == Inner.model_construct(number=1)
    assert inner != changed
    assert hash(inner) == hash(Inner(number=1))


def test_a_part_becomes_plain_dicts() -> None:
    made = Outer(parts={"p": Inner(number=2)})
    assert made.model_dump(exclude_none=True, exclude_defaults=True) == {"parts": {"p": {"number": 2}}}
    assert made.model_dump()["inner"] == {"number": 1, "word": "a"}


def test_the_error_says_what_is_wrong() -> None:
    with pytest.raises(InvalidDocument, match=r"word: Input should be 'a' or 'b'") as raised:
        Inner.model_validate({"number": "1", "word": "c"})
    assert raised.value.errors == (
        FieldError("word", ("word",), "c", ("a", "b"), message="Input should be 'a' or 'b'"),
    )

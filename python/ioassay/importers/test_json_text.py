"""JSON documents are found among other lines, and what is no whole document is refused with its line."""

import pytest

from ioassay.importers.json_text import Parsed, documents
from ioassay.importers.source import Refused
from ioassay.testing.importer_samples import source


def values(text: str) -> list[object]:
    """The documents of a text."""
    return [document.values for document in documents(source(text))]


def test_several_documents_are_found_among_other_lines() -> None:
    text = 'a warning\n{\n "a": 1\n}\nmore\n  {"b": 2}\n'
    assert [(document.line, document.values) for document in documents(source(text))] == [(2, {"a": 1}), (6, {"b": 2})]


def test_nan_and_infinity_are_null_and_text_is_unchanged() -> None:
    assert values('{"a": -nan, "b": [inf, 1], "c": "nan"}') == [{"a": None, "b": [None, 1], "c": "nan"}]


@pytest.mark.parametrize(
    ("text", "line"),
    [('{\n"a": 1\n', 3), ('{"a": 1} {\n', 1), ('{"a": 1\n}\n}\n', 3), ('{"a":' * 99999, 1), ('{"a": 1}]', 1)],
)
def test_incomplete_documents_and_trailing_text_are_refused_with_their_line(text: str, line: int) -> None:
    with pytest.raises(Refused) as refused:
        values(text)
    assert refused.value.line == line


@pytest.mark.parametrize("value", [None, True, -1, 1.5, "1", float("inf"), [], {}])
def test_other_values_are_refused_as_whole_numbers(value: object) -> None:
    with pytest.raises(Refused, match="whole number"):
        Parsed({"a": value}, 7).integer("a")


@pytest.mark.parametrize("value", [None, True, -1.5, "1", float("inf"), float("nan"), 10**400, [], {}])
def test_a_number_is_finite_and_not_negative(value: object) -> None:
    with pytest.raises(Refused, match="should have a number"):
        Parsed({"a": value}, 7).number("a")


def test_a_missing_value_is_named_with_its_place() -> None:
    document = Parsed({"a": {"b": {}}}, 7)
    with pytest.raises(Refused, match="lacks 'c' in 'b' of 'a' of the document"):
        document.part("a").part("b").number("c")

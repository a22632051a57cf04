"""JSON documents are found among other lines, and what is no whole document is refused with its line."""

import pytest

from ioassay.importers.json_text import Parsed, documents
from ioassay.importers.source import Refused
from ioassay.testing.importer_samples import source


def values(text: str) -> list[object]:
    """The documents of a text."""
    return [told.values for told in documents(source(text))]


def test_documents_stand_among_other_lines_and_follow_each_other() -> None:
    text = 'a warning\n{\n "a": 1\n}\nmore\n  {"b": 2}\n'
    assert [(told.line, told.values) for told in documents(source(text))] == [(2, {"a": 1}), (6, {"b": 2})]


def test_what_is_no_number_in_c_is_null_and_text_stays_as_it_is() -> None:
    assert values('{"a": -nan, "b": [inf, 1], "c": "nan"}') == [{"a": None, "b": [None, 1], "c": "nan"}]


@pytest.mark.parametrize(
    ("text", "line"),
    [('{\n"a": 1\n', 3), ('{"a": 1} {\n', 1), ('{"a": 1\n}\n}\n', 3), ('{"a":' * 99999, 1), ('{"a": 1}]', 1)],
)
def test_what_does_not_end_or_goes_on_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Refused) as refused:
        values(text)
    assert refused.value.line == line


@pytest.mark.parametrize("value", [None, True, -1, 1.5, "1", float("inf"), [], {}])
def test_a_whole_number_is_nothing_else(value: object) -> None:
    with pytest.raises(Refused, match="whole number"):
        Parsed({"a": value}, 7).whole("a")


@pytest.mark.parametrize("value", [None, True, -1.5, "1", float("inf"), float("nan"), 10**400, [], {}])
def test_a_number_is_finite_and_not_negative(value: object) -> None:
    with pytest.raises(Refused, match="should have a number"):
        Parsed({"a": value}, 7).number("a")


def test_what_is_missing_is_named_with_its_place() -> None:
    told = Parsed({"a": {"b": {}}}, 7)
    with pytest.raises(Refused, match="lacks 'c' in 'b' of 'a' of the document"):
        told.part("a").part("b").number("c")

"""What the beginning of a document says, wherever it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ioassay.store.json_head import Fields, beginning, whole

DOCUMENT = {"kind": "run", "version": 4, "origin": {"kind": "study", "of": {"a": [1]}}, "ended": None, "größe": "ß"}


@pytest.mark.parametrize("indent", [None, 2])
def test_every_beginning_has_the_members_that_are_there_as_a_whole(indent: int | None) -> None:
    content = json.dumps(DOCUMENT, indent=indent, ensure_ascii=False).encode()
    assert beginning(content) == whole(content) == DOCUMENT
    for end in range(1, len(content)):
        members = beginning(content[:end])
        inner = members.pop("origin", {})
        assert members.items() <= DOCUMENT.items()
        assert list(members) == [name for name in DOCUMENT if name in members]
        assert inner.items() <= DOCUMENT["origin"].items()  # type: ignore[attr-defined]


def test_a_number_that_may_go_on_is_not_there() -> None:
    assert beginning(b'{"version": 4') == {}
    assert beginning(b'{"version": 4 ') == {}
    assert beginning(b'{"version": 4,') == {"version": 4}
    assert beginning(b'{"inner": {"version": 4') == {"inner": {}}


@pytest.mark.parametrize("content", [b"", b"}", b"\xff", b"[" * 100_000, b'{"a": ' + b"[" * 100_000])
def test_a_text_that_is_no_document_has_no_beginning(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        beginning(content)
    with pytest.raises(ValueError, match=r"\w"):
        whole(content)


@pytest.mark.parametrize(
    ("document", "read", "message"),
    [
        ({}, lambda fields: fields.text("run"), "run: Field required"),
        ({"run": 1}, lambda fields: fields.text("run"), "run: a string is expected"),
        ({"run": "\ud800"}, lambda fields: fields.text("run"), "run: a string of Unicode characters is expected"),
        ({"run": "a/b"}, lambda fields: fields.component("run"), "run: a file name without slashes is expected"),
        ({"state": "x"}, lambda fields: fields.choice("state", ("a", "b")), "state: one of a, b is expected"),
        ({"at": "2026-01-01"}, lambda fields: fields.moment("at"), "at: a timestamp needs a time zone"),
        ({"version": True}, lambda fields: fields.count("version", 9), "version: an integer from 0 to 9 is expected"),
        ({"version": 10}, lambda fields: fields.count("version", 9), "version: an integer from 0 to 9 is expected"),
        ({"origin": []}, lambda fields: fields.inner("origin"), "origin: an object is expected"),
        ({"origin": {}}, lambda fields: fields.inner("origin").text("kind"), "origin.kind: Field required"),
        ({"all": [{}, 1]}, lambda fields: fields.each("all"), "all.1: an object is expected"),
        ({"all": ["a", 1]}, lambda fields: fields.texts("all"), "all.1: a string is expected"),
        ({"all": "a"}, lambda fields: fields.texts("all"), "all: a list is expected"),
        ([], lambda fields: fields, "an object is expected"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(document: Any, read: Callable[[Fields], Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        read(Fields(document))
    assert str(refused.value) == message

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_core import ValidationError

from ioassay.store import protocol, stored_struct
from ioassay.store.document import CaseEntry, Criterion, JobEntry, RunDocument, StudyEntry
from ioassay.store.origin import FrontEndOrigin, LabEntry
from ioassay.store.stored_struct import checked_node
from ioassay.testing.builder import RunBuilder

NODE: dict[str, Any] = {
    "host": "node1",
    "processors": 2,
    "memory_bytes": 2**64 - 1,
    "kernel": "6.1",
    "clock": {"source": "tsc", "resolution_ns": 1},
    "caches": [{"name": "zfs", "because": "it has a cache of its own"}],
    "kernel_settings": {"vm.dirty_ratio": "20"},
    "mount": {"mount_point": "/", "file_system": "ext4", "options": ["rw"], "block_bytes": 4096, "free_bytes": None},
    "block_device": None,
}


def document() -> RunDocument:
    return RunBuilder().workload("w").clients(1).build().document


def changed(part: str, value: Any) -> dict[str, Any]:
    """The document with another value at a path such as `cases.0.id`."""
    whole = document().model_dump()
    *way, last = [int(key) if key.isdigit() else key for key in part.split(".")]
    place: Any = whole
    for key in way:
        place = place[key]
    place[last] = value
    return whole


@pytest.mark.parametrize(
    ("part", "value", "why"),
    [
        ("cases.0.repetition", -1, "cases.0.repetition: "),
        ("cases.0.repetition", 2**63, "cases.0.repetition: "),
        ("cases.0.repetition", "1", "cases.0.repetition: "),
        ("cases.0.repetition", True, "cases.0.repetition: "),
        ("cases.0.id", "../elsewhere", "cases.0: id: a file name without slashes"),
        ("cases.0.point", {"clients": "many"}, "cases.0: point: clients is not a count"),
        ("cases.0.point", {"clients": 1, "a\n": 1}, "cases.0.point"),
        ("run", "a/b", "run: a file name without slashes"),
        ("started", "2026-01-31T12:00:00", "started: a timestamp needs a time zone"),
        ("state", "asleep", "state: "),
        ("more", 1, "unknown field .more"),
        ("origin", {"kind": "census"}, "origin.kind: "),
        ("study.settings", {"a": [10**20]}, "study: settings: an integer of more than 64 bits"),
        ("environment", [{**NODE, "processors": -1}], "processors: "),
    ],
)
def test_an_impossible_value_is_refused_with_its_place(part: str, value: Any, why: str) -> None:
    RunDocument.model_validate(document().model_dump())
    with pytest.raises(ValueError, match=why):
        RunDocument.model_validate(changed(part, value))


def test_a_missing_field_is_refused() -> None:
    content = document().model_dump()
    del content["cases"][0]["phases"]
    with pytest.raises(ValueError, match=r"cases\.0: .*phases"):
        RunDocument.model_validate(content)


def test_a_string_that_no_run_could_have_is_refused() -> None:
    with pytest.raises(ValueError, match="a string of more than"):
        RunDocument.model_validate(changed("study.text", "x" * (stored_struct.MOST_CHARACTERS + 1)))


@pytest.mark.parametrize("text", ["{", "[]", "", '{"kind": "run"', "[" * 100_000, '{"run": "\\ud800"}', "nan"])
def test_a_text_that_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        RunDocument.model_validate_json(text)


def test_a_written_document_can_be_read_again() -> None:
    original = document()
    original.cases[0].repetition = -1
    with pytest.raises(ValueError, match=r"cases\.0\.repetition"):
        original.model_dump_json()
    limit = Criterion(measure="m", of="all", operation="all", at_least=float("nan"), unit="s", because="of it")
    limit.at_most = 5  # a float, however it was set
    assert json.loads(limit.model_dump_json())["at_most"] == 5
    assert '"at_most":5.0' in limit.model_dump_json()
    assert json.loads(limit.model_dump_json())["at_least"] is None


def test_names_and_moments_are_checked_when_they_are_set_out() -> None:
    with pytest.raises(ValueError, match="started: "):
        LabEntry(about=None, hosts=[], link_bits_per_s=None, started="yesterday", yaml="")


def test_a_copy_is_another_document() -> None:
    original = document()
    original.note_live("2026-01-31T12:00:00Z")
    copied = original.model_copy(update={"origin": FrontEndOrigin(tool="ior")})
    assert (copied.front_end, original.front_end, copied.live_at) == ("ior", None, original.live_at)
    assert copied.cases is original.cases
    assert original.model_copy(deep=True).cases[0] is not original.cases[0]
    assert "live" not in original.model_dump_json()


def test_indented_text_is_that_of_pythons_json() -> None:
    text = document().model_dump_json(indent=2)
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"host": 1},
        {"processors": 2**32},
        {"processors": 1.0},
        {"processors": True},
        {"memory_bytes": 2**64},
        {"memory_bytes": -1},
        {"clock": {"source": "tsc"}},
        {"clock": None},
        {"caches": [{"name": "zfs"}]},
        {"caches": None},
        {"mount": None},
        {"block_device": {"name": "sda", "size_bytes": 1, "queue": {"scheduler": "none"}}},
        {"block_device": {"name": "sda", "size_bytes": 1, "queue": {"scheduler": 1}}},
        {"kernel_settings": {"a": None}},
        {"numa_nodes": [{"processors": "0-3", "memory_bytes": 1}]},
        {"of a later version": 1},
    ],
)
def test_a_node_is_what_the_protocol_says(change: dict[str, Any]) -> None:
    """The protocol's own validator, which takes long to load, is the measure."""
    node = {**NODE, **change}
    try:
        expected = protocol.validator("event", "Environment").validate_python(node)
    except ValidationError:
        with pytest.raises(ValueError, match=r"."):
            checked_node(node)
    else:
        assert checked_node(node) == expected


def test_entries_of_a_case_are_parts_of_documents() -> None:
    for part in (CaseEntry, JobEntry, StudyEntry):
        assert issubclass(part, stored_struct.StoredStruct)

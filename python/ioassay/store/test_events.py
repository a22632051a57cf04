from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.store.events import EventTail, read_events

REMOVED = {"event": "files-removed", "step": 1, "files": 2, "duration_ns": 3}
LINE = json.dumps(REMOVED).encode() + b"\n"


def test_a_missing_file_has_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "events.jsonl") == []


@pytest.mark.parametrize("cut_bytes", range(1, len(LINE)))
def test_a_line_cut_off_anywhere_at_the_end_is_left_out(tmp_path: Path, cut_bytes: int) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes((LINE + LINE)[:-cut_bytes])
    assert read_events(file) == [REMOVED]


def test_garbage_in_the_middle_is_an_error_that_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(LINE + b"\0\0\0\n" + LINE)
    with pytest.raises(UsageError, match=r"events\.jsonl, line 2: not an event"):
        read_events(file)


def test_json_that_is_no_object_is_no_event(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("[]\n")
    with pytest.raises(UsageError, match="line 1"):
        read_events(file)


def test_a_newer_protocol_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"event":"started","version":3}\n')
    with pytest.raises(UsageError, match="version 3 of the protocol"):
        read_events(file)


def test_a_tail_hands_out_each_line_once_and_only_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    tail = EventTail(file)
    assert tail.new() == []
    file.write_bytes(LINE + LINE[:5])
    assert tail.new() == [REMOVED]
    assert tail.new() == []
    with file.open("ab") as more:
        more.write(LINE[5:])
    assert tail.new() == [REMOVED]

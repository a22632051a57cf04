from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.results.events import EventTail, read_events


def test_a_missing_file_has_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "events.jsonl") == []


@pytest.mark.parametrize("cut_bytes", range(1, 18))
def test_a_line_cut_off_anywhere_at_the_end_is_left_out(tmp_path: Path, cut_bytes: int) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes('{"event":"one"}\n{"event":"two é"}\n'.encode()[:-cut_bytes])
    assert read_events(file) == [{"event": "one"}]


def test_garbage_in_the_middle_is_an_error_that_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b'{"event":"one"}\n\0\0\0\n{"event":"three"}\n')
    with pytest.raises(UsageError, match=r"events\.jsonl, line 2: not an event"):
        read_events(file)


def test_json_that_is_no_object_is_no_event(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("[]\n")
    with pytest.raises(UsageError, match="line 1"):
        read_events(file)


def test_a_newer_contract_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"event":"started","version":3}\n')
    with pytest.raises(UsageError, match="version 3 of the contract"):
        read_events(file)


def test_a_tail_hands_out_each_line_once_and_only_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    tail = EventTail(file)
    assert tail.new() == []
    file.write_bytes(b'{"event":"one"}\n{"eve')
    assert tail.new() == [{"event": "one"}]
    assert tail.new() == []
    with file.open("ab") as more:
        more.write(b'nt":"two"}\n')
    assert tail.new() == [{"event": "two"}]

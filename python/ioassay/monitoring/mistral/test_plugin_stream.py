import json
import re
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.monitoring.mistral.alerts import Alert, entry_of
from ioassay.monitoring.mistral.log import VERSIONS, LogEntry, Version
from ioassay.monitoring.mistral.mapping import CALL_TYPE, MEASUREMENT
from ioassay.monitoring.mistral.plugin_stream import OFFER, read_answer, read_stream, write_stream
from ioassay.monitoring.mistral.terms import Unreadable
from ioassay.testing import mistral
from ioassay.yaml_models.source import SourceError

VECTORS = json.loads((Path(__file__).parent / "testdata" / "plugin_stream.json").read_text(encoding="utf-8"))
STREAMS = VECTORS["streams"]


def test_the_agent_has_the_same_words() -> None:
    assert VECTORS["call_types"] == CALL_TYPE
    assert VECTORS["measurements"] == MEASUREMENT


@pytest.mark.parametrize("stream", STREAMS, ids=[stream["about"] for stream in STREAMS])
def test_alerts_become_the_stream_that_plug_ins_get(stream: dict[str, Any]) -> None:
    zone = timezone(timedelta(seconds=stream["options"]["utc_offset_s"]))
    blocks: list[list[LogEntry]] = []
    for alerts in stream["blocks"]:
        earlier = sum(len(block) for block in blocks)
        blocks.append(
            [entry_of(Alert(**alert), sequence, zone) for sequence, alert in enumerate(alerts, start=earlier + 1)]
        )
    version = stream["options"]["version"]
    assert write_stream(blocks, version) == stream["text"]
    read_back = read_stream(stream["text"], "s")
    assert (read_back.blocks, read_back.is_shut_down) == (blocks if version == 6 else without_file_system(blocks), True)


def without_file_system(blocks: list[list[LogEntry]]) -> list[list[LogEntry]]:
    """What is left of entries in version 5."""
    return [
        [replace(entry, file_system_type="", file_system_name="", file_system_host="") for entry in block]
        for block in blocks
    ]


@given(st.lists(st.lists(mistral.entries, max_size=2), max_size=3))
def test_a_written_stream_is_read_back_unchanged(blocks: list[list[LogEntry]]) -> None:
    read_back = read_stream(write_stream(blocks, 6), "s")
    assert (read_back.least_version, read_back.most_version, read_back.blocks, read_back.is_shut_down) == (
        5,
        6,
        blocks,
        True,
    )


def test_a_stream_may_break_off() -> None:
    stream = read_stream(f"{OFFER}:PGNDATASRT:1:\n", "s")
    assert (stream.blocks, stream.is_shut_down) == ([[]], False)


@pytest.mark.parametrize(("line", "version"), [(":PGNVERSION:5:", 5), (":PGNVERSION:6:", 6), (":PGNSHUTDWN:", None)])
def test_a_plug_in_answers_with_its_version_or_leaves(line: str, version: Version | None) -> None:
    assert read_answer(line) == version


@pytest.mark.parametrize(
    "line", ["", ":PGNVERSION:4:", ":PGNVERSION:7:", ":PGNVERSION:6", "PGNVERSION:6:", ":PGNSHUTDWN"]
)
def test_anything_else_is_no_answer(line: str) -> None:
    assert VERSIONS == (5, 6)
    with pytest.raises(Unreadable, match="is not an answer of a plug-in"):
        read_answer(line)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", r"s:1: the stream is empty; begin with :PGNSUPVRSN:5:6:"),
        (":PGNSHUTDWN:", r's:1: ":PGNSHUTDWN:" does not offer versions; .*'),
        (OFFER + "x", r's:2: "x" stands outside of a block; begin a block with :PGNDATASRT:'),
        (OFFER + ":PGNDATASRT:2:", r's:2: ":PGNDATASRT:2:" is out of order; expected :PGNDATASRT:1:'),
        (OFFER + ":PGNDATAEND:1:", r's:2: ":PGNDATAEND:1:" is out of order; expected :PGNDATASRT:1:'),
        (OFFER + OFFER, r's:2: ":PGNSUPVRSN:5:6:" is out of order; expected :PGNDATASRT:1:'),
        (OFFER + ":PGNDATASRT:1:\n:PGNDATAEND:2:", r's:3: ":PGNDATAEND:2:" is out of order; expected :PGNDATAEND:1:'),
        (OFFER + ":PGNDATASRT:1:\n:PGNDATASRT:2:", r's:3: ":PGNDATASRT:2:" is out of order; expected :PGNDATAEND:1:'),
        (OFFER + ":PGNDATASRT:1:\n:PGNDATA", r"s:3: 1 fields where a log line has 17 or 20; .*"),
    ],
)
def test_an_invalid_message_is_refused_with_its_line(text: str, problem: str) -> None:
    assert re.fullmatch(problem, refusal(text))


def test_an_unreadable_line_does_not_affect_others() -> None:
    line = STREAMS[0]["text"].split("\n")[2]
    stream = read_stream(f"{OFFER}:PGNDATASRT:1:\n{line}\nx\n{line}\n:PGNDATAEND:1:\n:PGNSHUTDWN:\n", "s")
    assert ([len(block) for block in stream.blocks], stream.is_shut_down) == ([2], True)
    assert [str(problem).split(";")[0] for problem in stream.unreadable] == [
        "s:4: 1 fields where a log line has 17 or 20"
    ]


PIECES = [OFFER.strip(), ":PGNDATASRT:1:", ":PGNDATAEND:1:", ":PGNSHUTDWN:", STREAMS[0]["text"].split("\n")[2], "x", ""]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map(lambda lines: OFFER + "\n".join(lines)))
def test_any_text_is_a_stream_or_refused_with_a_line(text: str) -> None:
    assert re.match(r"s:\d+: .|$", refusal(text))


def refusal(text: str) -> str:
    """Why it is no stream; empty: it is one."""
    try:
        read_stream(text, "s")
    except SourceError as error:
        return error.message
    return ""

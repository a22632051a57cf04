"""Control characters are replaced in output, and nothing else is changed."""

from __future__ import annotations

import io
from typing import TextIO, cast

from ioassay.text.control_characters import PlainStream, encoded, escaped, styled, without_controls


def test_escapes_and_overrides_are_replaced_one_for_one() -> None:
    assert without_controls("\x1b[2J\x9b \u202eexe.txt\r") == "\ufffd[2J\ufffd \ufffdexe.txt\ufffd"


def test_a_name_is_on_one_line_with_its_control_characters_escaped() -> None:
    assert escaped("we\nird\t\x1b[2J\x9b\u202eexe.größe") == r"we\nird\t\x1b[2J\x9b\u202eexe.größe"


def test_lines_tabs_and_every_script_stay() -> None:
    text = "größe\t5 µs\n日本語 שלום \N{ZERO WIDTH JOINER}\n"
    assert without_controls(text) == text
    assert encoded(text) == text.encode()


def test_a_plain_stream_prints_only_escapes_of_styled_text() -> None:
    output = io.StringIO()
    stream = cast(TextIO, PlainStream(output))
    print("\x1b]0;owned\x07", file=stream)
    stream.writelines(["\x1b", "x\n"])
    styled(stream).write("\x1b[1mbold")
    assert output.getvalue() == "\ufffd]0;owned\ufffd\n\ufffdx\n\x1b[1mbold"
    assert styled(output) is output

"""Control characters are replaced where text leaves, and nothing else is changed."""

from __future__ import annotations

import io
from typing import TextIO, cast

from ioassay.text.control_characters import PlainStream, encoded, escaped, styled, without_controls


def test_escapes_and_overrides_are_replaced_one_for_one() -> None:
    assert without_controls("\x1b[2J\x9b \u202eexe.txt\r") == "\ufffd[2J\ufffd \ufffdexe.txt\ufffd"


def test_a_name_is_on_one_line_and_says_which_control_characters_it_has() -> None:
    assert escaped("we\nird\t\x1b[2J\x9b\u202eexe.größe") == r"we\nird\t\x1b[2J\x9b\u202eexe.größe"


def test_lines_tabs_and_every_script_stay() -> None:
    text = "größe\t5 µs\n日本語 שלום \N{ZERO WIDTH JOINER}\n"
    assert without_controls(text) == text
    assert encoded(text) == text.encode()


def test_a_plain_stream_prints_no_escapes_but_those_of_who_styles() -> None:
    kept = io.StringIO()
    stream = cast(TextIO, PlainStream(kept))
    print("\x1b]0;owned\x07", file=stream)
    stream.writelines(["\x1b", "x\n"])
    styled(stream).write("\x1b[1mbold")
    assert kept.getvalue() == "\ufffd]0;owned\ufffd\n\ufffdx\n\x1b[1mbold"
    assert styled(kept) is kept

"""The lint finds what is no plain English, where that is checked, and says what to write instead."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ioassay.testing import plain_english
from ioassay.testing.plain_english import ALLOWED, CLEAN_COMMENTS, CLEAN_NAMES, ROOT, faults, main

DIALECT = "The rate is told of whoever reads.\n"


def _phrases(file: str, text: str, *rooms: str) -> list[str]:
    return [fault.text for fault in faults(file, text, rooms)]


def test_a_fault_names_file_line_phrase_and_what_to_write() -> None:
    (fault,) = faults("docs/guides/new.md", "# Title\n\nThere is next\nto nothing.\n")
    assert str(fault) == "docs/guides/new.md:3: “next to nothing”: write almost none; stalled"


def test_documents_are_checked_in_any_case_but_not_what_they_quote() -> None:
    assert _phrases("docs/guides/new.md", DIALECT) == ["whoever", "told"]
    assert _phrases("README.md", "Somebody reads `somebody`, somebody-else and anybodys.\n") == ["somebody"]
    assert _phrases("bench/peers/README.md", DIALECT) == []


@pytest.mark.parametrize(
    ("file", "text", "phrases"),
    [
        ("python/ioassay/room/new.py", 'x = "read by somebody"\n', ["somebody"]),
        ("python/ioassay/room/new.py", 'x = "nobody "\n    "knows"\n', ["nobody knows"]),
        ("python/ioassay/room/new.py", 'x = f"{told.rate} of {len(told)} {told}"\n', []),
        ("python/ioassay/room/new.py", '"""Somebody."""\n# Somebody.\nsomebody = 1\n', []),
        ("python/ioassay/room/test_new.py", 'x = "read by somebody"\n', []),
        ("crates/engine/src/new.rs", 'say!("read by \\\n    somebody");\n', ["somebody"]),
        ("plugins/room/new.rs", "let c = '\"'; // somebody \"\n", []),
        ("crates/engine/src/new.rs", '#[cfg(test)]\nmod tests {\n    const X: &str = "somebody";\n}\n', []),
        ("plugins/room/new.c", '/* "somebody" */ puts("somebody");\n', ["somebody"]),
    ],
)
def test_messages_of_programs_are_checked_and_their_comments_code_and_tests_are_not(
    file: str, text: str, phrases: list[str]
) -> None:
    assert _phrases(file, text) == phrases


def test_comments_and_names_are_checked_in_rooms_that_are_clean() -> None:
    python = "for one in found:  # whoever\n    one.found(at)\n"
    assert _phrases("python/ioassay/room/new.py", python) == []
    assert sorted(_phrases("python/ioassay/room/new.py", python, "python/ioassay/room")) == [
        "at",
        "found",
        "one",
        "one",
        "whoever",
    ]
    rust = "/// Of who\n/// reads.\nstruct Found;\nlet stone = found_at;\n"
    assert _phrases("plugins/room/new.rs", rust, "plugins/room") == ["of who", "Found"]
    assert _phrases("plugins/rooms/new.rs", rust, "plugins/room") == []


def test_a_phrase_is_left_alone_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_english, "ALLOWED", {"told": ["docs/guides"]})
    assert _phrases("docs/guides/new.md", DIALECT) == ["whoever"]
    assert _phrases("docs/concepts/new.md", DIALECT) == ["whoever", "told"]


def test_the_lists_name_places_that_exist() -> None:
    places = {*CLEAN_COMMENTS, *CLEAN_NAMES, *(place for places in ALLOWED.values() for place in places)}
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_a_room_that_is_named_is_checked_as_if_it_were_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plain_english, "ROOT", tmp_path)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "room").mkdir()
    (tmp_path / "room/new.py").write_text("one = 1\n")
    assert main([]) == 0
    assert main(["room"]) == 1
    assert capsys.readouterr().out == "room/new.py:1: “one”: write the noun that it is: row, phase, finding\n"

"""The lint finds what is no plain English, and says what to write instead."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ioassay.testing import plain_english
from ioassay.testing.plain_english import ALLOWED, ROOT, faults, main

DIALECT = "The rate is told of whoever reads.\n"


def _phrases(file: str, text: str) -> list[str]:
    return [fault.text for fault in faults(file, text)]


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
        ("python/ioassay/room/new.py", '"""Somebody."""\n# Anybody.\nsomebody = 1\n', ["anybody", "somebody"]),
        ("python/ioassay/room/test_new.py", 'x = "read by somebody"  # anybody\n', ["anybody"]),
        ("crates/engine/src/new.rs", 'say!("read by \\\n    somebody");\n', ["somebody"]),
        ("plugins/room/new.rs", "let c = '\"'; // somebody \"\n", ["somebody"]),
        ("crates/engine/src/new.rs", '#[cfg(test)]\nmod tests {\n    const X: &str = "somebody";\n}\n', []),
        ("plugins/room/new.c", '/* "anybody" */ puts("somebody");\n', ["anybody", "somebody"]),
    ],
)
def test_messages_and_comments_are_checked_but_not_messages_of_tests(file: str, text: str, phrases: list[str]) -> None:
    assert _phrases(file, text) == phrases


def test_names_are_checked_where_they_stand_alone() -> None:
    python = "for one in found:  # whoever\n    one.found(at)\n"
    assert sorted(_phrases("python/ioassay/room/new.py", python)) == ["at", "found", "one", "one", "whoever"]
    rust = "/// Of who\n/// reads.\nstruct Found;\nlet stone = found_at;\n"
    assert _phrases("plugins/room/new.rs", rust) == ["of who", "Found"]


def test_a_phrase_is_left_alone_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_english, "ALLOWED", {"told": ["docs/guides"]})
    assert _phrases("docs/guides/new.md", DIALECT) == ["whoever"]
    assert _phrases("docs/concepts/new.md", DIALECT) == ["whoever", "told"]


def test_phrases_are_allowed_in_places_that_exist() -> None:
    places = {place for places in ALLOWED.values() for place in places}
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_the_whole_checkout_or_the_named_places_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plain_english, "ROOT", tmp_path)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    for room, name in (("room", "one"), ("sound", "phase")):
        (tmp_path / room).mkdir()
        (tmp_path / room / "new.py").write_text(f"{name} = 1\n")
    assert main(["sound"]) == 0
    assert capsys.readouterr().out == ""
    for places in ([], ["room"]):
        assert main(places) == 1
        assert capsys.readouterr().out == "room/new.py:1: “one”: write the noun that it is: row, phase, finding\n"

"""Damage stays within the copy that is damaged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ioassay.testing import damage


def test_a_damaged_copy_never_writes_to_what_its_links_lead_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, victim = tmp_path / "source", tmp_path / "victim"
    source.mkdir()
    for name in ("record.json", "node.tables"):
        (source / name).write_text('{"kind": "record"}')
    victim.write_text("years of work")
    (source / "link").symlink_to(victim)
    monkeypatch.setattr(damage, "FOREIGN_FILES", (str(victim),))
    links = 0
    for number in range(1000):
        copy = tmp_path / "copies" / str(number)
        damage.damaged_copy(source, copy, random.Random(number))
        links += any(path.is_symlink() and path.name != "link" for path in copy.iterdir())
        assert victim.read_text() == "years of work", number
    assert links > 20

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from changelog import FILE, cut, faults, sections

CHANGES = """\
# Changelog

## Unreleased

### Added

- `ioassay quick`: one directory,
  one answer.

### Fixed

- A fault.

## 0.2.0 - 2026-12-01

### Changed

#### Reports

- Another.
"""


def test_the_changelog_of_this_checkout_is_in_order() -> None:
    assert faults((Path(__file__).parents[1] / FILE).read_text()) == []


def test_sections_have_their_groups_and_entries() -> None:
    unreleased, released = sections(CHANGES)
    assert (unreleased.version, unreleased.groups) == (None, ["Added", "Fixed"])
    assert unreleased.entries == ["`ioassay quick`: one directory, one answer.", "A fault."]
    assert (released.version, released.groups, released.entries) == ("0.2.0", ["Changed"], ["Another."])
    assert faults(CHANGES) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("## Unreleased\n", "", "the first section is not “## Unreleased”"),
        ("0.2.0 - 2026-12-01", "0.2.0 (December)", "“## 0.2.0 (December)” is not “## VERSION - DATE”"),
        ("0.2.0 - 2026-12-01", "0.2.0 - 2026-13-01", "2026-13-01 is no date"),
        ("### Added", "### Fixed", "Unreleased: Fixed, Fixed instead of"),
        ("### Fixed", "### Repaired", "Unreleased: Added, Repaired instead of"),
        ("- Another.", "- A fault.", "stands 2 times: A fault."),
        ("- Another.", "", "0.2.0 - 2026-12-01 has no entries"),
        ("## 0.2.0", "## 0.1.0 - 2026-11-01\n\n- First.\n\n## 0.2.0", "versions do not descend"),
        ("## 0.2.0", "## 0.3.0 - 2026-11-01\n\n- Third.\n\n## 0.2.0", "dates do not descend"),
    ],
)
def test_what_is_out_of_order_is_named(old: str, new: str, fault: str) -> None:
    assert old in CHANGES
    assert any(line.startswith(fault) for line in faults(CHANGES.replace(old, new, 1)))


def test_a_release_takes_what_was_unreleased_and_leaves_an_empty_section() -> None:
    released = cut(CHANGES, "0.3.0", date(2026, 12, 24))
    assert [(section.title, len(section.entries)) for section in sections(released)] == [
        ("Unreleased", 0),
        ("0.3.0 - 2026-12-24", 2),
        ("0.2.0 - 2026-12-01", 1),
    ]
    assert faults(released) == []
    for version in ("0.2.0", "0.4.0"):  # there already; nothing to release
        with pytest.raises(ValueError, match=r"already|no entries"):
            cut(released, version, date(2026, 12, 25))

"""CHANGELOG.md in the form of Keep a Changelog: sections, whether they are in order, and the cut for a release.

    python release/changelog.py     make the unreleased section that of the version, dated today

Not: which version that is (`stated_version`).
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from stated_version import stated

FILE = "CHANGELOG.md"
UNRELEASED = "Unreleased"
GROUPS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_RELEASE = re.compile(r"(\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True)
class Section:
    """What the file says of one version."""

    title: str
    """`Unreleased`, or `VERSION - DATE`."""
    groups: list[str]
    """The headings of the third level, in the order of the file."""
    entries: list[str]
    """Each as one line."""

    @property
    def version(self) -> str | None:
        """`None` of what is not released, and of a title in another form."""
        released = _RELEASE.fullmatch(self.title)
        return released.group(1) if released else None


def sections(text: str) -> list[Section]:
    """All sections, in the order of the file."""
    all_sections = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        groups = re.findall(r"^### (.+)$", body, flags=re.MULTILINE)
        entries = re.findall(r"^- (.+(?:\n(?:  .*)?)*)", body, flags=re.MULTILINE)
        all_sections.append(Section(title, groups, [" ".join(entry.split()) for entry in entries]))
    return all_sections


def faults(text: str) -> list[str]:
    """What is out of order, one line each."""
    problems = []
    all_sections = sections(text)
    if not all_sections or all_sections[0].title != UNRELEASED:
        problems.append(f"the first section is not “## {UNRELEASED}”")
    released = all_sections[1:]
    problems += [f"“## {section.title}” is not “## VERSION - DATE”" for section in released if section.version is None]
    order = [_numbers(section.version) for section in released if section.version]
    if order != sorted(order, reverse=True) or len(set(order)) != len(order):
        problems.append("versions do not descend")
    dates = [section.title.rpartition(" - ")[2] for section in released if section.version]
    problems += [f"{day} is no date" for day in dates if not _is_date(day)]
    if dates != sorted(dates, reverse=True):
        problems.append("dates do not descend")
    for section in all_sections:
        if [*section.groups] != [group for group in GROUPS if group in section.groups]:
            problems.append(
                f"{section.title}: {', '.join(section.groups)} instead of, in this order, {', '.join(GROUPS)}"
            )
        if not section.entries and section.title != UNRELEASED:
            problems.append(f"{section.title} has no entries")
    entries = Counter(entry for section in all_sections for entry in section.entries)
    problems += [f"stands {count} times: {entry[:80]}" for entry, count in entries.items() if count > 1]
    return problems


def cut(text: str, version: str, day: date) -> str:
    """The text with what was unreleased as the section of `version`, under a new one that is empty.

    Raises `ValueError` where the version has a section already, or where there is nothing to release.
    """
    all_sections = sections(text)
    if any(section.version == version for section in all_sections):
        raise ValueError(f"{FILE} has a section {version} already: raise the version")
    if not all_sections or all_sections[0].title != UNRELEASED or not all_sections[0].entries:
        raise ValueError(f"{FILE} has no entries under “## {UNRELEASED}”")
    return text.replace(f"## {UNRELEASED}\n", f"## {UNRELEASED}\n\n## {version} - {day.isoformat()}\n", 1)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def main(checkout: Path) -> int:
    """Cuts the section of the stated version, and says so."""
    file, version = checkout / FILE, stated(checkout)
    try:
        file.write_text(cut(file.read_text(), version, datetime.now(UTC).date()))
    except ValueError as error:
        print(f"{error}.", file=sys.stderr)
        return 2
    print(f"{FILE}: what was unreleased is the section {version}. Read it as its users will, and commit.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(__file__).parents[1]))

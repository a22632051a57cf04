"""Every link of the documentation leads to a file that is there, and to a heading in it; the index has every page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*/*.md")])

CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the heading, or none, of each link that does not lead to the web."""
    for file, heading in re.findall(r"\]\((?!\w+:)([^)\s#]*)#?([^)\s]*)\)", CODE.sub("", page.read_text("utf-8"))):
        yield ((page.parent / file).resolve() if file else page), heading


def headings(page: Path) -> set[str]:
    """The names that GitHub and GitLab give to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for file, heading in links(page):
        assert file.exists(), file
        assert not heading or file.suffix != ".md" or heading in headings(file), f"{file.name}#{heading}"


def test_the_index_has_every_page() -> None:
    pages = set(INDEX.parent.rglob("*.md")) - {INDEX}
    assert pages - {file for file, _ in links(INDEX)} == set()

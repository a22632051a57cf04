"""Every link of the documentation leads to an existing file and heading; the index has every page.

How to change the documentation: docs/development/documentation.md.
"""

from __future__ import annotations

import re
import subprocess
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


CONTRIBUTING = sorted([ROOT / "CONTRIBUTING.md", *(ROOT / "docs/development").glob("*.md")])
PLACEHOLDER = re.compile(r"[A-Z]{4,}|…")
"""`test_MODULE.py`, `docs/guides/…`."""
BUILT = ("target/", ".venv/")
CODE_FOLDERS = ("python", "crates", "release", "tests")


def named_files(page: Path) -> Iterator[str]:
    """The files and folders that a page has in code spans."""
    for text in re.findall(r"`([^`\s]+)`", CODE.sub("", page.read_text("utf-8"))):
        is_path = re.fullmatch(r"[\w.-]+(/[\w.-]+)+|[\w-]+\.(py|rs|md|toml|json|yaml|css|js)", text.rstrip("/"))
        if is_path and not PLACEHOLDER.search(text) and not text.startswith(BUILT):
            yield text.rstrip("/")


@pytest.fixture(scope="module")
def tracked() -> str:
    """The files of the checkout, a line each."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return "\n".join(f"/{line}" for line in listed.stdout.splitlines()) + "\n"


@pytest.mark.parametrize("page", CONTRIBUTING, ids=lambda page: page.name)
def test_every_file_that_a_page_for_contributors_names_exists(page: Path, tracked: str) -> None:
    missing = [name for name in named_files(page) if not re.search(rf"/{re.escape(name)}[/\n]", tracked)]
    assert missing == []


def test_every_name_of_code_that_a_page_for_contributors_has_occurs_in_the_code() -> None:
    spans = {text for page in CONTRIBUTING for text in re.findall(r"`([A-Za-z_]\w*)`", page.read_text("utf-8"))}
    names = sorted(name for name in spans if re.search(r"[A-Z_]", name))
    patterns = [word for name in names for word in ("-e", name)]
    listed = ["git", "grep", "-ohwF", *patterns, "--", *CODE_FOLDERS, "plugins", "Makefile"]
    words = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert sorted(set(names) - set(words)) == []


@pytest.mark.parametrize("page", CONTRIBUTING[1:], ids=lambda page: page.name)
def test_a_page_for_contributors_is_named_by_the_code_that_it_is_about(page: Path) -> None:
    named = ["git", "grep", "--quiet", "--fixed-strings", str(page.relative_to(ROOT)), "--", *CODE_FOLDERS]
    assert subprocess.run(named, cwd=ROOT, check=False).returncode == 0

"""The patterns with which the documentation names the wheel of a release match its name."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from stated_version import stated
from wheels import GLIBC

CHECKOUT = Path(__file__).parents[1]
WHEEL = f"ioassay-{stated(CHECKOUT)}-py3-none-manylinux_{GLIBC.replace('.', '_')}_x86_64.whl"


@pytest.mark.parametrize("page", ["README.md", "docs/guides/install.md", "docs/packaging.md"])
def test_the_wheel_is_what_the_pattern_of_a_page_finds(page: str) -> None:
    patterns = re.findall(r"ioassay-\*\S*\.whl", (CHECKOUT / page).read_text(encoding="utf-8"))
    assert patterns
    assert [pattern for pattern in patterns if not fnmatchcase(WHEEL, pattern)] == []

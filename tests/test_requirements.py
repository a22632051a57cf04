"""What ioassay depends on: bounded in pyproject.toml, and exact in the locks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_dependency_has_an_upper_bound() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    optional = [each for name, own in extras.items() if name != "dev" for each in own]
    wanted = [*PROJECT["project"]["dependencies"], *optional, *PROJECT["build-system"]["requires"]]
    assert [each for each in wanted if not any("<" in one.operator for one in Requirement(each).specifier)] == []


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", PROJECT["project"]["dependencies"]),
        ("requirements-dev.lock", PROJECT["project"]["optional-dependencies"]["dev"]),
    ],
)
def test_a_lock_has_a_version_that_fits_and_hashes_for_every_dependency(lock: str, wanted: list[str]) -> None:
    entries = re.split(r"\n(?=[a-z])", (ROOT / lock).read_text().replace("\\\n", ""))
    locked: dict[str, list[Version]] = {}
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
        exact = Requirement(entry.partition("--hash")[0])
        (pinned,) = exact.specifier
        assert pinned.operator == "=="
        locked.setdefault(exact.name, []).append(Version(pinned.version))
    for each in map(Requirement, wanted):
        assert locked.get(each.name.lower()), f"{each.name} is not in {lock}: make lock"
        assert all(each.specifier.contains(version) for version in locked[each.name.lower()]), f"{each}: make lock"

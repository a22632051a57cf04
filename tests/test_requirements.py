"""The dependencies of ioassay have bounds in pyproject.toml and exact versions in the locks."""

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
    optional = [requirement for name, requirements in extras.items() if name != "dev" for requirement in requirements]
    dependencies = [*PROJECT["project"]["dependencies"], *optional, *PROJECT["build-system"]["requires"]]
    assert [
        dependency
        for dependency in dependencies
        if not any("<" in specifier.operator for specifier in Requirement(dependency).specifier)
    ] == []


@pytest.mark.parametrize(
    ("lock", "dependencies"),
    [
        ("requirements.lock", PROJECT["project"]["dependencies"]),
        ("requirements-dev.lock", PROJECT["project"]["optional-dependencies"]["dev"]),
    ],
)
def test_a_lock_has_a_matching_version_and_hashes_for_every_dependency(lock: str, dependencies: list[str]) -> None:
    entries = re.split(r"\n(?=[a-z])", (ROOT / lock).read_text().replace("\\\n", ""))
    locked: dict[str, list[Version]] = {}
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
        exact = Requirement(entry.partition("--hash")[0])
        (pinned,) = exact.specifier
        assert pinned.operator == "=="
        locked.setdefault(exact.name, []).append(Version(pinned.version))
    for dependency in map(Requirement, dependencies):
        assert locked.get(dependency.name.lower()), f"{dependency.name} is not in {lock}: make lock"
        assert all(dependency.specifier.contains(version) for version in locked[dependency.name.lower()]), (
            f"{dependency}: make lock"
        )

"""The version is stated in `python/ioassay/version.py`, which the wheel reads; Cargo reads only its own file.

Not: what changed in a version (`changelog`).
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

SOURCE = Path("python/ioassay/version.py")
"""The one to change. `Cargo.toml` follows, and `Cargo.lock` with the next build."""


def stated(checkout: Path) -> str:
    """The version of this checkout. Raises `ValueError` where its file has none."""
    for statement in ast.parse((checkout / SOURCE).read_text()).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__version__")], value=ast.Constant(value=str(version))):
                return version
    raise ValueError(f"{SOURCE} assigns no __version__")


def contradictions(checkout: Path) -> list[str]:
    """What states another version, with what to do about it; empty where all agree."""
    version = stated(checkout)
    differences = []
    workspace = tomllib.loads((checkout / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if workspace != version:
        differences.append(
            f'Cargo.toml has version {workspace}, {SOURCE} {version}: set version = "{version}" in Cargo.toml'
        )
    locked = tomllib.loads((checkout / "Cargo.lock").read_text())["package"]
    late = [crate for crate in locked if "source" not in crate and crate["version"] != workspace]
    if late:
        names = ", ".join(f"{crate['name']} {crate['version']}" for crate in late)
        differences.append(f"Cargo.lock has {names}, Cargo.toml {workspace}: run cargo update --workspace --offline")
    return differences

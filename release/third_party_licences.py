"""The licences of the crates that are compiled into the programs, with the text that each came with.

Not: which licences are allowed (`deny.toml`), licences of Python packages, which are installed with their own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHIPPED = "ioassay-cli"
"""The package of the programs; the recorder that the engine carries has its dependencies too."""

_TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "UNLICENSE*")


def shipped_crates(checkout: Path) -> list[dict[str, Any]]:
    """The crates of others that the programs are made of, as `cargo metadata` describes them, by name and version.

    Those of tests and of build scripts are not among them. Raises `CalledProcessError` where cargo fails.
    """
    command = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]
    shown = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout
    metadata = json.loads(shown)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    (first,) = (package["id"] for package in metadata["packages"] if package["name"] == SHIPPED)
    reached, waiting = {first}, [first]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    crates = [packages[package_id] for package_id in reached if packages[package_id]["source"] is not None]
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def licences(checkout: Path) -> str:
    """All of them as one text: each crate with its licence, and each text once."""
    crates = shipped_crates(checkout)
    lines = ["The programs of ioassay contain these Rust crates:", ""]
    lines += [f"  {crate['name']} {crate['version']}: {crate['license'] or 'see its text below'}" for crate in crates]
    users: dict[str, list[str]] = {}
    for crate in crates:
        for text in _texts(Path(crate["manifest_path"]).parent):
            users.setdefault(text, []).append(f"{crate['name']} {crate['version']}")
    for text, names in users.items():
        lines += ["", "-" * 80, f"Of {', '.join(names)}:", "", text]
    return "\n".join(lines) + "\n"


def _texts(crate: Path) -> Iterator[str]:
    for pattern in _TEXTS:
        for file in sorted(crate.glob(pattern)):
            if file.is_file():
                yield file.read_text(errors="replace").strip()

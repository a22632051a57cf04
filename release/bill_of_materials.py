"""What a release is made of, as CycloneDX: ioassay, the crates in its programs, the Python packages that it installs.

Not: the texts of their licences (`third_party_licences`).
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from stated_version import stated
from third_party_licences import shipped_crates

LOCK = "requirements.lock"

Component = dict[str, Any]

_LOCKED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?P<more>(?:.*\\\n)*.*)$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

_VALIDATION = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))
"""
"""For the Python that has CycloneDX's library: it ends with what is wrong, or with 0."""


def bill(checkout: Path) -> dict[str, Any]:
    """The document. Raises `CalledProcessError` where cargo fails."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    version = stated(checkout)
    ours = _component("pypi", "ioassay", version, project["license"]) | {"type": "application"}
    crates = [_of_crate(crate) for crate in shipped_crates(checkout)]
    components = [*crates, *of_lock((checkout / LOCK).read_text())]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ours},
        "components": components,
        "dependencies": [{"ref": ours["bom-ref"], "dependsOn": [component["bom-ref"] for component in components]}],
    }


def of_lock(text: str) -> list[Component]:
    """The packages of `requirements.lock`, with the SHA-256 of every file that pip may take for each."""
    return [
        _component("pypi", package["name"], package["version"])
        | {"hashes": [{"alg": "SHA-256", "content": digest} for digest in _HASH.findall(package["more"])]}
        for package in _LOCKED.finditer(text)
    ]


def _of_crate(crate: dict[str, Any]) -> Component:
    # "/" is how crates said "or" before SPDX.
    return _component("cargo", crate["name"], crate["version"], (crate["license"] or "").replace("/", " OR "))


def _component(kind: str, name: str, version: str, licence: str = "") -> Component:
    purl = f"pkg:{kind}/{name}@{version}"
    component: Component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return component | ({"licenses": [{"expression": licence}]} if licence else {})


def write(checkout: Path, file: Path, tools: Path) -> int:
    """Writes it, and returns of how many components it is.

    `tools` is a Python with CycloneDX's library. Raises `CalledProcessError` where cargo fails, and where the document
    breaks the schema of CycloneDX, which is then on standard error.
    """
    document = bill(checkout)
    file.write_text(json.dumps(document, indent=1) + "\n")
    subprocess.run([tools, "-c", _VALIDATION, file], check=True)
    return len(document["components"])

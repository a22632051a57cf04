"""Spack's recipe of a release: `packaging/spack/package.py` with the version and the checksum of the wheelhouse.

    cd dist; spack repo add spack/spack_repo/ioassay; spack install ioassay

Not: the wheelhouse (`wheelhouse`).
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from staging import CHECKOUT, PYTHON
from stated_version import stated

RECIPE = "packaging/spack/package.py"
_REPOSITORY = "repo:\n  namespace: ioassay\n  api: v2.0\n"

_NAME = re.compile(r"-wheelhouse-python.*-(?P<processor>x86_64|aarch64)\.tar")


def write(house: Path, directory: Path, glibc: str) -> Path:
    """A repository for Spack in `directory`, which knows this wheelhouse."""
    match = _NAME.search(house.name)
    if not match:
        raise ValueError(f"{house} is no wheelhouse")
    values = {
        "WHEELHOUSE": house.name,
        "VERSION": stated(CHECKOUT),
        "SHA256": hashlib.sha256(house.read_bytes()).hexdigest(),
        "PYTHON": PYTHON.removeprefix("python"),
        "PROCESSOR": match["processor"],
        "GLIBC": glibc,
    }
    text = (CHECKOUT / RECIPE).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    repository = directory / "spack/spack_repo/ioassay"
    recipe = repository / "packages/ioassay/package.py"
    recipe.parent.mkdir(parents=True, exist_ok=True)
    recipe.write_text(text)
    (repository / "repo.yaml").write_text(_REPOSITORY)
    return recipe

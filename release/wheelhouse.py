"""Everything that pip needs to install ioassay without a network, as one archive: `wheelhouse.py WHEEL DIRECTORY`.

The dependencies are those of `requirements.lock`, checked by their hashes, for the processor and the Python that run
this: binary packages are for one minor version of it. Not: installing from it (docs/guides/install.md).
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from archives import without_builder
from staging import CHECKOUT, PYTHON, named
from stated_version import stated


def make(wheel: Path, directory: Path) -> Path:
    """The archive. Raises `CalledProcessError` where pip fails."""
    archive = directory / f"ioassay-{stated(CHECKOUT)}-wheelhouse-{PYTHON}-{named(wheel)['processor']}.tar"
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", scratch]
        locked = ["--require-hashes", "--requirement", str(CHECKOUT / "requirements.lock")]
        subprocess.run([*pip, "--only-binary", ":all:", *locked], check=True)
        with tarfile.open(archive, "w") as tar:  # wheels are compressed
            for file in [wheel, *sorted(Path(scratch).iterdir())]:
                tar.add(file, file.name, filter=without_builder)
    return archive


if __name__ == "__main__":
    print(make(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))

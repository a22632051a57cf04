"""Installs the packages of a release for real, measures with them, and removes them: `trial_installation.py DIRECTORY`.

The deb in a Debian of its own, which `mmdebstrap` makes and nothing else touches; the rpm into the same, by rpm itself,
without what of its dependencies only Red Hat has. Needs root. Not: making packages (`packages`).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from staging import LIBRARY, PYTHON

SUITE = "bookworm"
"""Debian 12, whose Python is the 3.11 that the packages are made with on it."""

_TRIAL = """\
set -eu
export LC_ALL=C.UTF-8 HOME=/root
cd /
ioassay --version
ioassay-engine --version
mkdir /scratch
ioassay run quick --target /scratch --out /trial --set ranks=1 --set repetitions=1 > /dev/null || [ $? -eq 1 ]
test -s /trial/report.html
test -z "$(ls -A /scratch)"
bash -n /usr/share/bash-completion/completions/ioassay
"""
"""Exit code 1 of the run: it measured, and its criteria were not met, as on a busy machine."""


def try_all(directory: Path) -> None:
    """Raises `CalledProcessError` where a step fails, `AssertionError` where something remains."""
    with tempfile.TemporaryDirectory() as scratch:
        system = Path(scratch, "system")
        included = f"--include={PYTHON},rpm"
        _run("mmdebstrap", "--quiet", "--variant=minbase", included, SUITE, str(system))
        for kind in ("deb", "rpm"):
            _try(kind, sorted(directory.glob(f"*.{kind}")), system)


def _try(kind: str, packages: list[Path], system: Path) -> None:
    copies = [_copied(package, system) for package in packages]
    before = _files(system)
    if kind == "deb":
        _inside(system, "dpkg", "--install", *copies)
    else:
        _inside(system, "rpm", "--install", "--nodeps", "--ignorearch", *copies)
    installed = _files(system) - before
    assert f"/{LIBRARY}/bin/ioassay" in installed, f"the {kind} installs no command"
    _inside(system, "sh", "-c", _TRIAL)
    _inside(system, "rm", "-r", "/scratch", "/trial")
    if kind == "deb":
        _inside(system, "dpkg", "--purge", "ioassay", "ioassay-engine")
    else:
        _inside(system, "rpm", "--erase", "--nodeps", "ioassay", "ioassay-engine")
    remaining = {file for file in _files(system) - before if "ioassay" in file}
    assert not remaining, f"after the removal of the {kind} there remain {', '.join(sorted(remaining)[:5])}"
    print(f"{kind}: {len(installed)} files installed, measured with, removed; nothing remains")


def _copied(package: Path, system: Path) -> str:
    (system / "packages").mkdir(exist_ok=True)
    (system / "packages" / package.name).write_bytes(package.read_bytes())
    return f"/packages/{package.name}"


def _files(system: Path) -> set[str]:
    ours = (system / name for name in ("usr", "etc", "var/lib", "opt", "lib"))
    return {f"/{path.relative_to(system)}" for top in ours for path in top.rglob("*")}


def _inside(system: Path, *command: str) -> None:
    mounted = f'mount -t proc none {system}/proc && mount --bind /dev {system}/dev && exec chroot {system} "$@"'
    _run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mounted, "sh", *command)


def _run(*command: str) -> None:
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    try_all(Path(sys.argv[1]).resolve())

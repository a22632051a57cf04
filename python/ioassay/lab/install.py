"""Reports what a lab lacks, and installs it on request: Debian packages with apt-get, the rest by building it.

Packages of servers would start them, on all addresses, now and at the next boot. Neither happens: what a lab needs, it
starts itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.lab.requirements import Built, Requirement, missing

_APT_GET = ["apt-get", "install", "--yes", "--no-install-recommends"]
_POLICY = Path("/usr/sbin/policy-rc.d")
"""The script that decides whether packages may start services."""
_NO = "#!/bin/sh\nexit 101\n"
_SYSTEMD = Path("/run/systemd/system")
"""Exists if systemd runs."""


def refuse_incomplete(what: str, requirements: Sequence[Requirement], command: str) -> None:
    """Raises `CannotRun` that lists what the machine lacks for `what`; `command` would install it."""
    lacking = missing(requirements)
    if not lacking:
        return
    lines = [f"{what} needs packages that are missing here:", *(f"  {requirement}" for requirement in lacking)]
    advice = f"Install it: {command}"
    if packages := _packages(lacking):
        advice = f"Install it: {' '.join([*_APT_GET, *packages])}\n  or let ioassay install all of it: {command}"
    raise CannotRun("\n".join(lines), advice)


def install(requirements: Sequence[Requirement]) -> None:
    """Installs the missing requirements. Raises `CannotRun`."""
    lacking = missing(requirements)
    if packages := _packages(lacking):
        _apt_get(packages)
    for requirement in lacking:
        if isinstance(requirement, Built):
            requirement.build()


def _packages(lacking: Sequence[Requirement]) -> list[str]:
    return sorted({requirement.package for requirement in lacking if not isinstance(requirement, Built)})


def _apt_get(packages: list[str]) -> None:
    if shutil.which("apt-get") is None:
        names = ", ".join(packages)
        raise CannotRun("apt-get is missing.", f"Install the equivalents of these Debian packages: {names}.")
    before = _installed()
    with _nothing_started():
        _run(["apt-get", "update"])  # if this fails, older package lists may suffice
        result = _run([*_APT_GET, *packages])
    if result.returncode != 0:
        last = " ".join(result.stderr.strip().splitlines()[-3:])
        raise CannotRun(f"apt-get could not install {', '.join(packages)}: {last}")
    if _SYSTEMD.exists():
        _disable(_units(_installed() - before))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@contextmanager
def _nothing_started() -> Iterator[None]:
    """Prevents packages from starting their services."""
    if _POLICY.exists():  # the administrator's policy stays
        yield
        return
    _POLICY.write_text(_NO)
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()


def _installed() -> set[str]:
    listed = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package}\\n"], capture_output=True, text=True, check=True
    )
    return set(listed.stdout.split())


def _units(packages: set[str]) -> list[str]:
    if not packages:
        return []
    files = subprocess.run(["dpkg", "--listfiles", *sorted(packages)], capture_output=True, text=True, check=True)
    paths = map(Path, files.stdout.split())
    return [path.name for path in paths if path.parent.name == "system" and path.suffix in (".service", ".socket")]


def _disable(units: list[str]) -> None:
    """Prevents these units from starting at the next boot."""
    if units:
        subprocess.run(["systemctl", "disable", "--quiet", *units], capture_output=True, check=False)

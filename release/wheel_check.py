"""Checks what a wheel promises: `wheel_check.py WHEEL …` prints what it has, and exits with 1 for a broken promise.

Promised are: every Python, a glibc no newer than the name says, no tests, no debug information, programs that start.

Not: building it (`wheels`), measuring with it (`.ci/run`).
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

from build_hook import PROGRAMS
from elf_needs import GlibcVersion, needs

MOST_BYTES = 24 << 20
"""A wheel that outgrows this has something that it should not have."""

LIBRARIES = {"libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1"}
"""Of what manylinux lets a wheel need: what every glibc and GCC brings. The loader (`ld-linux-*`) too."""

_NAME = re.compile(
    r"(?P<package>ioassay-(?P<version>[^-]+))-(?P<tag>py3-none-manylinux_(?P<glibc>\d+_\d+)_(?P<processor>\w+))\.whl"
)
_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_TESTS = re.compile(r"(^|/)(test_[^/]*\.py|conftest\.py|(tests|testing|testdata)/)")
_LOADER = "ld-linux-"


def main() -> None:
    """Checks each wheel that is named."""
    if len(sys.argv) < 2:
        sys.exit("usage: wheel_check.py WHEEL …")
    if broken := [f"{wheel}: {promise}" for wheel in sys.argv[1:] for promise in check(Path(wheel))]:
        sys.exit("\n".join(broken))


def check(wheel: Path) -> list[str]:
    """The promises that a wheel breaks. Prints what its programs need, and its size."""
    name = _NAME.fullmatch(wheel.name)
    if name is None:
        return ["its name is not that of a wheel for manylinux and every Python 3"]
    size = wheel.stat().st_size
    broken = [f"it is larger than {MOST_BYTES >> 20} MiB"] if size > MOST_BYTES else []
    with ZipFile(wheel) as archive:
        members = archive.namelist()
        print(f"{wheel.name}: {size / (1 << 20):.1f} MiB, {len(members)} files")
        broken += [f"{member} is a test" for member in members if _TESTS.search(member)]
        broken += _broken_metadata(archive, f"{name['package']}.dist-info", name["tag"])
        for program in PROGRAMS:
            member = f"{name['package']}.data/scripts/{program}"
            if member not in members:
                broken.append(f"{program} is not in it")
                continue
            if not archive.getinfo(member).external_attr >> 16 & 0o111:
                broken.append(f"{program} is not executable")
            content = archive.read(member)
            if misfits := list(_broken_needs(content, program, _glibc(name["glibc"]), name["processor"])):
                broken += misfits
            else:
                broken += _broken_start(content, program, name["processor"], name["version"])
    return broken


def _glibc(version: str) -> GlibcVersion:
    return tuple(map(int, version.split("_")))


def _broken_metadata(archive: ZipFile, directory: str, tag: str) -> Iterator[str]:
    if f"Tag: {tag}" not in archive.read(f"{directory}/WHEEL").decode().splitlines():
        yield "its metadata has another tag than its name"
    entry_points = ConfigParser()
    entry_points.read_string(archive.read(f"{directory}/entry_points.txt").decode())
    if entry_points.get("console_scripts", "ioassay", fallback=None) != "ioassay.__main__:main":
        yield "it does not install the command ioassay"


def _broken_needs(content: bytes, program: str, glibc: GlibcVersion, processor: str) -> Iterator[str]:
    parts = needs(content)
    if not parts:
        yield f"{program} is not a program for Linux"
    for number, need in enumerate(parts):
        part = program if number == 0 else f"the library in {program}"
        version = ".".join(map(str, need.glibc))
        print(f"  {part}: glibc {version} or newer, {', '.join(sorted(need.libraries))}")
        if need.machine != _MACHINES[processor]:
            yield f"{part} is for {need.machine}, not for {processor}"
        if need.glibc > glibc:
            yield f"{part} needs glibc {version}"
        if unknown := {each for each in need.libraries - LIBRARIES if not each.startswith(_LOADER)}:
            yield f"{part} needs {', '.join(sorted(unknown))}"
        if need.has_debug_information:
            yield f"{part} has debug information, which belongs into the archive beside the wheel"


def _broken_start(content: bytes, program: str, processor: str, version: str) -> list[str]:
    """Starts a program; one for another processor in QEMU's user mode."""
    emulated: list[str] = []
    if processor != platform.machine():
        emulator, sysroot = shutil.which(f"qemu-{processor}-static"), Path(f"/usr/{processor}-linux-gnu")
        if emulator is None or not sysroot.is_dir():
            print(f"SKIPPED: starting {program} for {processor}: qemu-user-static or {sysroot} cannot be had")
            return []
        emulated = [emulator, "-L", str(sysroot)]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, program)
        path.write_bytes(content)
        path.chmod(0o755)
        command = [*emulated, str(path), "--version"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if result.stdout.split() == [program, version]:
        return []
    return [f"{program} --version exits with {result.returncode}: {(result.stdout + result.stderr).strip()}"]


if __name__ == "__main__":
    main()

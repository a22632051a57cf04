"""Builds the wheels of a release, one for each processor: `wheels.py dist x86_64 aarch64`.

`zig cc` links the programs against the symbols of an old glibc, whatever glibc this machine has; a program that needs
more does not link. Debug symbols go into an archive beside the wheel.

Not: what a wheel has besides the programs (`pyproject.toml`), whether a wheel is right (`wheel_check`).
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

from archives import without_builder
from build_hook import DIRECTORY_VARIABLE, PLATFORM_VARIABLE, PROGRAMS
from stated_version import stated

ROOT = Path(__file__).resolve().parents[1]

GLIBC = "2.28"
"""Of RHEL 8, the oldest that the wheels of NumPy and SciPy run on."""

PROCESSORS = ("x86_64", "aarch64")


def main() -> None:
    """Builds the wheels that are asked for into a directory."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("processor", nargs="+", choices=PROCESSORS)
    arguments = parser.parse_args()
    directory: Path = arguments.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    for processor in arguments.processor:
        build(processor, directory)


def build(processor: str, directory: Path) -> None:
    """The wheel of a processor, and its debug symbols. Raises `CalledProcessError` where a tool fails."""
    native = processor == platform.machine()
    programs = ROOT / "target" / "wheels" / processor
    programs.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        built = _linked_for_old_glibc(name, processor) if native else _cross_compiled(name, processor)
        _split(built, programs)
    symbols = directory / f"ioassay-{stated(ROOT)}-debug-{processor}.tar.xz"
    with tarfile.open(symbols, "w:xz", preset=1) as archive:  # 3 s; the best preset takes 20 s for 1 MB less
        for name in PROGRAMS:
            archive.add(programs / f"{name}.debug", f"{name}.debug", filter=without_builder)
    tag = f"manylinux_{GLIBC.replace('.', '_')}_{processor}"
    handed_over = {DIRECTORY_VARIABLE: str(programs), PLATFORM_VARIABLE: tag}
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(directory), **handed_over)


def _linked_for_old_glibc(name: str, processor: str) -> Path:
    """For this machine's processor only the link differs from `make build`, which has compiled all that is linked."""
    linker = ROOT / "target" / "wheels" / f"link-{processor}"
    linker.write_text(f'#!/bin/sh\nexec cargo-zigbuild zig cc -- -target {processor}-linux-gnu.{GLIBC} "$@"\n')
    linker.chmod(0o755)
    _run("cargo", "rustc", *_PACKAGE, "--bin", name, "--", "-C", f"linker={linker}")
    return ROOT / "target" / "release" / name


def _cross_compiled(name: str, processor: str) -> Path:
    target = f"{processor}-unknown-linux-gnu"
    _run("rustup", "--quiet", "target", "add", target)
    _run("cargo", "zigbuild", *_PACKAGE, "--target", f"{target}.{GLIBC}")
    return ROOT / "target" / target / "release" / name


_PACKAGE = ("--release", "--locked", "--quiet", "--package", "ioassay-cli")


def _split(program: Path, directory: Path) -> None:
    """Copies a program without its symbols, and the symbols beside it, where debuggers and backtraces look for them."""
    rustc = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True)
    sysroot = Path(rustc.stdout.strip())
    (objcopy,) = sysroot.glob("lib/rustlib/*/bin/rust-objcopy")  # knows every processor, unlike that of binutils
    libraries = {"LD_LIBRARY_PATH": str(sysroot / "lib")}
    symbols, stripped = directory / f"{program.name}.debug", directory / program.name
    _run(str(objcopy), "--only-keep-debug", str(program), str(symbols), **libraries)
    _run(str(objcopy), "--strip-all", f"--add-gnu-debuglink={symbols}", str(program), str(stripped), **libraries)


def _run(*command: str, **environment: str) -> None:
    subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=True)


if __name__ == "__main__":
    main()

from __future__ import annotations

import platform
import shutil
import sysconfig
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest
from build_hook import PROGRAMS
from elf_needs import needs
from wheel_check import check

PROCESSOR = platform.machine()
PACKAGE = "ioassay-0.1.0"
ENGINE = f"{PACKAGE}.data/scripts/ioassay-engine"
SYSTEM_PROGRAM = Path(shutil.which("true") or "").read_bytes()


def _broken(
    directory: Path, member: str = "", content: bytes = b"", glibc: str = "2_99", mode: int = 0o755
) -> set[str]:
    """What is broken of a wheel whose programs are one of this system, with one more or other member."""
    tag = f"py3-none-manylinux_{glibc}_{PROCESSOR}"
    members = {
        f"{PACKAGE}.dist-info/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n".encode(),
        f"{PACKAGE}.dist-info/entry_points.txt": b"[console_scripts]\nioassay = ioassay.__main__:main\n",
        **{f"{PACKAGE}.data/scripts/{program}": SYSTEM_PROGRAM for program in PROGRAMS},
        **({member: content} if member else {}),
    }
    wheel = directory / f"{PACKAGE}-{tag}.whl"
    with ZipFile(wheel, "w") as archive:
        for name, what in members.items():
            entry = ZipInfo(name)
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, what)
    return set(check(wheel))


def test_a_sound_wheel_breaks_nothing_but_that_its_programs_are_not_ours(tmp_path: Path) -> None:
    assert {each.split(" exits")[0] for each in _broken(tmp_path)} == {f"{each} --version" for each in PROGRAMS}


@pytest.mark.parametrize(
    ("member", "content", "broken"),
    [
        ("ioassay/analysis/test_rates.py", b"", "ioassay/analysis/test_rates.py is a test"),
        ("ioassay/conftest.py", b"", "ioassay/conftest.py is a test"),
        ("ioassay/testing/stored.py", b"", "ioassay/testing/stored.py is a test"),
        (f"{PACKAGE}.dist-info/WHEEL", b"Tag: cp311-cp311-any", "its metadata has another tag than its name"),
        (f"{PACKAGE}.dist-info/entry_points.txt", b"", "it does not install the command ioassay"),
        (ENGINE, b"#!/bin/sh", "ioassay-engine is not a program for Linux"),
    ],
)
def test_each_broken_promise_is_named(tmp_path: Path, member: str, content: bytes, broken: str) -> None:
    assert broken in _broken(tmp_path, member, content)


def test_a_program_that_needs_a_newer_glibc_than_the_name_says_is_refused(tmp_path: Path) -> None:
    assert any(each.startswith("ioassay-engine needs glibc 2.") for each in _broken(tmp_path, glibc="2_1"))


def test_a_program_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    assert "ioassay-agent is not executable" in _broken(tmp_path, mode=0o644)


def test_a_wheel_for_one_python_is_refused() -> None:
    assert check(Path("ioassay-0.1.0-cp311-cp311-linux_x86_64.whl")) == [
        "its name is not that of a wheel for manylinux and every Python 3"
    ]


def test_the_recorder_inside_the_engine_needs_glibc_2_17_at_most() -> None:
    engine, recorder = needs(Path(sysconfig.get_path("scripts"), "ioassay-engine").read_bytes())
    assert "libc.so.6" in engine.libraries
    assert recorder.libraries == {"libc.so.6"}
    assert recorder.glibc <= (2, 17)
    assert not recorder.has_debug_information

"""What the process that reads logs takes of PyDarshan: the C library and the layout of its structures."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("darshan") is None, reason="PyDarshan is not installed")

UTIL = "import sys; from ioassay.profiles.darshan.reader_process import DarshanUtil; util = DarshanUtil()\n"

LOADED = UTIL + "print([name for name in ('darshan', 'cffi', 'numpy', 'pandas') if name in sys.modules])"

LAYOUTS = (
    UTIL
    + """\
from darshan.backend.cffi_backend import ffi
own = {name: [(field, getattr(one, field).offset) for field, _ in one._fields_] for name, one in util.structs.items()}
theirs = {name: [(field, at.offset) for field, at in ffi.typeof(f"struct {name}").fields] for name in own}
print(own == theirs, len(own) > 10)
"""
)


def printed(program: str, path: Path | None = None) -> str:
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip()


def stand_in(directory: Path, library: str, version: str = "3.5.0") -> Path:
    """A PyDarshan without a wheel's library, which finds this one."""
    (directory / "darshan/backend").mkdir(parents=True)
    (directory / "darshan/__init__.py").write_text(f"__darshanutil_version__ = '{version}'\n")
    (directory / "darshan/backend/api_def_c.py").write_text("def load_darshan_header():\n    return ''\n")
    (directory / "darshan/discover_darshan.py").write_text(f"def find_utils(ffi, libdutil):\n    return {library}\n")
    return directory


def test_pydarshan_itself_is_not_loaded() -> None:
    assert printed(LOADED) == "[]"


def test_structures_are_laid_out_as_pydarshan_lays_them_out() -> None:
    assert printed(LAYOUTS) == "True True"


def test_without_a_wheel_the_library_is_the_one_that_pydarshan_finds(tmp_path: Path) -> None:
    (wheel,) = importlib.util.find_spec("darshan").submodule_search_locations  # type: ignore[union-attr, misc]
    (library,) = Path(wheel).parent.glob("darshan.libs/libdarshan-util*")
    path = stand_in(tmp_path, f"ffi.dlopen({str(library)!r})")
    assert printed(UTIL + "print(util.counter_names)", path).startswith("<bound method")


def test_a_library_of_another_version_is_refused(tmp_path: Path) -> None:
    (wheel,) = importlib.util.find_spec("darshan").submodule_search_locations  # type: ignore[union-attr, misc]
    (library,) = Path(wheel).parent.glob("darshan.libs/libdarshan-util*")
    path = stand_in(tmp_path, f"ffi.dlopen({str(library)!r})", "3.2.1")
    assert "it needs libdarshan-util 3.2.1, and finds 3.5" in printed(UTIL, path)

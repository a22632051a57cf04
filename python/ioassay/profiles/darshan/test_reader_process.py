"""What the process that reads logs loads of Python's libraries: only what PyDarshan itself needs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("darshan") is None, reason="PyDarshan is not installed")

LOADED = (
    "import sys; from ioassay.profiles.darshan import reader_process; backend = reader_process._backend()\n"
    "print([hasattr(sys.modules[name], '__version__') and isinstance(sys.modules[name].__version__, str)"
    " for name in ('numpy', 'pandas')])"
)


def loaded(path: Path | None = None) -> str:
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run([sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_neither_numpy_nor_pandas_is_loaded() -> None:
    assert loaded() == "[False, False]"


def test_both_are_where_pydarshan_uses_them_while_it_is_imported(tmp_path: Path) -> None:
    backend = tmp_path / "darshan/backend"
    backend.mkdir(parents=True)
    for folder in (backend.parent, backend):
        (folder / "__init__.py").touch()
    (backend / "cffi_backend.py").write_text("import numpy\nimport pandas\npandas.DataFrame(numpy.zeros(3))\n")
    assert loaded(tmp_path) == "[True, True]"

"""Logs for tests."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

TESTDATA = Path(__file__).parent / "testdata"


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str], Path]:
    """A log of `testdata`, or the text of one."""

    def named(name: str) -> Path:
        path = TESTDATA / name
        if path.suffix == ".darshan" and importlib.util.find_spec("darshan") is None:
            pytest.skip("PyDarshan is not installed: pip install 'ioassay[darshan]'")
        if path.exists():
            return path
        unpacked = tmp_path / name
        unpacked.write_bytes(gzip.decompress((TESTDATA / f"{name}.gz").read_bytes()))
        return unpacked

    return named

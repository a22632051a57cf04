"""`ioassay publish`, whole: the command, a stored run, and the browser of the machine."""

from __future__ import annotations

from pathlib import Path

from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

from .support import ioassay


def test_a_run_is_published_and_nothing_else_is_written(tmp_path: Path) -> None:
    store(RunBuilder().workload("w").clients(1, 2).build(), tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    code, out, err = ioassay("publish", "run", "-o", "out", directory=tmp_path)
    assert (code, out) == (0, "")
    assert err.endswith("files, start with README.md\n")
    # Without a browser, a message states why there are no PDFs.
    assert (tmp_path / "out" / "report.pdf").exists() == ("were not written" not in err)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"run", "out"}


def test_a_missing_run_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    for place in ([], ["-o", "out"]):
        code, out, err = ioassay("publish", "run", *place, directory=tmp_path)
        assert (code, out) == (2, "")
        assert "run is not a run directory" in err
    assert list(tmp_path.iterdir()) == []

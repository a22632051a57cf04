"""Under `ulimit -v`, which V8 does not survive: results, and pages that say which figures they lack and why."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.store.run_directory import load
from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store
from tests.support import HEAD, workload

GIB = 1 << 30


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five figures: two of rates, one of latencies, two of time lines."""
    return store(RunBuilder().workload("w", "Big").clients(1, 2).build(), tmp_path_factory.mktemp("limited") / "run")


def _limited(size_bytes: int, *arguments: str | Path) -> tuple[int, str, list[str]]:
    result = subprocess.run(
        [sys.executable, "-m", "ioassay", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size_bytes, size_bytes)),
    )
    return result.returncode, result.stdout, result.stderr.splitlines()


@pytest.mark.parametrize("size_bytes", [2 * GIB, 24 * GIB])
def test_a_report_names_every_figure_that_it_lacks(size_bytes: int, run: Path, tmp_path: Path) -> None:
    code, out, (written, why) = _limited(size_bytes, "report", run, "-o", tmp_path / "report.html")
    assert (code, out, written) == (1, "", str(tmp_path / "report.html"))
    assert why.startswith("Figures are missing: the process that draws figures was killed by SIG")
    assert "(ulimit -v)" in why
    page = (tmp_path / "report.html").read_text()
    assert page.count("This figure could not be drawn: the process that draws figures was killed by SIG") == 5
    assert page.count("<figure") == 5
    assert "</html>" in page
    assert "<svg" not in page


def test_a_pdf_is_refused_in_one_sentence_with_its_remedy(run: Path, tmp_path: Path) -> None:
    code, out, errors = _limited(8 * GIB, "report", run, "--summary", "--format", "pdf", "-o", tmp_path / "summary.pdf")
    assert (code, out) == (3, "")
    assert "cannot print: the address space is limited to 8.00 GiB" in errors[0] or "none was found" in errors[0]
    assert len(errors) == 2
    assert not any(tmp_path.iterdir())


def test_everything_but_figures_is_published(run: Path, tmp_path: Path) -> None:
    code, out, errors = _limited(16 * GIB, "publish", run, "-o", tmp_path / "published")
    assert (code, out) == (1, "")
    assert errors[-1].startswith("Figures are missing: ")
    assert {path.suffix for path in (tmp_path / "published" / "figures").iterdir()} == {".csv"}
    assert (tmp_path / "published" / "summary.html").read_text().count("could not be drawn") == 2
    assert "could not be drawn" in (tmp_path / "published" / "README.md").read_text()


def test_a_run_keeps_its_results_and_its_page(tmp_path: Path) -> None:
    figure = "figures:\n  - {title: Write, workloads: [w], operation: write, unit: MB/s}\n"
    (tmp_path / "study.yaml").write_text(HEAD.format(name="limited") + workload("w") + figure)
    target = tmp_path / "target"
    target.mkdir()
    code, out, errors = _limited(4 * GIB, "run", tmp_path / "study.yaml", "--target", target, "--out", tmp_path / "run")
    assert code == 1
    assert "Report: " in out
    assert errors[-1].startswith("Figures are missing: ")
    assert "could not be drawn" in (tmp_path / "run" / "report.html").read_text()
    assert load(tmp_path / "run").measurements.height == 2

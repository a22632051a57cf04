"""What is handed out of a run."""

from __future__ import annotations

import hashlib
import re

import pytest

from ioassay import reports
from ioassay.reports.run import RunReport, publication
from ioassay.testing.builder import RunBuilder
from ioassay.testing.determinism import printed_elsewhere

PROGRAM = """
import hashlib
from ioassay.reports.run.publication import files
from ioassay.testing.builder import RunBuilder
for file in files(RunBuilder().workload("w").clients(1, 2).build()):
    print(file.path, hashlib.sha256(file.content).hexdigest())
"""


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    builder = RunBuilder().workload("sequential-n-n", "Sequential N-N").clients(1, 2).repetitions(3)
    return {file.path: file.content for file in publication.files(builder.build())}


def test_the_documents_are_those_of_the_reports(files: dict[str, bytes]) -> None:
    run = RunBuilder().workload("sequential-n-n", "Sequential N-N").clients(1, 2).repetitions(3).build()
    forms: tuple[reports.Format, ...] = ("html", "md", "json")
    for form in forms:
        assert files[f"report.{form}"] == reports.build(RunReport(run), form)
    assert files["summary.html"] == reports.page(RunReport(run).summary(), "html")


def test_figures_have_names_that_say_what_they_show_and_three_files_each(files: dict[str, bytes]) -> None:
    figures = {path for path in files if path.startswith("figures/")}
    names = {path.rpartition(".")[0] for path in figures}
    assert "figures/rate-sequential-n-n-write" in names
    assert "figures/timeline-sequential-n-n-read-repetition-2" in names
    assert figures == {f"{name}{suffix}" for name in names for suffix in (".svg", ".png", ".csv")}
    assert files["figures/rate-sequential-n-n-write.svg"].decode() in files["report.html"].decode()


def test_the_index_names_every_file_that_there_is(files: dict[str, bytes]) -> None:
    index = files["README.md"].decode()
    assert "Run `20260202-024000-example`, published by ioassay" in index
    named = re.findall(r"\]\(([^)]+)\)", index)
    rest = (".png", "README.md")
    assert sorted(named) == sorted(
        path for path in files if not path.endswith(rest) and not (path.startswith("figures/") and ".csv" in path)
    )


def test_the_same_run_gives_the_same_bytes_also_in_another_process() -> None:
    said = printed_elsewhere(PROGRAM)
    (lines,) = said
    assert len(lines.split()[1]) == hashlib.sha256().digest_size * 2

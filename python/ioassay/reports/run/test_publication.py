"""What is handed out of a run."""

from __future__ import annotations

import ast
import hashlib
import re

import pytest

from ioassay import reports
from ioassay.reports.run import RunReport, publication
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.testing.determinism import printed_elsewhere
from ioassay.testing.isilon import isilon

PROGRAM = """
from ioassay.reports.run.test_publication import digests
print(digests())
"""


def small() -> LoadedRun:
    """A run with figures of every kind that one can have without being watched."""
    return RunBuilder().workload("sequential-n-n", "Sequential N-N").clients(1, 2).repetitions(3).build()


def digests() -> dict[str, str]:
    """Of every published file of a small run, and of what is quick to build of one with much to tell."""
    built = {file.path: file.content for file in publication.files(small())}
    texts: tuple[reports.Format, ...] = ("md", "csv", "json")
    built |= {form: reports.build(RunReport(isilon().build()), form) for form in texts}
    return {path: hashlib.sha256(content).hexdigest() for path, content in built.items()}


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return {file.path: file.content for file in publication.files(small())}


def test_the_documents_are_those_of_the_reports(files: dict[str, bytes]) -> None:
    run = small()
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


def test_the_same_run_gives_the_same_bytes_in_any_process(files: dict[str, bytes]) -> None:
    (output,) = printed_elsewhere(PROGRAM)
    elsewhere = ast.literal_eval(output)
    assert elsewhere.keys() >= files.keys()
    digests_here = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    assert digests_here == {path: digest for path, digest in elsewhere.items() if path in files}

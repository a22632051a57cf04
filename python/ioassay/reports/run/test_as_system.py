from __future__ import annotations

import math
from pathlib import Path

import pytest

from ioassay.analysis.compare import measured_run, published_system
from ioassay.analysis.compare.ratios import Comparison, compare
from ioassay.analysis.compare.subject import Curve
from ioassay.errors import UsageError
from ioassay.importers import IMPORTERS
from ioassay.importers.stored import run as as_run
from ioassay.reports.compare import configuration
from ioassay.reports.run import as_system
from ioassay.store.loaded import LoadedRun
from ioassay.systems.library import builtin_systems, read
from ioassay.systems.model import System
from ioassay.testing.builder import RunBuilder
from ioassay.testing.importer_samples import FILES
from ioassay.yaml_models.source import parse_source

KNOWN = builtin_systems()
PUBLISHED = {name: published_system.subject(system) for name, system in KNOWN.items()}
FILES_OF_A_RUN = {Path("runs/mine/run.json"): "a" * 64, Path("runs/mine/measurements.parquet"): "b" * 64}


def system_of(run: LoadedRun) -> System:
    """What is read back of what is written of a run."""
    return read(parse_source(as_system.text(run, "mine", FILES_OF_A_RUN), "mine.yaml", "system"), KNOWN)


def imported(tool: str, path: Path) -> list[LoadedRun]:
    runs = (as_run(gathered, []) for gathered in IMPORTERS[tool].gather([path]) if gathered.cases)
    return [
        LoadedRun(document, samples=tables.pop("samples").lazy(), watch=None, **tables)
        for document, tables in ((document, dict(tables)) for document, tables in runs)
    ]


def ratios_by_place(comparison: Comparison) -> dict[tuple[str, str, str, int | None], float]:
    """Every ratio of a comparison, by what it is of."""
    return {
        (compared.other.title, compared.column, level, ratio.reference.clients): ratio.value
        for compared in comparison.series
        for level, ratios in (
            ("point", compared.points),
            ("peak", (compared.peak,)),
            ("sustained", (compared.sustained,)),
        )
        for ratio in ratios
        if ratio is not None
    }


def assert_compares_the_same(run: LoadedRun) -> None:
    as_it_is, written = measured_run.subject(run, "mine"), published_system.subject(system_of(run))
    for name, other in PUBLISHED.items():
        expected, from_file = ratios_by_place(compare(as_it_is, other)), ratios_by_place(compare(written, other))
        if all(is_alike(curve) for curve in as_it_is.curves):
            assert from_file.keys() == expected.keys(), name
        else:
            assert from_file.keys() <= expected.keys(), name
            expected = {of: expected[of] for of in from_file}
        assert all(math.isclose(from_file[of], expected[of], rel_tol=1e-8) for of in expected), name


def is_alike(curve: Curve) -> bool:
    """False of a survey, whose one series has points that share files and points that do not: as figures it is two."""
    return len({point.conditions.layout for rates in curve.rates.values() for point in rates.points}) == 1


def study() -> LoadedRun:
    builder = RunBuilder().clients(1, 8, 64).repetitions(3)
    builder.workload("sequential", "Sequential").workload("shared", "Shared", layout="N-1")
    return builder.workload("random", "Random", order="random", transfer_bytes=4096).build()


def test_a_run_written_as_a_system_compares_like_the_run() -> None:
    run = study()
    assert ratios_by_place(compare(measured_run.subject(run, "mine"), PUBLISHED["isilon-f800"]))
    assert_compares_the_same(run)


@pytest.mark.parametrize(
    ("tool", "path"),
    [(tool, path) for tool in IMPORTERS for path in sorted((FILES / tool).iterdir())],
    ids=lambda part: part.name if isinstance(part, Path) else part,
)
def test_results_of_other_tools_written_as_a_system_compare_like_the_import(tool: str, path: Path) -> None:
    for run in imported(tool, path):
        assert_compares_the_same(run)
        written, as_it_is = published_system.subject(system_of(run)), measured_run.subject(run, "mine")
        assert {curve.operation for curve in written.curves} <= {curve.operation for curve in as_it_is.curves}
        for curve in as_it_is.curves:
            assert any(other_curve.operation == curve.operation and other_curve.rates for other_curve in written.curves)


def test_every_median_is_a_figure_with_its_unit_and_what_it_was_measured_with() -> None:
    builder = RunBuilder().clients(1, 8).repetitions(3).workload("seq", "Sequential", transfer_bytes=1 << 20)
    for clients, rates in ((1, (1e9, 1.1e9, 1.3e9)), (8, (4e9, 4.123456789e9, 5e9))):
        builder.rates("seq", "write", clients, *rates)
    system = system_of(builder.build())
    figure = next(
        figure for figure in system.figures if (figure.operation, figure.clients, figure.level) == ("write", 8, "peak")
    )
    assert figure.value == "4.12345679 GB/s"
    assert (figure.test, figure.tool, figure.layout, figure.order) == ("Sequential", "ioassay", "N-N", "sequential")
    assert (figure.transfer, figure.threads, str(figure.at)) == (1 << 20, 8, "measurements")
    assert figure.note == "median of 3 repetitions"
    sustained = next(figure for figure in system.figures if (figure.operation, figure.level) == ("write", "sustained"))
    assert (sustained.clients, sustained.value) == (None, "4.12345679 GB/s")


def test_a_figure_of_an_imported_file_names_its_lines_and_the_file_its_hash() -> None:
    (run,) = imported("ior", FILES / "ior" / "2.10.3-verbose2.txt")
    system = system_of(run)
    figure = next(figure for figure in system.figures if figure.operation == "write")
    assert figure.tool == "ior"
    source = system.sources[figure.at.source]
    lines = (FILES / "ior" / "2.10.3-verbose2.txt").read_text().split("\n")
    assert len(figure.at.lines) == 3
    assert all(lines[line - 1].startswith("write") for line in figure.at.lines)
    assert run.document.imported is not None
    assert [(source.file, source.sha256)] == [(file.path, file.sha256) for file in run.document.imported.files]


def test_a_run_is_compared_with_what_was_written_of_an_earlier_one_series_by_series() -> None:
    builder = RunBuilder().clients(1, 8)
    for name in ("small", "large"):  # alike in all that a figure tells but their size
        builder.workload(name, name.capitalize())
    run = builder.build()
    comparison = compare(published_system.subject(system_of(run)), measured_run.subject(run, "again"))
    assert comparison.unmatched == ()
    assert [ratio.value for compared in comparison.series for ratio in compared.ratios] == pytest.approx(
        [1.0] * 16, rel=1e-8
    )


def test_the_file_compares_with_the_same_configuration_as_the_run() -> None:
    run = study()
    facts = configuration.run_facts(run.document)
    assert facts["Processor"]
    assert configuration.system_facts(system_of(run), KNOWN) == facts


def test_a_run_without_a_valid_rate_makes_no_system() -> None:
    builder = RunBuilder().clients(1).workload("seq")
    run = builder.build()
    nothing = LoadedRun(**{**vars(run), "measurements": run.measurements.clear()})
    with pytest.raises(UsageError, match="has no valid rate"):
        system_of(nothing)

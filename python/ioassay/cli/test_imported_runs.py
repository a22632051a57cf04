"""Whatever `ioassay import` accepts, every command that reads runs can show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import typer.main
from hypothesis import given
from hypothesis import strategies as st

from ioassay.cli import app
from ioassay.errors import IoassayError
from ioassay.importers import IMPORTERS
from ioassay.importers.model import Case, Measurement
from ioassay.importers.stored import Gathered, storable
from ioassay.store.run_directory import load
from ioassay.store.run_writer import store
from ioassay.testing.importer_samples import FILES


def command(*typed: str | Path) -> str:
    """Runs `ioassay` in this process; returns what it refuses, in words."""
    try:
        typer.main.get_command(app)([*map(str, typed)], prog_name="ioassay", standalone_mode=False)
    except IoassayError as error:
        return str(error)
    return ""


READING = [
    ["report", "{run}", "--format", "csv", "-o", "{out}"],
    ["list", "{top}"],
    ["compare", "{run}", "{again}", "--format", "md"],
    ["check", "{run}", "--baseline", "{again}"],
    ["trend", "{top}", "--format", "md"],
    ["publish", "{run}", "-o", "{out}"],
    ["systems", "--from", "{run}"],
]
"""Every command that reads runs which others may have measured; `publish` makes every form of the report."""


@pytest.fixture(scope="module", params=sorted(IMPORTERS))
def top(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all samples of a tool, imported twice."""
    tool = str(request.param)
    place = tmp_path_factory.mktemp(tool)
    for name in ("run", "again"):
        samples = place / "samples" / name
        shutil.copytree(FILES / ("io500/program-2025" if tool == "io500" else tool), samples)
        command("import", tool, samples, "--out", place / "runs" / name)
    return place


@pytest.mark.parametrize("typed", READING, ids=lambda typed: " ".join(typed[:1] + typed[2:4]))
def test_every_reading_command_shows_what_was_imported(top: Path, typed: list[str], tmp_path: Path) -> None:
    places = {"run": top / "runs/run", "again": top / "runs/again", "top": top / "runs", "out": tmp_path / "out"}
    # Two runs make no trend, and some have no rate that systems have; but none of them is damaged.
    assert "damaged" not in command(*(word.format(**places) for word in typed))


NUMBERS = st.sampled_from([0, 1, 2**53, 2**62, 2**62 + 1, 2**63, 2**64, 10**17 + 1, 1e-300, 1e300, float("inf"), -1])
"""Numbers that other tools print when something went wrong."""


@given(
    st.sampled_from(["bytes", "operations", "duration_ns", "rate_bytes_per_s", "files", "transfer_bytes", "ranks"]),
    NUMBERS,
)
def test_a_case_is_stored_and_loads_again_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, number: float
) -> None:
    values = {"file": Path("out.txt"), "line": 1, "phase": "write", "operation": "write", "bytes": 1, "duration_ns": 7}
    measured = Measurement(**(values | {name: number if name.startswith("rate") else int(min(number, 2**70))}))  # type: ignore[arg-type]
    case = Case(tool_version=None, settings=[], amount="", clients=1, ranks=1, measured=[measured])
    results = Gathered(tool="ior", title="IOR", name="r", cases=[case], files=[], refused=[])
    gathered, stored = storable(results, ["ioassay"])
    if stored is None:
        assert [(file.path, "no measurement can have" in file.reason) for file in gathered.refused] == [
            ("out.txt", True)
        ]
        return
    path = tmp_path_factory.mktemp("run") / "run"
    store(path, stored.document, stored.tables)
    assert load(path).measurements.height == 1


def test_a_moment_that_no_calendar_has_refuses_its_file() -> None:
    measured = Measurement(file=Path("out.txt"), line=1, phase="write", operation="write", bytes=1, duration_ns=7)
    case = Case(
        tool_version=None, settings=[], amount="", clients=1, ranks=1, measured=[measured], started_unix_ns=2**62 * 1000
    )
    results = Gathered(tool="fio", title="fio", name="r", cases=[case], files=[], refused=[])
    gathered, stored = storable(results, ["ioassay"])
    assert stored is None
    assert [file.path for file in gathered.refused] == ["out.txt"]


def test_a_file_with_an_impossible_value_does_not_cost_the_others() -> None:
    def case(file: str, duration_ns: int) -> Case:
        measured = Measurement(
            file=Path(file), line=1, phase="write", operation="write", bytes=1, duration_ns=duration_ns
        )
        return Case(tool_version=None, settings=[], amount="", clients=1, ranks=1, measured=[measured])

    results = Gathered(
        tool="ior", title="IOR", name="r", cases=[case("good", 7), case("bad", 10**18)], files=[], refused=[]
    )
    gathered, stored = storable(results, ["ioassay"])
    assert stored is not None
    assert stored.tables["measurements"]["duration_ns"].to_list() == [7]
    assert [(file.path, file.reason) for file in gathered.refused] == [
        ("bad", "has a value that no measurement can have (duration_ns)")
    ]

"""Reports of everything that a study can ask for: metadata, mixes, jobs side by side, surveys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.reports.run import RunReport
from ioassay.store.document import CaseEntry
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import Measurement
from ioassay.studies.library import builtin_studies
from ioassay.testing.measured_study import measured

EXAMPLES = Path(__file__).parents[4] / "examples"


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def metadata() -> LoadedRun:
    return measured(example("one-directory-or-many"), lambda case, _: 12_300.0 * case.ranks_per_client)


@pytest.fixture(scope="module")
def side_by_side() -> LoadedRun:
    return measured(example("checkpoint-beside-readers"), lambda _, key: 500.0 if key[1] == "together" else 2000.0)


@pytest.fixture(scope="module")
def survey() -> LoadedRun:
    def rate(case: CaseEntry, key: Measurement) -> float:
        return min(1000.0, 260.0 * case.ranks_per_client)

    return measured(builtin_studies()["survey"].text, rate)


def test_metadata_has_its_own_words(metadata: LoadedRun) -> None:
    text = reports.build(RunReport(metadata, is_full=True), "md").decode()
    assert "| create | 49.2 k creates/s" in text
    assert "| remove | 49.2 k removes/s" in text
    assert "| create | 1 client, 4 ranks |" in text
    assert "49.2 kops/s" in text, "the figure's table has the unit of all others"
    assert "mdtest -a POSIX -F -C -I 10000" in text


def test_jobs_side_by_side_and_the_same_operation_in_two_phases_stay_apart(side_by_side: LoadedRun) -> None:
    text = reports.build(RunReport(side_by_side), "md").decode()
    for series in ("prepare (write)", "alone (read)", "together, checkpoint (write)", "together, readers (read)"):
        assert f"| Readers and a checkpoint | {series} |" in text
    document = json.loads(reports.build(RunReport(side_by_side), "json"))
    (row,) = document["peak_sustained"]
    rates = {(entry["phase"], entry["job"]): entry["peak"]["rate_bytes_per_s"] for entry in row["series"]}
    assert rates["alone", "alone"] == pytest.approx(4 * rates["together", "readers"], rel=0.01)


def test_stonewall_and_finish_are_both_shown(side_by_side: LoadedRun) -> None:
    assert "Rate, at the stonewall" in reports.build(RunReport(side_by_side, is_full=True), "md").decode()
    page = reports.build(RunReport(side_by_side), "html").decode()
    assert "at the stonewall" in page
    assert "per rank)" in page


def test_a_survey_has_its_grid_and_its_saturation_point(survey: LoadedRun) -> None:
    text = reports.build(RunReport(survey), "md").decode()
    assert "| write, MB/s: objects | 1 rank | 2 ranks | 4 ranks | 8 ranks | 16 ranks |" in text
    assert "Write saturates at 4 ranks on 1 object with 1049 MB/s (median of 1): the fewest within 5.0 %" in text
    assert "It was measured once, so another run may find another point" in text
    document = json.loads(reports.build(RunReport(survey), "json"))
    saturation = document["surveys"][0]["grids"][0]["saturation"]
    assert (saturation["point"]["ranks"], saturation["point"]["files"], saturation["at_the_edge"]) == (4, 1, False)
    assert saturation["possible"] is None


@pytest.mark.parametrize("kind", ["metadata", "side_by_side", "survey"])
def test_every_format_is_built(kind: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(kind)
    for form in reports.FORMATS:
        if form != "pdf":  # the page, printed
            assert reports.build(RunReport(run), form)

"""The built-in studies."""

from pathlib import Path

import pytest

from ioassay.analysis.acceptance import MEASURES
from ioassay.analysis.io500 import STANDARD
from ioassay.errors import UsageError
from ioassay.protocol.facts import IO500_PHASES, IO500_STONEWALL_NS
from ioassay.studies.cases import expand
from ioassay.studies.library import builtin_studies, find_study
from ioassay.studies.model import LIMITS
from ioassay.studies.needs import judge, overview
from ioassay.studies.repetitions import Repetitions
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target

GIB = 1 << 30


@pytest.mark.parametrize("name", builtin_studies())
def test_a_built_in_study_is_called_like_its_file_and_resolves_at_every_scale(name: str) -> None:
    judge(find_study(name))
    described = overview(find_study(name))
    assert described.name == name
    assert described.needs
    assert described.text().startswith(name)


def test_isilon_is_the_papers_sweep() -> None:
    study = resolve(find_study("isilon-2018"), None, []).study
    assert study.clients == [1, 2, 4, 8, 16, 32, 64]
    assert (study.ranks_per_client, study.repetitions) == ([1], Repetitions(1))
    sets = {name: work.files["data"] for name, work in study.workloads.items()}
    sizes = {name: (files.layout, files.order, files.transfer) for name, files in sets.items()}
    assert sizes == {
        "sequential-n-n": ("N-N", "sequential", 1 << 20),
        "sequential-n-1": ("N-1", "sequential", 1 << 20),
        "random-large": ("N-N", "random", 4096),
        "random-small": ("N-N", "random", 4096),
    }
    assert [files.total for files in sets.values()] == [2048 * GIB, 2048 * GIB, None, None]
    assert [files.per_client for files in sets.values()] == [None, None, 32 * GIB, 8 * GIB]
    assert [step.verb or step.pause or (step.cold_cache and step.cold_cache.methods) for step in study.steps] == [
        "write",
        3 * 10**9,
        ["drop-caches", "fadvise", "read-other-rank"],
        "read",
    ]


def test_isilon_full_is_isilon_as_written() -> None:
    source = find_study("isilon-2018")
    assert resolve(source, "full", []).study == resolve(source, None, []).study


def test_isilon_fits_a_laptop_at_its_quick_scale_and_anything_between() -> None:
    needs = {need.scale: need for need in overview(find_study("isilon-2018")).needs}
    assert needs["quick"].at_once_bytes == 3 * GIB
    assert needs["quick"].written_bytes < 42 * GIB
    assert (
        resolve(find_study("isilon-2018"), None, ["total=64GiB"]).study.workloads["sequential-n-1"].files["data"].total
        == 64 * GIB
    )


def test_quick_never_has_more_than_four_gibibytes_at_once_and_ends_phases_by_time() -> None:
    (need,) = overview(find_study("quick")).needs
    assert need.at_once_bytes == 4 * GIB
    assert need.walled
    assert resolve(find_study("quick"), None, []).entry.acceptance


def test_io500_is_the_standard_list_by_the_rules() -> None:
    study = resolve(find_study("io500"), None, []).study
    (workload,) = study.workloads.values()
    phases = {step.name: step for step in workload.steps if step.name}
    assert [name for name in phases if not name.endswith("directories")] == [rule.phase for rule in STANDARD]
    walls = {name: step.phase.limit for name, step in phases.items() if step.phase and step.phase.limit}
    assert [*walls] == [rule.phase for rule in STANDARD if rule.walled]
    assert {(wall.stonewall, wall.wear_out) for wall in walls.values() if wall} == {(IO500_STONEWALL_NS, True)}
    assert study.scores == "io500"


@pytest.mark.parametrize(("name", "of"), [("io500", "standard"), ("io500-extended", "extended")])
def test_the_studies_of_the_io500_have_the_order_layouts_and_sizes_of_its_front_end(name: str, of: str) -> None:
    (case, _, _), *_ = expand(resolve(find_study(name), None, []), "r", Target("directory", "/t"), "local")
    jobs = {job.name: job for phase in case.phases for job in phase.jobs}
    phases = {phase.name: phase for phase in IO500_PHASES if phase.name in jobs}
    assert [job for job in jobs if job in phases] == [*phases]
    assert {phase.name for phase in IO500_PHASES if of in phase.lists} <= {*phases}
    for phase in phases.values():
        job = jobs[phase.name]
        fixed = (phase.operations, phase.layout or job.layout, phase.moves or job.transfer_bytes)
        assert (tuple(job.operations), job.layout, job.transfer_bytes) == fixed, phase.name


def test_amounts_ended_by_stonewalls_are_upper_bounds() -> None:
    described = overview(find_study("io500"))
    assert [need.walled for need in described.needs] == [True, True]
    assert "1 case, less where a stonewall comes earlier" in described.text()
    assert [need.walled for need in overview(find_study("three-systems")).needs] == [False, False]


def test_amounts_repeated_for_a_minimum_time_are_lower_bounds() -> None:
    described = overview(find_study("quick"))
    assert [need.again for need in described.needs] == [True]
    assert "more where a minimum time needs further passes" in described.text()
    assert [need.again for need in overview(find_study("io500")).needs] == [False, False]


def test_an_unknown_study_names_the_nearest_and_all() -> None:
    with pytest.raises(UsageError) as error:
        find_study("isilon-2017")
    assert "did you mean `isilon-2018`?" in error.value.message
    assert all(name in error.value.remedy for name in builtin_studies())


def test_a_path_names_a_study(tmp_path: Path, small: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(small)
    assert resolve(find_study(str(path)), None, []).entry.name == "small"


def test_limits_are_typed_for_exactly_the_measures_there_are() -> None:
    assert {name: limit.unit for name, limit in LIMITS.items()} == {
        name: measure.unit for name, measure in MEASURES.items()
    }

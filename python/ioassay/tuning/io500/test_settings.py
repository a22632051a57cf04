"""The settings of the studies."""

from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.testing.artificial_io500 import tune_document
from ioassay.tuning.io500.measurement import READ, WRITE, ior_easy_study
from ioassay.tuning.io500.prepare import easy_settings
from ioassay.tuning.io500.settings import of_run, typed, words


def test_settings_that_the_procedure_decides_are_refused() -> None:
    for setting in ("clients=4", "ranks=2"):
        with pytest.raises(UsageError, match="the procedure decides it"):
            typed([setting])
    with pytest.raises(UsageError, match="has no value"):
        typed(["easy_size"])


def test_mdtest_looks_at_another_node_where_there_are_several() -> None:
    assert of_run({}, 1, 8) == {"clients": "1", "ranks": "8"}
    assert of_run({"read_shift": "1"}, 2, 8) == {
        "clients": "2",
        "ranks": "8",
        "stat_shift": "8",
        "read_shift": "1",
        "delete_shift": "24",
    }


def test_ior_easy_alone_takes_the_settings_that_it_has() -> None:
    document = tune_document(study_settings=["stonewall=1s", "easy_size=64MiB", "hard_items=3"], scale="quick")
    assert easy_settings(document, "posix") == {"stonewall": "1s", "easy_size": "64MiB"}


@pytest.mark.parametrize("scale", [None, "full", "quick"])
def test_ior_easy_alone_is_that_of_the_study(scale: str | None) -> None:
    """The same phases with the same settings, as the user sets them."""
    alone, whole = (
        resolve(find_study(name), scale, words({"ranks": "3", "stonewall": "7s"}), "posix")
        for name in (ior_easy_study(), "io500")
    )
    for phase in (WRITE, READ):
        alone_step, whole_step = (
            next(
                step for workload in resolved.study.workloads.values() for step in workload.steps if step.name == phase
            )
            for resolved in (alone, whole)
        )
        assert alone_step == whole_step
    files = [
        next(
            workload.files["ior-easy"] for workload in resolved.study.workloads.values() if "ior-easy" in workload.files
        )
        for resolved in (alone, whole)
    ]
    assert files[0] == files[1]

"""What is wrong with the house is found: imports that run up. What follows from other arrows is left out."""

from __future__ import annotations

import pytest

from ioassay.testing.architecture import Module, python_imports, reduced, running_up


@pytest.mark.parametrize(
    ("importer", "imported", "runs_up"),
    [
        ("ioassay.store.ingest", "ioassay.analysis.rates", True),
        ("ioassay.errors", "ioassay.store.ingest", True),
        ("ioassay.doctor.judge", "ioassay.net.hosts", True),
        ("ioassay.analysis.rates", "ioassay.store.ingest", False),
        ("ioassay.text.units", "ioassay.errors", False),
    ],
)
def test_an_import_of_a_room_that_is_not_below_runs_up(importer: str, imported: str, runs_up: bool) -> None:
    said = list(running_up([(Module(importer), Module(imported))]))
    assert said == ([f"{importer} imports {imported}"] if runs_up else [])


def test_every_room_of_the_package_is_in_a_layer() -> None:
    imports = python_imports()
    assert not list(running_up(imports))
    assert {
        module.name for pair in imports for module in pair if module.room == "helpers" and module.name.count(".") > 1
    } == set()


def test_arrows_that_follow_from_others_are_left_out() -> None:
    assert reduced({("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("c", "d")}) == {("a", "b"), ("b", "c"), ("c", "d")}

"""Imports that run up and import circles are found; arrows that follow from others are left out."""

from __future__ import annotations

import pytest

from ioassay.testing.architecture import (
    CIRCLES,
    LAYERS,
    Module,
    changed_circles,
    circles,
    first_sentence,
    modules,
    python_imports,
    python_rooms,
    reduced,
    running_up,
)


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
    found_imports = list(running_up([(Module(importer), Module(imported))]))
    assert found_imports == ([f"{importer} imports {imported}"] if runs_up else [])


def test_every_room_of_the_package_is_in_a_layer() -> None:
    imports = python_imports()
    assert not list(running_up(imports))
    assert {
        module.name for pair in imports for module in pair if module.room == "helpers" and module.name.count(".") > 1
    } == set()


def test_redundant_arrows_are_left_out() -> None:
    assert reduced({("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("c", "d")}) == {("a", "b"), ("b", "c"), ("c", "d")}


def test_a_purpose_is_the_first_sentence_of_the_documentation_on_one_line() -> None:
    assert (
        first_sentence("Reads `a.toml` into\na model. Not: what is in it.\n\nMore.") == "Reads `a.toml` into a model."
    )
    assert first_sentence("A document: page, text\n\nMore.") == "A document: page, text."


def test_every_room_and_every_package_in_it_says_what_it_is() -> None:
    rows = [row for layer in LAYERS for room in layer for row in python_rooms(room)]
    assert {"`store`", "`analysis.findings`", "`helpers`"} < {name for name, _ in rows}
    assert [name for name, purpose in rows if len(purpose) < len("A room.")] == []


def test_modules_of_a_crate_are_described_without_the_brackets_of_links() -> None:
    purposes = dict(row for row in modules("engine"))
    assert purposes["`engine::survey`"].count("(`node`)") == 1
    assert [name for name, purpose in purposes.items() if len(purpose) < len("A room.")] == []


def test_circles_of_imports_are_found() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("x", "y"), ("y", "x"), ("x", "a")]
    imports = [(Module(f"ioassay.{importer}.m"), Module(f"ioassay.{imported}.m")) for importer, imported in pairs]
    assert circles(imports) == [["ioassay.a.m", "ioassay.b.m", "ioassay.c.m"], ["ioassay.x.m", "ioassay.y.m"]]


def test_a_room_may_not_get_more_modules_in_circles_and_a_lower_number_is_to_be_written() -> None:
    group = ["ioassay.store.a", "ioassay.store.b"]
    assert not list(changed_circles([group], {"store": 2}))
    assert list(changed_circles([group], {})) == [
        "store: 2 modules are in circles, at most 0 may be: ioassay.store.a <-> ioassay.store.b"
    ]
    assert list(changed_circles([], {"store": 2})) == [
        "store: 0 modules are in circles; write that number instead of 2"
    ]


def test_modules_of_sizing_systems_studies_and_tuning_are_in_no_circle() -> None:
    assert not list(changed_circles(circles(python_imports()), CIRCLES))
    assert not {"sizing", "systems", "studies", "tuning"} & set(CIRCLES)

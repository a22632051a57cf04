"""The built-in systems say what their sources print, all of it, and nothing else.

The sources are not part of ioassay; `testdata` has the numbers of their lines (`ioassay.systems.extract`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from ioassay.systems.extract import TESTDATA, Printed, read_printed, tokens
from ioassay.systems.library import builtin_systems
from ioassay.systems.model import Place, Qualifier, Reference, StatedOperand, System

SYSTEMS = builtin_systems()
PRINTED = read_printed()
LEFT_OUT = yaml.safe_load((TESTDATA / "left_out.yaml").read_text())


def printed_at(system: System, place: Place) -> list[tuple[str, list[str]]]:
    """The file, and what each of the lines prints."""
    file = system.sources[place.source].file
    assert file is not None
    assert place.lines
    return [(f"{file}:{line}", PRINTED[file].lines.get(str(line), [])) for line in place.lines]


def quotations(system: System) -> Iterator[tuple[str, str, Place]]:
    """What stands on every line that is named for it."""
    for figure in system.figures:
        yield figure.id, figure.value, figure.at
    for claim in system.claims:
        yield claim.id, claim.says, claim.at
        for operand in (operand for point in claim.of for operand in point):
            if isinstance(operand, StatedOperand) and operand.at:
                yield claim.id, operand.amount.text, operand.at


def lines(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_figure_and_claim_stands_where_it_says(name: str) -> None:
    for id, text, place in quotations(SYSTEMS[name]):
        for where, here in printed_at(SYSTEMS[name], place):
            assert text in here, f"{id}: {text} is not in {where}"


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_number_of_a_setting_stands_where_it_says(name: str) -> None:
    for group in SYSTEMS[name].settings.values():
        for setting in group:
            here = [token for _, tokens_ in printed_at(SYSTEMS[name], setting.at) for token in tokens_]
            assert {*tokens(setting.value)} <= {*here}, setting


def printed_qualifiers(system: System, value: str, place: Place) -> set[Qualifier]:
    """How the lines of `place` qualify `value`."""
    file = system.sources[place.source].file
    assert file is not None
    by_qualifier = PRINTED[file].qualified.items()
    return {how for how, lines in by_qualifier for line in place.lines if value in lines.get(str(line), [])}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_figure_or_claim_is_qualified_as_its_lines_qualify_it(name: str) -> None:
    system = SYSTEMS[name]
    # "almost double" is one of the words that are extracted whole, and "does not fall below" follows its number.
    otherwise: set[Qualifier] = {"almost", "at-least"}
    qualified = [(figure.id, figure.value, figure.at, figure.qualifier) for figure in system.figures]
    qualified += [(claim.id, claim.says, claim.at, claim.qualifier) for claim in system.claims]
    for id, value, place, qualifier in qualified:
        expected: set[Qualifier] = {qualifier} - {"exact"} - otherwise
        assert printed_qualifiers(system, value, place) == expected, id


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_claim_compares_figures_of_one_section_of_its_text(name: str) -> None:
    """The figures of a section share their `test`; a share of what hardware is stated to do has two by its nature."""
    system = SYSTEMS[name]
    for claim in system.claims:
        for point in claim.of if claim.how in ("ratio", "percent-better", "percent-less", "greater", "similar") else []:
            operands = [operand for operand in point if isinstance(operand, Reference)]
            figures = [SYSTEMS[operand.system or name].figure(operand.figure) for operand in operands]
            tests = {figure.test for figure in figures if figure is not None} - {"stated bandwidth"}
            assert len(tests) <= 1, f"{claim.id}: {sorted(tests)}"


def named() -> set[tuple[str, int, str]]:
    """Every file, line and number that a system names."""
    numbers: set[tuple[str, int, str]] = set()
    for system in SYSTEMS.values():
        quoted = [(text, place) for _, text, place in quotations(system)]
        quoted += [(str(count), figure.at) for figure in system.figures for count in (figure.clients, figure.threads)]
        quoted += [
            (token, setting.at)
            for group in system.settings.values()
            for setting in group
            for token in tokens(setting.value)
        ]
        for text, place in quoted:
            numbers |= {(system.sources[place.source].file or "", line, text) for line in place.lines}
    return numbers


def unnamed(file: str, printed: Printed) -> set[tuple[int, str]]:
    """The numbers of a text that no system names. Words that stand for numbers are not counted."""
    here = named()
    return {
        (int(line), token)
        for line, all_of_it in printed.lines.items()
        for token in all_of_it
        if token[0].isdigit() and (file, int(line), token) not in here
    }


@pytest.mark.parametrize("file", PRINTED)
def test_every_number_is_named_or_left_out_for_a_reason(file: str) -> None:
    rest = unnamed(file, PRINTED[file])
    for entry in LEFT_OUT[file]:
        assert entry["reason"]
        if "repeats" in entry:
            original = PRINTED[entry["repeats"]].lines
            for line, here in PRINTED[file].lines.items():
                assert here == original[str(int(line) + entry["from"] - 1)]
            rest = set()
            continue
        numbers = entry.get("numbers")
        out = {(line, token) for line, token in rest if line in lines(entry["lines"]) and token in (numbers or [token])}
        assert {line for line, _ in out} == {*lines(entry["lines"])}, entry
        assert {token for _, token in out} == {*(numbers or [token for _, token in out])}, entry
        rest -= out
    assert not rest, sorted(rest)


def test_the_sources_are_all_that_systems_name() -> None:
    files = {document.file for system in SYSTEMS.values() for document in system.sources.values()}
    repeating = {file for file, entries in LEFT_OUT.items() if any("repeats" in entry for entry in entries)}
    assert files | repeating == {*PRINTED} == {*LEFT_OUT}

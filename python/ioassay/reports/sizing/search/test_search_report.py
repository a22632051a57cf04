"""What the report of a search says; the searches are made by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.reports.sizing.search import SearchReport, wording
from ioassay.reports.sizing.search.configuration_yaml import configuration_yaml
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Origin, Value, exactly, product
from ioassay.sizing.catalogue import load
from ioassay.sizing.components import Brick
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.packing import Item, PackedRack
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.model import Answer, Margin, Movement, Need, Search, Shortfall
from ioassay.sizing.search.read import read as read_requirements
from ioassay.sizing.search.search import search
from ioassay.systems.amounts import RACK_UNITS, parse_amount
from ioassay.testing.terminal_text import terminal_text

REQUIREMENTS = Requirements.model_validate({"name": "site", "write": "30GB/s", "limits": {"racks": "3"}})
BRICK = Item("md3460-performance", 5, (("md3460", 4), ("r620", 1)))


def _given(name: str, text: str) -> Value:
    amount = parse_amount(text)
    return Value(name, amount.exact, amount.dimension, Origin("given"), text)


FED = product("required read rate", exactly("accelerators", 16), _given("read rate of an accelerator", "2GB/s"))
USABLE = Need("usable", _given("required usable capacity", "1PiB"))
WRITE = Need("write", _given("required write rate", "30GB/s"))
READ = Need("read", FED)
RACKS = Need("racks", exactly("racks", 3), is_most=True)


def _answer(role: str, count: int, drive: str, **more: object) -> Answer:
    bricks = [{"brick": "md3460-performance", "count": str(count), "drive": drive}]
    configuration = Configuration.model_validate({"bricks": bricks, **more})
    size = evaluate(load(), role, configuration)
    racks = tuple(PackedRack(42, (BRICK,) * min(8, count - placed)) for placed in range(0, count, 8))
    margins = (
        Margin(USABLE, size.capacity.usable),
        Margin(WRITE, size.rates["healthy"]["write"].value),
        Margin(RACKS, exactly("racks", len(racks))),
    )
    assert size.rack_units is not None
    return Answer(role, configuration, size, {}, margins, racks, size.rack_units)


def _movement(factor: float, after: int | None) -> Movement:
    before, cost = (("md3460-performance", 8),), None
    if after is not None:
        cost = exactly("rack units", 5 * after, RACK_UNITS)
    now = None if after is None else (("md3460-performance", after),)
    return Movement("write rate of md3460-controllers", _given("w", "4.5GB/s"), factor, before, now, cost)


def _search(
    answers: Sequence[Answer] = (), shortfalls: Sequence[Shortfall] = (), movements: Sequence[Movement] = ()
) -> Search:
    return Search(
        requirements=REQUIREMENTS,
        needs=(USABLE, WRITE, READ, RACKS),
        cost="rack units",
        currency=None,
        candidates=12,
        dominated=7,
        answers=tuple(answers),
        shortfalls=tuple(shortfalls),
        movements=tuple(movements),
        unknown=("isilon-x: its write rate is unknown.",),
        is_complete=True,
        limit_s=8.0,
        is_impossible=bool(shortfalls),
    )


@pytest.fixture(scope="module")
def two_answers() -> Search:
    answers = [_answer("cheapest", 8, "nl-sas-4tb"), _answer("largest", 20, "nl-sas-6tb")]
    return _search(answers, movements=[_movement(0.8, 10), _movement(1.2, None)])


def _markdown(search: Search) -> str:
    return reports.build(SearchReport(search, load()), "md").decode()


def _terminal(search: Search) -> str:
    return terminal_text(SearchReport(search, load()).terminal())


def test_the_verdict_names_the_cheapest_with_what_it_holds_does_and_takes(two_answers: Search) -> None:
    assert wording.verdict(two_answers) == (
        "The smallest of 2 configurations that meet all requirements: 8 × md3460-performance with nl-sas-4tb. "
        f"{formulas.amount(two_answers.answers[0].size.capacity.usable)} usable, 36 GB/s write, 36 GB/s read; 40 U in "
        "1 rack."
    )


def test_bricks_that_were_left_out_are_counted_by_the_reason() -> None:
    unknown = ("a with d: power unknown.", "b with d: power unknown.")
    fragile = ("c with d survives the loss of 0 servers, not of 1. It has one server.",)
    search = replace(_search(), unknown=unknown, fragile=fragile)
    assert wording.left_out_by_reason(search) == [
        "2 components: power unknown.",
        "1 component: survives the loss of 0 servers, not of 1. It has one server.",
    ]


def test_one_of_a_kind_is_named_in_the_singular(two_answers: Search) -> None:
    assert wording.scope_of_search(replace(two_answers, candidates=1, dominated=0)).startswith(
        "1 brick with its drives was"
    )
    assert wording.movement(_movement(1.2, 1), two_answers.answers[0]).endswith("8 → 1 brick")


def test_the_front_stands_before_the_needs_and_each_configuration_after_them(two_answers: Search) -> None:
    text = _markdown(two_answers)
    places = [
        text.index(heading) for heading in ("## Answer", "largest", "## What is needed", "## 1. 8 ×", "## 2. 20 ×")
    ]
    assert places == sorted(places)
    assert "| Write rate | at least | 30 GB/s | 36 GB/s | +20 % |" in text
    assert "| Racks | at most | 3 racks | 1 rack | 33 % used |" in text


def test_a_need_that_was_computed_has_its_arithmetic(two_answers: Search) -> None:
    assert "required read rate = 16 accelerators × 2 GB/s = 32 GB/s" in _markdown(two_answers)


def test_a_figure_that_is_off_moves_the_answer_in_one_line(two_answers: Search) -> None:
    lower, higher = (wording.movement(movement, two_answers.answers[0]) for movement in two_answers.movements)
    assert lower == "write rate of md3460-controllers 20 % lower: 8 → 10 bricks"
    assert higher == "write rate of md3460-controllers 20 % higher: cannot be met"
    assert "isilon-x: its write rate is unknown." in _markdown(two_answers)


def test_a_terminal_of_80_columns_shows_the_verdict_and_the_first_configuration(two_answers: Search) -> None:
    text = _terminal(two_answers)
    assert text.index("The smallest of 2") < text.index("Margins") < text.index("What moves the answer")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_terminal_names_what_exceeds_the_recommendations_for_a_file_system(two_answers: Search) -> None:
    catalogue = load()
    name = "md3460-performance"
    brick = catalogue.find(name, Brick)
    wide = brick.model_copy(
        update={
            "file_system": "lustre-zfs",
            "redundancy": brick.redundancy.model_copy(update={"layout": "raidz2", "data": 28, "groups": 2}),
        }
    )
    entries = {**catalogue.entries, name: replace(catalogue.entries[name], component=wide)}
    text = terminal_text(SearchReport(two_answers, replace(catalogue, entries=entries)).terminal())
    assert "Limits of the file system" not in _terminal(two_answers)
    assert "Drives of a raidz group  30 exceeded  9 recommended" in text


def test_the_page_has_the_front_the_tornado_and_racks_and_the_same_bytes_each_time(two_answers: Search) -> None:
    pages = [reports.build(SearchReport(two_answers, load()), "html") for _ in range(2)]
    assert pages[0] == pages[1]
    drawn = re.findall(r'<figure id="([^"]*)"', pages[0].decode())
    assert {"figure-front", "figure-sensitivity", "figure-racks-1-1", "figure-racks-2-1"} <= set(drawn)
    ids = re.findall(r' id="([^"]*)"', pages[0].decode())
    assert len(ids) == len(set(ids))


def test_a_figure_that_moves_nothing_is_in_the_table_and_not_drawn(two_answers: Search) -> None:
    still = replace(_movement(0.8, 8), figure="link of fdr")
    page = reports.build(
        SearchReport(replace(two_answers, movements=(*two_answers.movements, still)), load()), "html"
    ).decode()
    drawn = page[page.index('<figure id="figure-sensitivity"') :]
    assert "Link of fdr" not in drawn[: drawn.index("</figure>")]
    assert "Link of fdr" in drawn


def test_the_front_and_the_ceilings_of_each_tier_are_drawn() -> None:
    wishes, catalogue = read_requirements(Path(__file__).parents[5] / "examples/sizing/flash-and-disk.yaml")
    page = reports.build(SearchReport(search(wishes, catalogue, limit_s=300), catalogue), "html").decode()
    drawn = re.findall(r'<figure id="([^"]*)"', page)
    assert {f"figure-{what}-{tier}" for what in ("front", "ceilings") for tier in ("flash", "disk")} <= set(drawn)
    assert "The cost is that of all tiers together." in page


def test_the_yaml_of_an_answer_gives_the_same_size_again(tmp_path: Path) -> None:
    link = {"value": "56Gb/s", "assumed": "FDR."}
    points = [{"count": "8", "rate": {"value": "30GB/s", "assumed": "Measured."}}]
    answer = _answer(
        "cheapest",
        8,
        "nl-sas-4tb",
        clients={"count": "16", "link": link},
        scaling={"by": "table", "points": {"write": points}},
        request="64k",
        rack="rack-42u",
    )
    path = tmp_path / "cheapest.yaml"
    sources = {"sources": {"paper": {"title": "A paper"}}}
    requirements = Requirements.model_validate({"name": "site", "write": "30GB/s", **sources})
    path.write_text(configuration_yaml(answer, requirements))
    file, catalogue = read(str(path))
    (again,) = file.configurations.values()
    assert again == answer.configuration
    assert evaluate(catalogue, "cheapest", again) == answer.size


def test_a_requirement_that_cannot_be_met_says_by_how_much_and_why() -> None:
    missing = Shortfall(WRITE, _given("best", "27GB/s"), "1 rack of 42 U")
    assert wording.shortfall(missing, None) == (
        "Write rate: 30 GB/s needed, 27 GB/s possible, 3 GB/s short (10 %); limited by 1 rack of 42 U."
    )
    text = _markdown(_search(shortfalls=[missing]))
    assert "**No configuration meets the requirements.**" in text
    assert "3 GB/s short (10 %)" in text


def test_requirements_that_contradict_each_other_are_named_together() -> None:
    too_many = Shortfall(RACKS, exactly("racks", 5), "30 GB/s of sequential writes", (USABLE, WRITE))
    assert wording.shortfall(too_many, None) == (
        "Racks: 3 racks allowed, 5 racks required together with a usable capacity of at least 1.126 PB (1 PiB) and a "
        "write rate of at least 30 GB/s, 2 racks too many (67 %)."
    )
    assert wording.CONFLICT in _markdown(_search(shortfalls=[too_many]))


def test_a_search_that_the_time_limit_ended_says_so(two_answers: Search) -> None:
    assert "Not proved to be the best" in _markdown(replace(two_answers, is_complete=False))
    ended = replace(_search(), is_complete=False, limit_s=8.0)
    assert "the time limit, 8 s of processor time, ended the search before" in wording.verdict(ended)
    proved = replace(ended, is_impossible=True)
    assert wording.verdict(proved).startswith("No configuration meets the requirements, which is proved; the time")


def test_costs_are_in_the_currency_asked_for(two_answers: Search) -> None:
    priced = replace(two_answers, cost="price", currency="EUR")
    assert wording.cost(priced, exactly("price", 1_880_000)) == "1,880,000 EUR"
    assert wording.verdict(priced).startswith("The cheapest of 2")


def test_the_data_have_every_answer_with_its_yaml_and_the_table_a_row_for_each(two_answers: Search) -> None:
    report = SearchReport(two_answers, load())
    data = json.loads(reports.build(report, "json"))
    assert data["is_met"]
    assert [answer["role"] for answer in data["answers"]] == ["cheapest", "largest"]
    assert data["answers"][0]["margins"][1]["has_bytes_per_s"]["nominal"] == 36e9
    assert "md3460-performance" in data["answers"][0]["configuration_yaml"]
    assert data["movements"][1]["after"] is None
    rows = list(csv.DictReader(io.StringIO(reports.build(report, "csv").decode())))
    assert [row["racks"] for row in rows] == ["1", "3"]


def test_impossible_requirements_have_data_too() -> None:
    missing = Shortfall(WRITE, _given("best", "27GB/s"), "1 rack of 42 U", (USABLE,))
    data = json.loads(reports.build(SearchReport(_search(shortfalls=[missing]), load()), "json"))
    assert not data["is_met"]
    (shortfall,) = data["shortfalls"]
    assert shortfall["best_bytes_per_s"]["nominal"] == 27e9
    assert shortfall["together"][0]["what"] == "usable"


def test_left_out_candidates_have_a_reason_and_the_cost_at_which_the_search_ended(two_answers: Search) -> None:
    ended = replace(two_answers, fragile=("md3460: it has one server.",), cost_ends_at=Fraction(80))
    text = _markdown(ended)
    assert "- md3460: it has one server." in text
    assert "12 bricks with their drives were considered, 7 of them beaten by another one in everything. " in text
    assert "the search ended at 80 U." in text


def test_a_terminal_counts_what_was_left_out(two_answers: Search) -> None:
    text = " ".join(_terminal(replace(two_answers, fragile=("a: one server.", "b: one server."))).split())
    assert "1 because too little is known of them and 2 because they do not survive" in text

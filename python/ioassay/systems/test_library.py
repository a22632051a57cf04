"""Systems as they are written: the built-in ones, one's own, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.systems import document
from ioassay.systems.claims import check
from ioassay.systems.figure_table import SCHEMA, rows
from ioassay.systems.library import builtin_systems, find_system, read
from ioassay.systems.reference import PAGE, page
from ioassay.yaml_models.reference import DOCS, formatted
from ioassay.yaml_models.source import SourceError, parse_source

KNOWN = builtin_systems()

HEAD = "name: mine\ntitle: For tests\nsources: {paper: {title: Made up}}\n"
FIGURE = "figures:\n  - {id: a, test: any, operation: write, value: 1 GB/s, at: paper}\n"


def refusal(text: str) -> str:
    with pytest.raises(SourceError) as refused:
        read(parse_source(text, "mine.yaml", "system"), KNOWN)
    return refused.value.message


@pytest.mark.parametrize("name", KNOWN)
def test_a_built_in_system_is_called_like_its_file_and_says_where_each_figure_stands(name: str) -> None:
    system = find_system(name, KNOWN)
    assert system.name == name
    assert system.figures
    assert all(source.file for source in system.sources.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "figurs: []\n", "mine.yaml:4: figurs: unknown key; did you mean `figures`?"),
        ("name: mine\ntitle: x\n", "mine.yaml:1: sources: is missing; add it"),
        (
            HEAD + FIGURE.replace("1 GB/s", "1 GX/s"),
            'mine.yaml:5: figures[0]: "1 GX/s" has the unknown unit "GX/s"; use',
        ),
        (HEAD + FIGURE.replace("1 GB/s", "quick"), 'mine.yaml:5: figures[0]: "quick" is not a number with a unit'),
        (
            HEAD + FIGURE.replace("at: paper}", "low: 0.5 GB/s, at: paper}"),
            "mine.yaml:5: figures[0]: has one end of a band; give both `low` and `high`, or neither",
        ),
        (
            HEAD + FIGURE.replace("at: paper}", "low: 2 GB/s, high: 3 GB/s, at: paper}"),
            'mine.yaml:5: figures[0]: has its value, "1 GB/s", outside of `low` to `high`',
        ),
        (
            HEAD + FIGURE.replace("at: paper}", "low: 2 IOPS, high: 3 GB/s, at: paper}"),
            "mine.yaml:5: figures[0]: has `low` or `high` in another unit than its value",
        ),
        (
            HEAD + FIGURE.replace("write", "wirte"),
            'mine.yaml:5: figures[0].operation: "wirte" is unknown; did you mean',
        ),
        (
            HEAD + FIGURE.replace("write", "[write, read]"),
            "mine.yaml:5: figures[0].operation: is not a word; use one of `write`, `read`",
        ),
        (HEAD + FIGURE.replace("paper", "papr:3"), 'mine.yaml:5: figures[0].at: the source "papr" is unknown; did you'),
        (HEAD + FIGURE.replace("paper", "p. 3"), 'mine.yaml:5: figures[0].at: "p. 3" is not a place; write the source'),
        (
            HEAD + FIGURE.replace("paper", "paper:9-7"),
            'mine.yaml:5: figures[0].at: "paper:9-7" goes backwards; write 7-9',
        ),
        (HEAD + FIGURE + FIGURE.splitlines()[1], 'mine.yaml:6: figures[1].id: "a" is given twice; call one of them'),
        (HEAD + "test_bed: isilon\n", 'mine.yaml:4: test_bed: the system "isilon" is unknown; did you mean'),
    ],
)
def test_mistakes_are_refused_with_their_line(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("says: 7x", "claims[0]: is to be recomputed or not; give `how` and `of`, or `cannot`"),
        ("says: 7x, how: same, of: [a], cannot: because", "claims[0]: is to be recomputed or not"),
        ("says: 7x, how: ratio, of: [a]", "claims[0]: has 1 operands; `ratio` takes 2"),
        ("says: 7x, how: sum, of: [a]", "claims[0]: has 1 operands; `sum` takes two or more"),
        ("says: fast, how: same, of: [a]", 'claims[0]: "fast" is not a number with a unit'),
        ("says: 7x, how: ratoi, of: [a, a]", 'claims[0].how: "ratoi" is unknown; did you mean `ratio`?'),
        ("says: 7x, how: ratio, of: [a, b]", 'claims[0].of: mine has no figure "b"; use `a`'),
        (
            "says: 7x, how: ratio, of: [a, ast/usable]",
            'claims[0].of: the system "ast" is unknown; did you mean `astra`',
        ),
        ("says: 7x, how: ratio, of: [a, astra/x]", 'claims[0].of: astra has no figure "x"'),
        ("says: 7x, how: ratio, of: [a, 60 @ papr:2]", 'claims[0].of: the source "papr" is unknown'),
        ("says: 7x, how: ratio, of: [a, 60 @ p. 2]", 'claims[0].of: "p. 2" is not a place'),
        ("says: 7x, how: ratio, of: [a, a b]", 'claims[0].of: "a b" is not an operand'),
        ("says: 7x, how: ratio, of: [a, [a]]", "claims[0].of: mixes operands and points"),
        ("says: 7x, how: ratio, of: a", "claims[0].of: is not a list of operands"),
    ],
)
def test_a_claim_that_cannot_be_meant_is_refused_with_its_line(claim: str, message: str) -> None:
    text = f"{HEAD}{FIGURE}claims:\n  - {{id: it, at: paper, {claim}}}\n"
    assert refusal(text).startswith(f"mine.yaml:7: {message}")


@pytest.mark.parametrize(
    ("place_text", "lines", "text"),
    [
        ("paper", (), "paper"),
        ("paper:12", (12,), "paper:12"),
        ("paper:12,40-42", (12, 40, 41, 42), "paper:12, 40-42"),
        ("paper:12, 13,  14", None, ""),
        ("paper:12, 13", (12, 13), "paper:12-13"),
    ],
)
def test_a_place_is_a_source_and_lines(place_text: str, lines: tuple[int, ...] | None, text: str) -> None:
    written = HEAD + FIGURE.replace("at: paper", f'at: "{place_text}"')
    if lines is None:
        assert "is not a place" in refusal(written)
        return
    place = read(parse_source(written, "mine.yaml", "system"), KNOWN).figures[0].at
    assert (place.lines, str(place)) == (lines, text)


def test_an_unknown_name_suggests_a_near_one() -> None:
    with pytest.raises(UsageError, match="did you mean `isilon-f800`"):
        find_system("isilon-f80", KNOWN)


def test_the_system_of_the_guide_can_be_read_and_its_claims_follow() -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/systems.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    system = read(parse_source(text, "guide.yaml", "system"), KNOWN)
    assert [checked_claim.verdict for checked_claim in check(system, KNOWN)] == ["follows", "follows"]


@pytest.mark.parametrize("name", KNOWN)
def test_rows_have_a_rate_where_the_figure_is_one(name: str) -> None:
    table = rows(KNOWN[name])
    assert dict(table.schema) == SCHEMA
    assert table["figure"].to_list() == [figure.id for figure in KNOWN[name].figures]
    for row, figure in zip(table.to_dicts(), KNOWN[name].figures, strict=True):
        rates = (row["rate_bytes_per_s"], row["rate_operations_per_s"])
        wanted = {"bytes/s": (figure.amount.base, None), "operations/s": (None, figure.amount.base)}
        assert rates == wanted.get(figure.amount.dimension.unit, (None, None))


def test_rows_are_in_base_units() -> None:
    row = rows(KNOWN["isilon-f800"]).row(by_predicate=None, index=9, named=True)
    assert row == {
        "system": "isilon-f800",
        "figure": "random-read",
        "configuration": "32 GB per client",
        "test": "random N-N",
        "tool": "IOR",
        "operation": "read",
        "layout": "N-N",
        "order": "random",
        "transfer_bytes": 4096,
        "file_set_bytes": None,
        "files": None,
        "clients": None,
        "threads": None,
        "rate_bytes_per_s": 2.7e9,
        "rate_operations_per_s": None,
        "low": None,
        "high": None,
        "level": "peak",
        "qualifier": "about",
        "source": "000_30addbc7318983f3.txt",
        "line": 259,
    }


def test_a_system_without_figures_has_no_rows() -> None:
    assert rows(read(parse_source(HEAD, "mine.yaml", "system"), KNOWN)).is_empty()


def test_a_document_has_a_figure_as_printed_and_in_base_units() -> None:
    whole = document.whole(KNOWN["isilon-f800"], [])
    (figure,) = (figure for figure in whole["figures"] if figure["id"] == "compared-random-read")
    assert (figure["printed"], figure["value"], figure["unit"]) == ("140K", 140, "K IOPS")
    assert (figure["base_value"], figure["base_unit"]) == (140_000, "operations/s")
    assert figure["at"] == {"source": "000_30addbc7318983f3.txt", "lines": [283]}


def test_a_document_of_a_prediction_says_so_and_has_its_range_in_base_units() -> None:
    text = HEAD + "predicts: isilon-2018\n" + FIGURE.replace("at: paper}", "low: 500 MB/s, high: 2 GB/s, at: paper}")
    whole = document.whole(read(parse_source(text, "mine.yaml", "system"), KNOWN), [])
    (figure,) = whole["figures"]
    assert whole["predicts"] == "isilon-2018"
    assert (figure["low"]["printed"], figure["low"]["base_value"]) == ("500 MB/s", 500e6)
    assert (figure["high"]["base_value"], figure["high"]["base_unit"]) == (2e9, "bytes/s")


def test_the_page_in_the_checkout_is_the_generated_one() -> None:
    assert (DOCS / PAGE).read_text() == formatted(page())

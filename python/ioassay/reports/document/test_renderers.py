"""A made-up document with every kind of block, in every rendering."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

from ioassay.figures.picture import Picture
from ioassay.reports import document
from ioassay.reports.document import (
    Anchor,
    Block,
    Bullets,
    Column,
    Commands,
    Contents,
    Document,
    Figure,
    Marks,
    Notes,
    Paragraph,
    Preformatted,
    References,
    Section,
    Span,
    Table,
    Text,
    changes,
    html,
    markdown,
)
from ioassay.testing.browser import dumped
from ioassay.testing.terminal_text import terminal_text

PICTURE = Picture("rate", "Rate", "<svg/>", pl.DataFrame({"rate_gb_per_s": [1.2]}), "A dot per run.", "a rising line")

RATES = Table(
    [Column("Point", wraps=False), Column("Rate", is_number=True), Column("Verdict")],
    [
        ["1 client", ("1.20 GB/s", Marks(("a", "b")), Span("at 8 ranks", "below")), Span("held", "passed")],
        ["a|b <c>", ("0.60 GB/s", Marks(())), Span("declined", "failed")],
    ],
    "Rates of every point",
)

BLOCKS: list[Block] = [
    Section(
        "Results",
        [
            Paragraph(("It is ", Span("not", "strong"), " & never was; see ", Span("there", anchor="doubts"), ".")),
            Section("Rates", [RATES, Figure(PICTURE), Notes(["Measured at night."])]),
        ],
        "results",
    ),
    Section("", [Bullets(["one", ("two", Marks(("c",)))]), Paragraph("In small letters.", note=True)], "doubts"),
    Table([Column(), Column()], [["Target", Span("/mnt/x", "code")]], has_head=False),
    Preformatted("a: 1\nb: <2>", "yaml"),
]

PEAKS = Table(
    [
        Column("Workload", merges=True),
        Column("Phase"),
        Column("Write", is_number=True, group="Peak", full_head="Peak write"),
        Column("at", is_number=True, group="Peak"),
    ],
    [
        [(Anchor("row-1"), "N-N"), "one", "1 GB/s", "8"],
        ["N-1", "two", Span("2 GB/s", "faint"), "8"],
        ["N-1", "three", "3 GB/s", Marks(("a",))],
    ],
    title="Peaks",
    rules=changes(["N-N", "N-1", "N-1"]),
    density="wide",
)

REFERENCES = [Span(name, anchor="row-1") for name in ("one", "two", "three")]

APPENDIX = Section(
    "Appendix",
    [
        PEAKS,
        Bullets([(Anchor("finding-1"), "It falls. ", References(tuple(REFERENCES), "3 measurements"))]),
        Section("Folded", [Commands([("write", "ior -w"), ("read", "ior -r")])], "folded", fold="open"),
        Table([Column("Nothing")], [], title="Without a row"),
    ],
    "appendix",
)

MORE: list[Block] = [Contents([APPENDIX]), APPENDIX]
"""What reports of runs have besides."""

WHOLE = Document("A <title>", BLOCKS, "How fast?", "In the browser", "Written by hand.")


@pytest.fixture(scope="module")
def page() -> str:
    return html.rendered(WHOLE)


@pytest.fixture(scope="module")
def shown() -> str:
    return "\n".join(line.rstrip() for line in terminal_text(BLOCKS).splitlines())


def test_a_narrow_terminal_gets_commands_and_pictures_in_whole_lines() -> None:
    lines = [
        "ioassay tune apply " + "block:sda/nr_requests=1024 " * 5 + "end",
        "█" * 100,
        "key: " + "value " * 20 + "end",
    ]
    text = terminal_text([Commands([("All", lines[0])]), Figure(None, lines[1]), Preformatted(lines[2])], 60)
    assert text.splitlines() == ["All", f"  {lines[0]}", *lines[1:]]


def test_a_terminal_alone_shortens_long_names_in_the_middle() -> None:
    name = f"/scratch/{'deep er/' * 480}output.h5"
    word = f"/scratch/{'deep/' * 760}output.h5"
    blocks: list[Block] = [
        Table([Column("File"), Column("Calls")], [[Span(name, "code"), "7"]]),
        Bullets([f"Most are in {word}."]),
        Commands([("Remove it:", f"rm {word}")]),
    ]
    *lines, command = terminal_text(blocks, width=80).splitlines()
    assert command == f"  rm {word}"
    assert len(lines) < 12
    assert max(map(len, lines)) <= 80
    shown = "".join(line.strip() for line in lines)
    assert (shown.count("…"), shown.count("output.h5")) == (2, 2)
    for text in (markdown.rendered(Document("Names", blocks)), html.rendered(Document("Names", blocks))):
        assert name in text
        assert word in text


def test_names_with_control_characters_are_escaped_wherever_they_are_shown() -> None:
    name, shown = Span("/data/we\nird\x1b[2J", "code"), r"/data/we\nird\x1b[2J"
    names_document = Document("Names", [Bullets([name]), Paragraph((References((name, name, name), "3 files"), ""))])
    assert shown in terminal_text(names_document.blocks)
    assert markdown.rendered(names_document).count(shown) == 1 + 2
    assert html.rendered(names_document).count(shown) == 1 + 3


def test_a_terminal_indents_what_follows_in_an_item() -> None:
    lines = [line.rstrip() for line in terminal_text([Bullets(["a word " * 6, "another"])], 30).splitlines()]
    assert lines == ["  a word a word a word a", "    word a word a word", "  another"]


@pytest.mark.parametrize(
    ("name", "shown"), [("/a", "`/a`"), ("/a`b", "`` /a`b ``"), ("``", "``` `` ```")], ids=["none", "one", "two"]
)
def test_markdown_shows_names_with_backticks_whole(name: str, shown: str) -> None:
    assert markdown.inline(Span(name, "code")) == shown


_MARK_CUT_CELLS = """<script>
for (const cell of document.querySelectorAll("th, td")) if (cell.scrollWidth > cell.clientWidth) cell.className = "cut";
</script>"""


@pytest.mark.usefixtures("browser")
def test_long_names_do_not_push_numbers_off_a_sheet_of_paper(tmp_path: Path) -> None:
    columns = [Column("Region"), *[Column(f"Number {index}", is_number=True) for index in range(6)]]
    page = html.rendered(Document("T", [Table(columns, [["r" * 250, *["1,234,567"] * 6]])]))
    mark = _MARK_CUT_CELLS.replace("cell.scrollWidth > cell.clientWidth", "cell.getBoundingClientRect().right > 700")
    sheet = re.sub("<meta http-equiv[^>]*>", "", page).replace("@media print", "@media all")
    (tmp_path / "page.html").write_text(sheet.replace("</body>", f"{mark}</body>"))
    shown = dumped(tmp_path / "page.html", 700)
    assert shown.count("1,234,567</td>") == 6
    assert 'class="cut"' not in shown


@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize("width", [500, 1200])
def test_long_names_do_not_run_into_the_next_column(width: int, tmp_path: Path) -> None:
    columns = [Column("Name"), *[Column(f"Number {index}", is_number=True) for index in range(6)]]
    names: list[Text] = [Span("/scratch/" + "d" * 150, "code"), "region" * 25]
    page = html.rendered(Document("T", [Table(columns, [[name, *["1,234,567"] * 6] for name in names])]))
    policy = re.compile("<meta http-equiv[^>]*>")
    (tmp_path / "page.html").write_text(policy.sub("", page).replace("</body>", f"{_MARK_CUT_CELLS}</body>"))
    shown = dumped(tmp_path / "page.html", width)
    assert shown.count("<td") == 12
    assert 'class="cut"' not in shown


def test_the_made_up_document_has_every_kind_of_block() -> None:
    def kinds(blocks: list[Block]) -> set[type]:
        within = [kinds(list(block.blocks)) for block in blocks if isinstance(block, Section)]
        return set(map(type, blocks)).union(*within)

    assert kinds([*BLOCKS, *MORE]) == set(get_args(document.Block))


def test_a_page_has_every_block_with_its_words_escaped(page: str) -> None:
    assert "<title>In the browser</title>" in page
    assert "<h1>A &lt;title&gt;</h1>" in page
    assert '<section id="results">\n<h2>Results</h2>' in page
    assert "<h3>Rates</h3>" in page
    assert '<p>It is <b>not</b> &amp; never was; see <a href="#doubts">there</a>.</p>' in page
    assert '<p class="note">Measured at night.</p>' in page
    assert '<p class="note">In small letters.</p>' in page
    assert "<li>one</li>" in page
    assert "<td><code>/mnt/x</code></td>" in page
    assert "<pre>a: 1\nb: &lt;2&gt;</pre>" in page
    assert "<footer>Written by hand.</footer>" in page


def test_a_page_numbers_its_tables_and_figures_and_marks_doubts(page: str) -> None:
    assert "<caption>Table 1. Rates of every point</caption>" in page
    assert page.count("<caption>") == 1
    assert '<th scope="col" class="number">Rate</th>' in page
    assert '<th scope="row" class="name">a|b &lt;c&gt;</th>' in page
    letters = "".join(f'<a href="#doubt-{letter}" title="doubt {letter}">{letter}</a>' for letter in "ab")
    assert f'<td class="number">1.20 GB/s<sup>{letters}</sup><small>at 8 ranks</small></td>' in page
    assert '<td><span class="failed">declined</span></td>' in page
    assert "<b>Figure 1. Rate.</b> A dot per run." in page
    assert '<a href="data:text/csv;charset=utf-8,rate_gb_per_s%0A1.2%0A" download="rate.csv"' in page


@pytest.mark.parametrize("style", get_args(document.Style))
def test_every_style_stands_out_on_a_page_with_a_class_that_the_page_defines(style: document.Style) -> None:
    page = html.rendered(Document("T", [Paragraph(Span("told", style))]))
    (tag, name) = re.findall(r'<p><(\w+)(?: class="([^"]*)")?>told</\1></p>', page)[0]
    assert f".{name} {{" in page if name else tag in ("b", "code", "small")


def test_a_page_has_contents_folds_and_commands() -> None:
    page = html.rendered(Document("T", MORE))
    assert '<nav class="contents" aria-label="Contents">\n<a href="#appendix">Appendix</a>\n</nav>' in page
    assert '<details id="folded" open="open">\n<summary>Folded</summary>\n<dl class="commands">' in page
    assert "<div><dt>write</dt><dd>ior -w</dd></div>" in page


def test_a_page_has_groups_of_heads_rules_anchors_and_cells_that_are_shown_once() -> None:
    page = html.rendered(Document("T", MORE))
    assert page.count("<caption>") == 1
    assert '<div class="scroll dense wide"><table>\n<caption>Table 1. Peaks</caption>' in page
    assert '<td colspan="2"></td><th scope="colgroup" colspan="2">Peak</th>' in page
    assert '<tr id="row-1" class="first"><th scope="row">N-N</th>' in page
    assert '<tr class="first"><th scope="row">N-1</th><td>two</td>' in page
    assert '<tr><th scope="row"></th><td>three</td>' in page
    assert '<td class="number"><span class="marks"><a href="#doubt-a" title="doubt a">a</a></span></td>' in page


def test_paper_may_break_a_long_table_and_gives_a_tall_figure_more_height() -> None:
    rows = [[str(index)] for index in range(html.LONG + 1)]
    tables = [Table([Column("N")], rows[:-1]), Table([Column("N")], rows, density="narrow")]
    svg = '<svg width="600" height="{}"></svg>'
    figures = [Figure(replace(PICTURE, id=f"of-{height}", svg=svg.format(height))) for height in (300, 500)]
    page = html.rendered(Document("T", [*tables, *figures]))
    assert re.findall(r'<div class="(scroll[^"]*)"', page) == ["scroll", "scroll narrow long"]
    assert re.findall(r'<figure id="figure-of-(\d+)" class="([^"]*)"', page) == [
        ("300", "broad"),
        ("500", "broad tall"),
    ]
    assert ".long)" in page
    assert ".tall svg" in page


def test_a_section_and_its_figure_of_one_name_have_ids_of_their_own() -> None:
    page = html.rendered(Document("T", [Section("Answer", [Figure(replace(PICTURE, id="answer"))], "answer")]))
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert {"answer", "figure-answer"} <= set(ids)
    assert 'download="answer.csv"' in page


def test_many_references_are_counted_on_a_page_and_text_shows_the_first() -> None:
    page, text = (form.rendered(Document("T", MORE)) for form in (html, markdown))
    links = "; ".join(f'<a href="#row-1">{name}</a>' for name in ("one", "two", "three"))
    folded = f'<details class="note"><summary>3 measurements</summary>{links}</details>'
    assert f'<li id="finding-1">It falls. {folded}</li>' in page
    assert "- It falls. Rests on: one; two; and 1 more.\n" in text
    few = Paragraph(References(tuple(REFERENCES[:1]), "1 measurement"))
    assert '<p><span class="note"><a href="#row-1">one</a></span></p>' in html.rendered(Document("T", [few]))


def test_a_sheet_numbers_nothing() -> None:
    page = html.rendered(Document("T", [PEAKS, Figure(PICTURE)], is_sheet=True))
    assert "Table 1" not in page
    assert "<figcaption><b>Rate</b></figcaption>" in page


def test_markdown_has_full_heads_titles_and_what_a_page_folds() -> None:
    assert markdown.rendered(Document("T", MORE)) == (
        "# T\n\n## Appendix\n\n### Peaks\n\n| Workload | Phase | Peak write | Peak, at |\n| --- | --- | --- | --- |\n"
        "| N-N | one | 1 GB/s | 8 |\n| N-1 | two | 2 GB/s | 8 |\n| N-1 | three | 3 GB/s | [a] |\n\n"
        "- It falls. Rests on: one; two; and 1 more.\n\n### Folded\n\n"
        "```\n# write\nior -w\n# read\nior -r\n```\n"
    )


def test_the_terminal_has_titles_and_cells_that_are_shown_once() -> None:
    lines = [" ".join(line.split()) for line in terminal_text(MORE).splitlines()]
    assert lines == [
        *("Appendix", "Peaks", "Workload Phase Peak write Peak, at"),
        *("N-N one 1 GB/s 8", "N-1 two 2 GB/s 8", "three 3 GB/s a", "It falls.", ""),
        *("Folded", "write", "ior -w", "read", "ior -r"),
    ]


def test_markdown_has_all_but_the_figures() -> None:
    assert markdown.rendered(WHOLE) == (
        "# A <title>\n\nHow fast?\n\n## Results\n\nIt is **not** & never was; see there.\n\n### Rates\n\n"
        "| Point | Rate | Verdict |\n| --- | --- | --- |\n| 1 client | 1.20 GB/s [a b], at 8 ranks | held |\n"
        "| a\\|b <c> | 0.60 GB/s | **declined** |\n\n- Measured at night.\n\n- one\n- two [c]\n\nIn small letters.\n\n"
        "|  |  |\n| --- | --- |\n| Target | `/mnt/x` |\n\n```yaml\na: 1\nb: <2>\n```\n"
    )


def test_the_terminal_has_all_but_the_figures_and_an_empty_line_around_sections(shown: str) -> None:
    assert re.sub(r" {2,}(?=\S)", "  ", shown) == (
        "Results\nIt is not & never was; see there.\n\n"
        "Rates\n Point  Rate  Verdict\n 1 client  1.20 GB/s ab  held\n  at 8 ranks\n a|b <c>  0.60 GB/s  declined\n"
        "Measured at night.\n\n  one\n  two c\nIn small letters.\n\n Target  /mnt/x\na: 1\nb: <2>"
    )


def test_an_empty_list_or_section_leaves_nothing() -> None:
    nothing: list[Block] = [Bullets([]), Notes([]), Section("", [])]
    assert markdown.rendered(Document("T", nothing)) == "# T\n"
    assert "<ul>" not in html.rendered(Document("T", nothing))
    assert terminal_text([Paragraph("a"), *nothing, Paragraph("b")]) == "a\nb\n"


def test_text_stands_for_a_figure_where_none_is_shown() -> None:
    drawn, missing = Figure(PICTURE, "│██│"), Figure(None, "│██│")
    assert "│██│" not in html.rendered(Document("T", [drawn]))
    assert "<pre>│██│</pre>" in html.rendered(Document("T", [missing]))
    for figure in (drawn, missing):
        assert "```\n│██│\n```" in markdown.rendered(Document("T", [figure]))
        assert "│██│" in terminal_text([figure])

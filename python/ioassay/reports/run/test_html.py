from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from ioassay import reports
from ioassay.figures import theme
from ioassay.reports.run import RunReport, content, pictures
from ioassay.reports.run.content import assemble
from ioassay.store.loaded import LoadedRun
from ioassay.testing.browser import dumped
from ioassay.testing.builder import RunBuilder

VOID = {"meta", "br", "link", "img", "hr", "input"}


class _Reader(HTMLParser):
    """Collects what the tests ask about, and checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def closed(self) -> bool:
        return not self._open


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.closed
    return reader


def _page(builder: RunBuilder) -> str:
    return reports.build(RunReport(builder.build()), "html").decode()


@pytest.fixture(scope="module")
def page(run: LoadedRun) -> str:
    return reports.build(RunReport(run), "html").decode()


def test_the_page_refers_to_nothing_outside_itself(page: str) -> None:
    reader = _read(page)
    ids = set(reader.ids)
    assert all(link.startswith("data:text/csv") or link.removeprefix("#") in ids for link in reader.links)
    assert not [tag for tag, name, _ in reader.attributes if name in ("src", "srcset", "xlink:href", "action")]
    elsewhere = re.findall(r'\b(?:https?:)?//[a-z][^\s"<]*', re.sub(r'xmlns="[^"]*"', "", page))
    assert elsewhere == []
    assert "@import" not in page
    assert re.findall(r"url\((?!#)", page) == []


def test_ids_are_unique_and_every_mark_leads_to_its_doubt(page: str) -> None:
    reader = _read(page)
    assert len(reader.ids) == len(set(reader.ids))
    assert {link for link in reader.links if link.startswith("#doubt")} == {f"#doubt-{mark}" for mark in "abcd"}


def test_every_measurement_has_a_row_that_findings_lead_to(run: LoadedRun, page: str) -> None:
    reader = _read(page)
    rows = {id for id in reader.ids if id.startswith("row-")}
    led_to = {link.removeprefix("#") for link in reader.links if link.startswith("#row")}
    assert len(rows) == run.measurements.height
    assert led_to
    assert led_to <= rows


def test_the_whole_study_stays_small(page: str) -> None:
    assert len(page) < 1_000_000


def test_only_the_page_s_own_script_may_run_and_nothing_may_be_loaded(page: str) -> None:
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_every_colour_of_its_figures_has_a_counterpart_on_a_dark_screen(page: str) -> None:
    pictures = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', pictures)) - {"none", "transparent"}
    assert used
    assert used <= theme.ON_DARK.keys()


@pytest.mark.usefixtures("browser")
def test_figures_in_a_browser_show_values_and_can_be_changed(run: LoadedRun, page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    shown = dumped(tmp_path / "page.html")
    rates = len(run.document.study.figures)
    pictures = len(re.findall(r'<div class="picture"', shown))
    assert pictures > rates
    assert shown.count('class="values"') == shown.count('tabindex="0"') == shown.count(">SVG</button>") == pictures
    assert shown.count('aria-pressed="false">Log axis</button>') == rates
    assert ">Repetitions</button>" not in shown, "each point was measured once"


def test_every_figure_offers_its_data(page: str) -> None:
    reader = _read(page)
    figures = [value for tag, name, value in reader.attributes if (tag, name) == ("figure", "id")]
    assert len(figures) == 6 + 4 + 8
    downloads = [value for _, name, value in reader.attributes if name == "download"]
    assert downloads == [f"{id.removeprefix('figure-')}.csv" for id in figures]


def test_every_table_has_a_caption_and_every_picture_a_description(page: str) -> None:
    assert page.count("<caption>") == page.count("<table>") - 1  # the facts under the title need none
    pictures = re.findall(r'<div class="picture" role="img" aria-label="([^"]*)"', page)
    assert pictures
    assert all(pictures)


def test_text_of_users_is_escaped() -> None:
    page = _page(RunBuilder().title("<script>alert(1)</script> & co").workload("w", "a <b> & c").clients(1, 2))
    assert "<script>alert" not in page
    assert "&lt;angle&gt; &amp; ampersand" in page
    _read(page)


def test_an_interrupted_run_says_what_is_missing() -> None:
    text = " ".join(_read(_page(RunBuilder().workload("w").clients(1, 2, 4).stop_after(1))).text)
    assert "The run was interrupted. 1 of 3 cases complete, 1 interrupted, 1 never started." in text
    assert "4 of 6 measurements were not made" in text
    assert "w, 4 clients, read" in text


def test_a_failed_run_without_any_measurement_still_gives_a_report() -> None:
    builder = RunBuilder().workload("w").stop_after(0, "failed", "No space left on device. Free some.")
    text = " ".join(_read(_page(builder)).text)
    assert "The run failed." in text
    assert "No space left on device. Free some." in text
    assert "Nothing was measured." in text


def test_a_criterion_that_was_not_judged_says_why() -> None:
    builder = RunBuilder().workload("w").clients(1, 2).stop_after(1)
    page = _page(builder.criterion("failed_phases", unit="1", at_most=0))
    assert "2 of 4 phases have no valid measurement" in page


def test_every_case_has_its_ior_command(run: LoadedRun, page: str) -> None:
    appendix = page[page.index("<h2>Appendix</h2>") :]
    assert appendix.count("<dd>mpirun") == sum(len(case.phases) for case in run.document.cases)


def test_no_path_of_the_run_directory_can_get_in(run: LoadedRun) -> None:
    # A LoadedRun does not know where it was loaded from; this keeps it so.
    tables = {"measurements", "ranks", "samples", "latencies", "first_bytes", "training", "kv_cache", "checkpoints"}
    assert set(vars(run)) == {"document", *tables, "doubts", "sources", "watch"}


def test_a_run_with_very_many_measurements_has_one_time_line_per_point(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunBuilder().workload("w").clients(1, 2).repetitions(3).rates("w", "write", 1, 3e9, 1e9, 2e9).build()
    content = assemble(run)
    every = [picture.title for picture in pictures.timelines(content)["w"]]
    assert len(every) == 6
    monkeypatch.setattr(pictures, "MOST_TIMELINES", 11)
    write, read = pictures.timelines(content)["w"]
    assert write.title == "w: write over time, typical repetition"
    assert "Of each point the repetition whose rate is nearest the median" in write.caption
    drawn = pl.read_csv(write.csv.encode()).select("point", "repetition").unique(maintain_order=True)
    assert drawn["point"].to_list() == ["1 client", "2 clients"]
    assert drawn["repetition"][0] == 3
    assert "read over time" in read.title


def test_a_table_of_very_many_measurements_shows_the_typical_ones_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunBuilder().workload("w").clients(1, 2).repetitions(3).rates("w", "write", 1, 3e9, 1e9, 2e9).build()
    monkeypatch.setattr(content, "MOST_ROWS", 11)
    (part,) = assemble(run).workloads
    shown = {(row["phase"], row["point"], row["repetition"]) for row in part.measurements}
    assert ("write", "1 client", 3) in shown  # its rate is the median
    assert len({row[:2] for row in shown}) == 4
    assert (len(shown) < 12, part.measured) == (True, 12)
    forms: tuple[reports.Format, ...] = ("html", "md")
    for form in forms:
        assert (
            f"{len(shown)} of 12 measurements are shown" in reports.build(RunReport(run, is_full=True), form).decode()
        )


def test_a_curve_of_one_point_is_left_out_and_the_summary_shows_the_rate_over_time() -> None:
    content = RunReport(RunBuilder().workload("w", "Big").clients(2).repetitions(3).build()).content
    drawn = pictures.drawn(content)
    assert drawn.rates == []
    assert [picture.title.partition(" over time")[0] for picture in drawn.of_summary] == ["Big: write", "Big: read"]
    assert drawn.further_timelines("w") == []
    swept = pictures.drawn(RunReport(RunBuilder().workload("w", "Big").clients(1, 2).repetitions(3).build()).content)
    assert all("the line joins the medians" in picture.caption for picture in swept.of_summary)
    assert len(swept.of_summary) == 2

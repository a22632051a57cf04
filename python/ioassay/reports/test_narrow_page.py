"""Pages on a phone: a browser lays them out 390 pixels wide. Where none is installed, pytest says so."""

from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.reports import pdf
from ioassay.reports.tuning import CheckReport
from ioassay.testing import tuned_systems
from ioassay.tuning.check import CheckRequest, examine

_WIDTH = 390
_MEASURE = """<script>
addEventListener("load", () => {
  const page = document.querySelector("iframe").contentDocument;
  const wide = [...page.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth).length;
  document.title = `${page.documentElement.scrollWidth} ${page.querySelectorAll("table").length} ${wide}`;
});
</script>"""


@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize("host", ["oss1", "storage_server_without_a_hyphen_in_its_name_0001"])
def test_no_page_of_tune_check_is_wider_than_a_phone_and_wide_tables_scroll_in_their_box(
    host: str, tmp_path: Path
) -> None:
    asked = CheckRequest.of(transfer=None, raid=None, storage=None, rules=[])
    page = reports.build(CheckReport(examine([tuned_systems.md3460_oss()], asked)), "html") or b""
    inner = html.escape(page.decode().replace("oss1", host))
    frame = f'<iframe style="border: 0; width: {_WIDTH}px; height: 60000px" srcdoc="{inner}"></iframe>'
    (tmp_path / "frame.html").write_text(f"<!DOCTYPE html><meta charset=utf-8>{frame}{_MEASURE}")
    width, tables, scrolled = _title(tmp_path / "frame.html", tmp_path / "profile")
    assert width == _WIDTH
    assert tables > 5
    assert scrolled >= 1


def _title(page: Path, profile: Path) -> tuple[int, int, int]:
    """What the page writes into its title."""
    command = [pdf.find_browser(), "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]
    command += [f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else []), page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    match = re.search(r"<title>(\d+) (\d+) (\d+)</title>", done.stdout)
    assert match is not None, done.stderr
    return int(match[1]), int(match[2]), int(match[3])

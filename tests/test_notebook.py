"""The worked notebook runs from its first cell to its last, and the repository has it with what it shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from nbformat import NotebookNode

from .notebook import NOTEBOOK, executed, read

MOST_BYTES = 300_000
FIGURES = 3


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The notebook, just run; a cell that fails has raised."""
    return executed(tmp_path_factory.mktemp("notebook"))


def _shown(cell: NotebookNode) -> dict[str, str]:
    """What a cell shows, by type."""
    shown: dict[str, str] = {}
    for output in cell.outputs:
        assert output.output_type in ("stream", "execute_result", "display_data")
        shown |= {"stdout": output.text} if output.output_type == "stream" else output.data
    return shown


def _is_meaningful(shown: dict[str, str]) -> bool:
    """True for a figure with marks in it, a frame with rows, or printed words."""
    if figure := shown.get("image/svg+xml"):
        return len(list(ET.fromstring(figure).iter("{http://www.w3.org/2000/svg}path"))) > 5
    if frame := shown.get("text/html"):
        return frame.count("<tr>") > 1
    return bool(shown.get("stdout", "").strip())


def test_every_cell_shows_something(ran: NotebookNode) -> None:
    cells = [cell for cell in ran.cells if cell.cell_type == "code"]
    for cell in cells:
        assert _is_meaningful(_shown(cell)), cell.source
    assert sum("image/svg+xml" in _shown(cell) for cell in cells) == FIGURES


def test_it_tells_the_two_runs_apart(ran: NotebookNode) -> None:
    said = "".join(text for cell in ran.cells if cell.cell_type == "code" for text in _shown(cell).values())
    assert "runs/before" in said
    assert "interval" in said or "No significant difference" in said


def test_the_repository_has_it_as_it_was_run() -> None:
    notebook = read()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert all(_is_meaningful(_shown(cell)) for cell in cells)
    text = NOTEBOOK.read_text()
    assert len(text) < MOST_BYTES
    for path in ("/tmp", str(Path.home()), str(NOTEBOOK.parent)):
        assert path + "/" not in text, path

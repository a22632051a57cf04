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
def notebook(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The notebook, just run; a cell that fails has raised."""
    return executed(tmp_path_factory.mktemp("notebook"))


def _outputs(cell: NotebookNode) -> dict[str, str]:
    """What a cell shows, by type."""
    outputs: dict[str, str] = {}
    for output in cell.outputs:
        assert output.output_type in ("stream", "execute_result", "display_data")
        outputs |= {"stdout": output.text} if output.output_type == "stream" else output.data
    return outputs


def _is_meaningful(outputs: dict[str, str]) -> bool:
    """True for a figure with marks in it, a frame with rows, or printed words."""
    if figure := outputs.get("image/svg+xml"):
        return len(list(ET.fromstring(figure).iter("{http://www.w3.org/2000/svg}path"))) > 5
    if frame := outputs.get("text/html"):
        return frame.count("<tr>") > 1
    return bool(outputs.get("stdout", "").strip())


def test_every_cell_shows_something(notebook: NotebookNode) -> None:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        assert _is_meaningful(_outputs(cell)), cell.source
    assert sum("image/svg+xml" in _outputs(cell) for cell in cells) == FIGURES


def test_it_distinguishes_the_two_runs(notebook: NotebookNode) -> None:
    all_outputs = "".join(
        text for cell in notebook.cells if cell.cell_type == "code" for text in _outputs(cell).values()
    )
    assert "runs/before" in all_outputs
    assert "interval" in all_outputs or "No significant difference" in all_outputs


def test_the_notebook_in_the_repository_is_the_executed_one() -> None:
    notebook = read()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert all(_is_meaningful(_outputs(cell)) for cell in cells)
    text = NOTEBOOK.read_text()
    assert len(text) < MOST_BYTES
    for path in ("/tmp", str(Path.home()), str(NOTEBOOK.parent)):
        assert path + "/" not in text, path

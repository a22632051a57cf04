"""The worked notebook, run as a reader would: in a kernel of its own, in a directory of its own.

python -m tests.notebook        runs it again and keeps what it shows
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from .support import DEADLINE_S

NOTEBOOK = Path(__file__).parents[1] / "examples" / "evidence.ipynb"


def read() -> nbformat.NotebookNode:
    """The notebook as it lies in the repository."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(directory: Path) -> nbformat.NotebookNode:
    """The notebook with what its cells show when they are run in `directory`. Raises `CellExecutionError`."""
    notebook = read()
    client = NotebookClient(
        notebook,
        timeout=DEADLINE_S,
        record_timing=False,  # moments would change the file whenever it is run
        resources={"metadata": {"path": str(directory)}},
    )
    client.execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        nbformat.write(executed(Path(scratch)), NOTEBOOK)

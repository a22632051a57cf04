"""Help that a newcomer reads first."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ioassay.cli import app


@pytest.mark.parametrize("group", [[], ["lab"], ["mpi"], ["api"]])
def test_every_command_has_a_line_that_is_whole_at_80_columns(group: list[str]) -> None:
    shown = CliRunner().invoke(app, [*group, "--help"], env={"COLUMNS": "80"}).output
    lines = shown[shown.index("Commands:") :].splitlines()[1:]
    assert len(lines) > 1
    for line in lines:
        assert line.endswith("."), line
        assert not line.endswith("..."), line

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.store.new_directory import new_directory


def test_a_directory_that_cannot_be_made_is_an_error_that_says_how_to_name_another() -> None:
    with pytest.raises(CannotRun, match="/proc/runs/one for the results cannot be made: No such") as error:
        new_directory(Path("/proc/runs/one"))
    assert "--out" in error.value.remedy

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ioassay.calibration import probe
from ioassay.errors import CannotRun
from ioassay.execution.places import places


def test_leftovers_of_a_probe_are_named_with_a_command_that_removes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(run: Any, watcher: object) -> None:
        run.document.state = "interrupted"
        run.document.leftovers = ["/mnt/my scratch/ioassay-x"]

    monkeypatch.setattr(probe, "execute", interrupted)
    (place,) = places([str(tmp_path)], None, None)
    watcher: Any = None
    with pytest.raises(CannotRun) as error:
        probe.measure(place, 1, 1 << 30, watcher)
    assert error.value.remedy == "Left on the target; remove it with: rm -r '/mnt/my scratch/ioassay-x'"


def test_a_target_with_too_little_space_is_refused_with_the_required_space(tmp_path: Path) -> None:
    (place,) = places([str(tmp_path)], None, None)
    watcher: Any = None
    with pytest.raises(CannotRun, match=r"has 1\.0+ MiB free; measuring takes at least 18\.0 MiB") as error:
        probe.measure(place, 2, 1 << 20, watcher)
    assert error.value.remedy == "Free space there, or use a directory of another file system."

"""Every study in `examples/` runs, so that what people copy from works."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.studies import find_study, resolve

from .support import measure

SMALL = {"total": "16MiB", "items": "50", "repetitions": "1"}
"""What keeps an example short, where it has such a setting."""

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_example_runs(example: Path, target: Path, tmp_path: Path) -> None:
    settings = resolve(find_study(str(example)), None, []).entry.settings
    small = [option for name, value in SMALL.items() if name in settings for option in ("--set", f"{name}={value}")]
    measure(example, target, tmp_path / "run", *small)
    assert list(target.iterdir()) == []


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3

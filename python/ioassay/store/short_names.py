"""Short names of runs where there are several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def short(paths: Sequence[str]) -> list[str]:
    """The name of each directory, its whole path where two have the same name; what is no directory keeps its name."""
    names = [Path(path).resolve().name if Path(path).is_dir() else path for path in paths]
    return [name if names.count(name) == 1 else path for name, path in zip(names, paths, strict=True)]


def distinct(paths: Sequence[Path]) -> list[str]:
    """The name of each file or directory, its whole path where two have the same name."""
    names = [path.resolve().name for path in paths]
    return [name if names.count(name) == 1 else str(path) for name, path in zip(names, paths, strict=True)]

"""The built-in studies, and how a study is found by what was typed."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.studies.source import StudySource, nearest, parse_study, printable, read_study

_SUFFIXES = (".yaml", ".yml")


def builtin_studies() -> dict[str, StudySource]:
    """The built-in studies by name. Adding one is one file in `builtin/`."""
    folder = resources.files("ioassay.studies") / "builtin"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
    return {file.name.removesuffix(".yaml"): parse_study(file.read_text(encoding="utf-8"), file.name) for file in files}


def find_study(name_or_path: str) -> StudySource:
    """The built-in study of that name, else the file at that path.

    A path has a `/` or ends in `.yaml`. Raises `UsageError` for an unknown name, `StudyError` for a bad file.
    """
    if "/" in name_or_path or name_or_path.endswith(_SUFFIXES):
        return read_study(Path(name_or_path))
    studies = builtin_studies()
    if name_or_path in studies:
        return studies[name_or_path]
    raise UsageError(
        f"There is no study `{printable(name_or_path)}`: {nearest(name_or_path, studies)}",
        f"Built in are {', '.join(studies)}. A study of your own is given as a path, such as ./my-study.yaml.",
    )

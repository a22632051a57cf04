"""Names of what is built in, without reading the files: completions have no time for that."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

_SUFFIX = ".yaml"

STUDIES = "ioassay.studies"
SYSTEMS = "ioassay.systems"
LABS = "ioassay.lab"
CONFIGURATIONS = "ioassay.sizing.configurations"


def names(package: str) -> list[str]:
    """What is built into a package, as it is typed, in alphabetical order."""
    place = files("ioassay").joinpath(*package.split(".")[1:], "builtin")
    return sorted(file.name.removesuffix(_SUFFIX) for file in place.iterdir() if file.name.endswith(_SUFFIX))


def document(study: str) -> dict[str, Any]:
    """The keys of a study, built in or at a path, as they stand there; empty where there is none that can be read."""
    import yaml  # noqa: PLC0415

    is_path = "/" in study or study.endswith(_SUFFIX)
    place = Path(study) if is_path else files("ioassay").joinpath("studies", "builtin", f"{study}{_SUFFIX}")
    try:
        found = yaml.load(place.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}

"""Names of what is built in, without reading the files: completions have no time for that."""

from __future__ import annotations

from importlib.resources import files

_SUFFIX = ".yaml"

STUDIES = "ioassay.studies"
SYSTEMS = "ioassay.systems"
LABS = "ioassay.lab"
CONFIGURATIONS = "ioassay.sizing.configurations"


def names(package: str) -> list[str]:
    """What is built into a package, as it is typed, in alphabetical order."""
    place = files("ioassay").joinpath(*package.split(".")[1:], "builtin")
    return sorted(file.name.removesuffix(_SUFFIX) for file in place.iterdir() if file.name.endswith(_SUFFIX))

"""The candidates for the value of a parameter, by its metavar: equal metavars mean the same.

It must come at once: names of files are enough, and nothing that is stored is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ioassay.cli import built_in
from ioassay.cli.completion import SCRIPTS

Paths = Literal["files", "directories", ""]


class Values(NamedTuple):
    """Candidates with their descriptions, which may be empty, and whether paths are candidates too."""

    candidates: tuple[tuple[str, str], ...] = ()
    paths: Paths = ""


def values_of(parameter: Any, context: Any, incomplete: str) -> Values:
    """The candidates for an option or argument that begins with `incomplete`. `context` has the rest of the line."""
    metavar = (parameter.metavar or "").strip("[].-").removesuffix("...")
    find = _BY_PARAMETER.get(f"{context.info_name} {parameter.name}") or _BY_METAVAR.get(metavar)
    if find is not None:
        names = find(context, incomplete)
    elif parameter.type_descriptor.is_choice:
        names = [str(choice) for choice in parameter.type_descriptor.choices]
    elif metavar and all(part.isalnum() and part.islower() for part in metavar.split("|")) and "|" in metavar:
        names = metavar.split("|")
    else:
        names = []
    kinds = {word.strip("[].") for word in metavar.split("|")}
    paths: Paths = "files" if kinds & _FILES else "directories" if kinds & _DIRECTORIES else ""
    return Values(tuple((name, "") for name in names if name.startswith(incomplete) and name.isprintable()), paths)


_FILES = {
    "FILE",
    "STUDY",
    "S",
    "LAB",
    "PATH",
    "LIBRARY",
    "EXPERIMENT",
    "SETUP",
    "CONTRACT",
    "CONFIG",
    "TARGET",
    "DEVICE",
    "CC",
    "A B",
    "COMMAND",
    "WHERE",
}
"""Parts of metavars that stand for files, or for files among other things."""

_DIRECTORIES = {"DIR", "RUN", "RECORD", "DIRECTORY", "MOUNT"}

TOOLS = (
    "ior",
    "mdtest",
    "io500",
    "elbencho",
    "fio",
    "iozone",
    "iperf3",
    "dlio",
    "lustre",
    "prometheus",
    "gpfs",
    "obdfilter-survey",
)
"""The tools that `ioassay import` reads. A test compares them with the importers, whose modules take half a second."""

_Find = Callable[[Any, str], Iterable[str]]


def _built_in(package: str) -> _Find:
    return lambda context, incomplete: built_in.names(package)


def _one_of(*names: str) -> _Find:
    return lambda context, incomplete: names


def _stored(context: Any, incomplete: str) -> list[str]:
    """Directories below `runs` and `records`, the newest first, as their names begin with the time.

    Only where nothing was typed: a shell completes directories itself.
    """
    if incomplete:
        return []
    return [str(path) for folder in ("runs", "records") for path in sorted(Path(folder).glob("*/"), reverse=True)]


def _stored_or_systems(context: Any, incomplete: str) -> list[str]:
    return [*built_in.names(built_in.SYSTEMS), *_stored(context, incomplete)]


def _running_labs(context: Any, incomplete: str) -> list[str]:
    from ioassay.lab.running import running  # noqa: PLC0415

    return [*running()]


def _lab_targets(context: Any, incomplete: str) -> list[str]:
    """Labs are looked for only where one is begun, because most targets are directories."""
    if not incomplete or not incomplete.startswith("lab"[: len(incomplete)]):
        return []
    return [f"lab:{name}" for name in _running_labs(context, incomplete)]


def _lab_clients(context: Any, incomplete: str) -> list[str]:
    return ["lab", *(f"lab:{name}" for name in _running_labs(context, incomplete))]


def _study_keys(section: str, ending: str) -> _Find:
    """The names in a section of the study that was typed, and in those that it extends."""

    def find(context: Any, incomplete: str) -> list[str]:
        study = context.params.get("study")
        documents = built_in.study_documents(study) if isinstance(study, str) else ()
        return list(dict.fromkeys(f"{name}{ending}" for document in documents for name in document.get(section) or ()))

    return find


def _launchers(context: Any, incomplete: str) -> Iterable[str]:
    from ioassay.launchers import LAUNCHERS  # noqa: PLC0415

    return (*LAUNCHERS, "sbatch") if context.info_name == "run" else LAUNCHERS


def _dashboards(context: Any, incomplete: str) -> Iterable[str]:
    from ioassay.monitoring.dashboards.library import NAMES  # noqa: PLC0415

    return NAMES


def _dashboard_sources(context: Any, incomplete: str) -> Iterable[str]:
    from ioassay.monitoring.dashboards.library import SOURCES  # noqa: PLC0415

    return SOURCES


def _commands(context: Any, incomplete: str) -> Iterable[str]:
    """The commands below those that were typed behind `ioassay help`."""
    about = context.find_root().command
    for word in context.params.get("words") or ():
        inner = getattr(about, "commands", {}).get(word)
        about = getattr(inner, "loaded", inner)
    return list(getattr(about, "commands", ()))


_BY_METAVAR: dict[str, _Find] = {
    "STUDY": _built_in(built_in.STUDIES),
    "S": _built_in(built_in.STUDIES),
    "SCALE": _study_keys("scales", ""),
    "KEY=VALUE": _study_keys("settings", "="),
    "LAB": _built_in(built_in.LABS),
    "NAME/HOST": _running_labs,
    "NAME[/HOST": _running_labs,
    "TARGET": _lab_targets,
    "DIR|lab:NAME": _lab_targets,
    "DIR|lab:NAME/STORAGE": _lab_targets,
    "lab[:NAME": _lab_clients,
    "RUN": _stored,
    "RUN|RECORD": _stored,
    "RECORD": _stored,
    "RECORD|DIRECTORY": _stored,
    "RUN|SYSTEM": _stored_or_systems,
    "A B": _stored_or_systems,
    "TOOL": _one_of(*TOOLS),
    "SOURCE": _dashboard_sources,
    "SHELL": _one_of(*SCRIPTS),
    "COMMAND [SUBCOMMAND": _commands,
}

_BY_PARAMETER: dict[str, _Find] = {
    "studies name": _built_in(built_in.STUDIES),
    "systems name": _built_in(built_in.SYSTEMS),
    "explain name": _built_in(built_in.CONFIGURATIONS),
    "predict config": _built_in(built_in.CONFIGURATIONS),
    "list name": _built_in(built_in.LABS),
    "status name": _running_labs,
    "down name": _running_labs,
    "show name": _dashboards,
    **{f"{command} launcher": _launchers for command in ("run", "doctor", "clean", "sweep", "io500")},
}
"""Parameters whose metavar `NAME` says too little, by command and parameter."""

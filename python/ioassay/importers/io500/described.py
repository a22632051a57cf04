"""What a submission says of itself: the configuration that it ran with, the system as its submitter described it, and
whose it is.

`config-orig.ini` is what the program was given, `config.ini` the same with every default. `system-information.txt` or
`.json` come from the form of the IO500: lines `io500_info_NAME="VALUE"`, or a tree of parts with attributes. What is in
another form is no description, and left out; so is who submitted it. Numbers that were measured are no description
either, but what the form repeats of them must be what was printed.
"""

from __future__ import annotations

import configparser
import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from ioassay.importers.gather import Files
from ioassay.importers.model import Setting
from ioassay.importers.numbers import Printed
from ioassay.importers.source import Refused, Source

Read = TypeVar("Read")

_CONFIGURATIONS = ("config-orig.ini", "config.ini")
"""The first of them that is there is read."""

_DESCRIPTIONS = ("system-information.txt", "system-information.json")

_ABOVE = 2
"""How many directories above its results a submission may have its description."""

_KINDS = ("easy", "hard")

_NO_SETTING = re.compile(r"run|verbosity|datadir|resultdir|timestamp-.*|pause-dir|score|config-hash")
"""Keys of a configuration that say where, and how much is printed."""

_LINE = re.compile(r'io500_info_([A-Za-z][A-Za-z0-9_-]*)="(.*)"\s*')
_NO_FACT = re.compile(r"submitter|email|comment|whatever|URL|include.*", re.IGNORECASE)
"""Attributes that are of the submission and its people, not of the system."""

_PARTS = frozenset(
    [
        *("Supercomputer", "Nodes", "Processor", "Memory", "Interconnect", "Accelerator", "LocalStorage"),
        *("StorageSystem", "Lustre", "OSS", "MDS", "GPFS", "BeeGFS", "DAOS", "NSD", "StorageTarget"),
    ]
)
"""What the tree says of the system; the rest is the site, the submission and its results."""


_REPEATED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "IO500": {"score": "total", "scoreBW": "bandwidth", "scoreMD": "metadata"},
        "IOR": {f"{kind} {access}": f"ior-{kind}-{access}" for kind in _KINDS for access in ("write", "read")},
        "MDTest": {
            f"{kind} {access}": f"mdtest-{kind}-{access}"
            for kind in _KINDS
            for access in ("write", "stat", "read", "delete")
        },
        "find": {"mixed": "find"},
    }
)
"""Where the tree repeats what was measured."""


@dataclass(frozen=True)
class Description:
    """A submission's description of itself."""

    facts: tuple[Setting, ...] = ()
    institution: str | None = None
    system: str | None = None
    """Name of the computer."""
    file: Path | None = None
    """The file with the description."""
    scores: Mapping[str, Printed] = field(default_factory=dict)
    """Results that the form repeats: `bandwidth`, `metadata`, `total`, and phases by their names."""


def read(directory: Path, files: Files) -> Description:
    """The descriptions in a submission's directory and right above it. A broken file is refused."""
    configured: list[Setting] = []
    for name in _CONFIGURATIONS:
        if (path := directory / name).is_file():
            configured = _read(path, files, lambda source: list(_configured(source))) or []
            break
    directories = [directory, *directory.parents][: 1 + _ABOVE]
    candidates = (place / name for place in directories for name in _DESCRIPTIONS)
    form = next((path for path in candidates if path.is_file()), None)
    description = (_read(form, files, _described) if form else None) or Description()
    return replace(description, file=form, facts=(*configured, *description.facts))


def _read(path: Path, files: Files, read: Callable[[Source], Read]) -> Read | None:
    if (source := files.open(path)) is None:
        return None
    try:
        return read(source)
    except Refused as error:
        files.refuse(path, error)
        return None


def _configured(source: Source) -> Iterator[Setting]:
    """Every key that has a value, after its section; in lower case, as the program ignores case."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, comment_prefixes=("#", ";"))
    try:
        parser.read_string(source.text)
    except configparser.Error as error:
        raise Refused("is not an IO500 configuration", getattr(error, "lineno", None)) from error
    for section in parser.sections():
        for key, value in parser.items(section):
            if value and not _NO_SETTING.fullmatch(key):
                yield Setting(name=f"[{section}] {key}", value=" ".join(value.split()))


def _described(source: Source) -> Description:
    if source.text.lstrip().startswith("{"):
        return _of_tree(source)
    matches = (_LINE.fullmatch(line) for line in source.lines)
    attributes = [(match[1], match[2].strip()) for match in matches if match and match[2].strip()]
    facts = (
        Setting(name=f"system: {re.sub('[_-]', ' ', name)}", value=value)
        for name, value in attributes
        if not _NO_FACT.fullmatch(name)
    )
    by_name = dict(attributes)
    return Description(tuple(facts), by_name.get("institution"), by_name.get("system"))


def _of_tree(source: Source) -> Description:
    try:
        # Some files were wrapped by an editor within a string.
        site = json.loads(source.text, strict=False)["DATA"]
        facts = tuple(_of_part(site, ""))
        computers = (part["att"].get("name") for part in site["childs"] if part["type"] == "Supercomputer")
        institution, system = (
            " ".join(name.split()) if isinstance(name, str) else None
            for name in (site["att"].get("institution"), next(computers, None))
        )
        return Description(facts, institution or None, system or None, scores=dict(_repeated(site)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused("is not a system description written by the IO500 form") from error


def _repeated(part: dict[str, Any]) -> Iterator[tuple[str, Printed]]:
    """The numbers of a part and of those in it that were measured, by what they are of; a unit may follow."""
    for key, name in _REPEATED.get(part["type"], {}).items():
        value = part["att"].get(key)
        text = value[0] if isinstance(value, list) and value else value
        if isinstance(text, str) and text.strip():
            with contextlib.suppress(Refused):
                yield name, Printed.of(text.strip(), 1)
    for inner in part["childs"]:
        yield from _repeated(inner)


def _of_part(part: dict[str, Any], above: str) -> Iterator[Setting]:
    """The attributes of a part, those of parts in it after the names of both."""
    kind = part["type"]
    name = f"{above}{kind}" if kind in _PARTS else ""
    for key, value in part["att"].items() if name else ():
        words = " ".join(value) if isinstance(value, list) else value
        if words.strip():
            yield Setting(name=" ".join(f"system: {name} {key}".split()), value=" ".join(words.split()))
    for inner in part["childs"]:
        yield from _of_part(inner, f"{kind} " if kind not in ("Site", "Supercomputer") and name else "")

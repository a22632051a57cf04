"""The changes from one version of a stored document to the next: a function for each step, which never changes again.

Directories of these versions are with users, so they stay readable; `tests/stored` has one of each. Not: the current
version (`document`, `net_document`).

How to add a step: docs/development/stored-directories.md.
"""

from __future__ import annotations

from typing import Any


def net_from_1(document: dict[str, Any]) -> dict[str, Any]:
    """`net.json` of version 1 did not say its kind."""
    return document | {"kind": "net", "version": 2}


def run_from_2(document: dict[str, Any]) -> dict[str, Any]:
    """`run.json` of version 2 did not say its kind, and had a field for each way in which a run comes about; a case had
    one for each of the three axes that could be swept.
    """
    upgraded = document | {"kind": "run", "version": 3}
    front_end, imported = upgraded.pop("front_end", None), upgraded.pop("imported", None)
    lab = {name: upgraded.pop(name, None) for name in ("storage", "clients", "lab")}
    of_study = any(value is not None for value in lab.values())
    if isinstance(imported, dict) and front_end is None and not of_study:
        upgraded["origin"] = imported | {"kind": "import"}
    elif front_end is not None and imported is None and not of_study:
        upgraded["origin"] = {"kind": "front-end", "tool": front_end}
    elif front_end is None and imported is None:
        upgraded["origin"] = lab | {"kind": "study"}
    else:  # no ioassay has written that
        upgraded["origin"] = None
    if isinstance(ceilings := upgraded.get("ceilings"), dict):
        upgraded["ceilings"] = net_from_1(ceilings)
    if isinstance(cases := upgraded.get("cases"), list):
        upgraded["cases"] = [_with_point(case) if isinstance(case, dict) else case for case in cases]
    return upgraded


def run_from_3(document: dict[str, Any]) -> dict[str, Any]:
    """`run.json` of version 3 did not say whether engines were recorded: none was."""
    return document | {"version": 4}


def _with_point(case: dict[str, Any]) -> dict[str, Any]:
    """0 clients or ranks, and groups that were null, were unknown or not swept. What is `skipped` was `spared`."""
    axes = ("clients", "ranks_per_client", "groups")
    others = {{"spared": "skipped"}.get(name, name): value for name, value in case.items() if name not in axes}
    return others | {"point": {axis: case[axis] for axis in axes if case.get(axis)}}

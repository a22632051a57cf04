"""`docs/development/architecture.md`: the rooms of the house and who uses whom, from imports, docstrings and manifests.

    python -m ioassay.testing.architecture            writes the page
    python -m ioassay.testing.architecture --check    fails when the page is stale, an import runs up, or modules of a
                                                      room import each other in a circle

For the checkout only. Not here: the order of the engine's own modules (`crates/engine/tests/layers.rs`).
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import grimp

from ioassay.yaml_models.reference import ROOT, main, table

PAGE = "../development/architecture.md"

LAYERS = (
    ("cli",),
    ("monitoring", "frames"),
    ("reports",),
    ("figures",),
    ("tuning", "net", "doctor", "calibration"),
    ("sizing", "criteria", "execution"),
    ("studies",),
    ("analysis", "remote"),
    ("systems",),
    ("profiles", "importers"),
    ("store", "lab", "launchers"),
    ("plans",),
    ("yaml_models", "protocol"),
    ("processes",),
    ("text",),
    ("helpers",),
)
"""The rooms of `ioassay`, those that use others first. A room uses those in lower lines, and no other of its own."""

HELPERS = "helpers"
"""The modules at the top of the package, which are no room: errors, the version, mounts."""

CIRCLES: Mapping[str, int] = {"analysis": 2, "cli": 2, "profiles": 2, "store": 5}
"""By room, how many of its modules import each other in circles, within functions and for types alone included. These
numbers may only shrink: a module that two others need belongs below both."""

_OPENING = """\
<!-- Written by `python -m ioassay.testing.architecture`. -->

# Architecture

Rooms are packages of Python and crates of Rust; what each is for is the first sentence of its
documentation, whose rest says what is in it and what is not. An arrow points from the user to the
used; arrows that follow from others are left out. Arrows run down only: `make lint` fails where an
import runs up, and where modules of a room begin to import each other in a circle. The order of the
engine's own modules is in [layers.rs](../../crates/engine/tests/layers.rs).

"""


@dataclass(frozen=True)
class Step:
    """A step of a journey: where it is done, and what goes out of it."""

    place: str
    does: str
    data: str


JOURNEYS: Mapping[str, Sequence[Step]] = {
    "From a plan to a figure": (
        Step(
            "python/ioassay/studies/resolve.py", "reads a study with what was set for it", "`Study`, all keys checked"
        ),
        Step(
            "python/ioassay/studies/cases.py", "makes the cases that answer it", "a case for each point and repetition"
        ),
        Step("python/ioassay/studies/plans.py", "writes what the engine is to do for a case", "`plan.json`"),
        Step("python/ioassay/execution/execute.py", "starts case after case through a launcher", "processes"),
        Step("crates/engine/src/plan", "checks the plan", "`Plan`, or a refusal with a remedy"),
        Step("crates/engine/src/case", "runs the steps, in step with the other ranks", "jobs, prepared and started"),
        Step("crates/engine/src/work", "does the work of a job, one loop for all kinds", "operations, each timed"),
        Step("crates/engine/src/measure", "counts them, and notes what is doubtful", "samples, histograms, doubts"),
        Step("crates/engine/src/output", "writes what happened", "`events.jsonl`"),
        Step("python/ioassay/store/ingest.py", "reads it", "`run.json`, tables in Parquet"),
        Step("python/ioassay/analysis/rates.py", "estimates", "medians with intervals"),
        Step("python/ioassay/figures/rate_by_clients.py", "draws", "a Vega-Lite specification"),
        Step("python/ioassay/reports/run", "says it in every format", "`report.html`"),
    ),
    "From a hook to a finding": (
        Step("crates/recorder/src/hooks", "stands between an application and the C library", "a call, timed"),
        Step("crates/record/src", "has the layouts of the tables that are counted into", "shared files of the record"),
        Step("crates/capture/src", "runs the command and keeps the tables", "`record.json`, tables"),
        Step("python/ioassay/profiles/records", "adds them up while it reads them", "`Profile`"),
        Step(
            "python/ioassay/analysis/profile/findings",
            "judges it, a file for each kind",
            "findings: words, remedy, evidence",
        ),
        Step("python/ioassay/reports/profile", "shows it", "a page, Markdown, JSON, text"),
    ),
}


def page() -> str:
    """The page as Markdown. Raises `SystemExit` if an import runs up, or a room has other circles than `CIRCLES`."""
    imports = python_imports()
    if upward := list(running_up(imports)):
        raise SystemExit("\n".join(["Imports run up (ioassay.testing.architecture.LAYERS):", *upward]))
    if changed := list(changed_circles(circles(imports), CIRCLES)):
        raise SystemExit("\n".join(["Import circles changed (ioassay.testing.architecture.CIRCLES):", *changed]))
    rooms = {(importer.room, imported.room) for importer, imported in imports if importer.room != imported.room}
    crates, descriptions = rust_crates()
    return "\n\n".join(
        [
            _OPENING.rstrip(),
            "## The control plane, in Python",
            _flowchart(rooms),
            table(["room", "what it is"], [row for layer in LAYERS for room in layer for row in python_rooms(room)]),
            "## Engine, agent and recorder, in Rust",
            _flowchart(crates),
            table(
                ["crate", "what it is"],
                [
                    row
                    for crate, text in sorted(descriptions.items())
                    for row in [[f"`{crate}`", text], *modules(crate)]
                ],
            ),
            *(part for title, steps in JOURNEYS.items() for part in (f"## {title}", _journey(steps))),
        ]
    )


@dataclass(frozen=True)
class Module:
    """A module of the package."""

    name: str

    @property
    def room(self) -> str:
        """The package that it is in, `helpers` for those in none."""
        room = self.name.split(".")[1]
        return room if any(room in layer for layer in LAYERS) else HELPERS


def python_imports() -> list[tuple[Module, Module]]:
    """(importer, imported) of all modules that are shipped, imports for types alone included."""
    graph = grimp.build_graph("ioassay", cache_dir=None)
    shipped = [name for name in graph.modules if _is_shipped(name)]
    return sorted(
        (
            (Module(name), Module(imported))
            for name in shipped
            for imported in graph.find_modules_directly_imported_by(name)
            if _is_shipped(imported)
        ),
        key=lambda pair: (pair[0].name, pair[1].name),
    )


def _is_shipped(name: str) -> bool:
    """Not a test, and not what puts the rooms together: the package itself and its `__main__`."""
    parts = name.split(".")[1:]
    return bool(parts) and parts[0] not in ("__main__", "testing") and not parts[-1].startswith(("test_", "conftest"))


def running_up(imports: Sequence[tuple[Module, Module]]) -> Iterator[str]:
    """The imports of rooms that are not below the importer's, in words."""
    height = {room: level for level, layer in enumerate(reversed(LAYERS)) for room in layer}
    for importer, imported in imports:
        if importer.room != imported.room and height[imported.room] >= height[importer.room]:
            yield f"{importer.name} imports {imported.name}"


def circles(imports: Sequence[tuple[Module, Module]]) -> list[list[str]]:
    """The modules that import each other, directly or through others: each group by name, groups in their order."""
    imported: dict[str, set[str]] = {}
    for importer, used in imports:
        imported.setdefault(importer.name, set()).add(used.name)
    reachable = {name: _reachable(name, imported) for name in imported}
    groups = {
        tuple(sorted(other for other in reached if name in reachable.get(other, ())))
        for name, reached in reachable.items()
        if name in reached
    }
    return [list(group) for group in sorted(groups)]


def _reachable(name: str, imported: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        for other in imported.get(waiting.pop(), ()):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


def changed_circles(groups: Sequence[Sequence[str]], known: Mapping[str, int]) -> Iterator[str]:
    """The advice about rooms whose modules in circles are more or fewer than `known`, in words."""
    of_room: dict[str, list[Sequence[str]]] = {}
    for group in groups:
        of_room.setdefault(Module(group[0]).room, []).append(group)
    for room in sorted({*of_room, *known}):
        in_circles, most = sum(map(len, of_room.get(room, ()))), known.get(room, 0)
        if in_circles > most:
            listed = "; ".join(" <-> ".join(group) for group in of_room[room])
            yield f"{room}: {in_circles} modules are in circles, at most {most} may be: {listed}"
        elif in_circles < most:
            yield f"{room}: {in_circles} modules are in circles; write that number instead of {most}"


def rust_crates() -> tuple[set[tuple[str, str]], dict[str, str]]:
    """(user, used) of the workspace's crates that are shipped, and what their manifests say they are."""
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    result = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    members = {
        package["name"].removeprefix("ioassay-"): package
        for package in json.loads(result.stdout)["packages"]
        if package["manifest_path"].startswith(f"{ROOT}/crates/")
    }
    uses = {
        (name, used)
        for name, package in members.items()
        for dependency in package["dependencies"]
        if dependency["kind"] is None and (used := dependency["name"].removeprefix("ioassay-")) in members
    }
    return uses, {name: package["description"] for name, package in members.items()}


def _flowchart(arrows: set[tuple[str, str]]) -> str:
    lines = [f"    {user} --> {used}" for user, used in sorted(reduced(arrows))]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def reduced(arrows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Without those that follow from others. There are no circles."""
    below: dict[str, set[str]] = {}
    for user, used in arrows:
        below.setdefault(user, set()).add(used)

    def reached(room: str) -> set[str]:
        return {deeper for next_room in below.get(room, ()) for deeper in ({next_room} | reached(next_room))}

    return {
        (user, used)
        for user, used in arrows
        if not any(used in reached(other) for other in below[user] if other != used)
    }


def python_rooms(room: str) -> Iterator[list[str]]:
    """A room and the packages in it, each with the first sentence of its docstring."""
    if room == HELPERS:
        yield [f"`{room}`", "Modules at the top of the package that are no room: errors, the version, mounts."]
        return
    folder = ROOT / "python/ioassay" / room
    for package in [folder / "__init__.py", *sorted(folder.glob("*/__init__.py"))]:
        name = ".".join(package.parent.relative_to(folder.parent).parts)
        yield [f"`{name}`", first_sentence(ast.get_docstring(ast.parse(package.read_text("utf-8"))) or "")]


def modules(crate: str) -> Iterator[list[str]]:
    """The modules of a crate that have a folder, each with the first sentence of its documentation."""
    for module in sorted((ROOT / "crates" / crate / "src").glob("*/mod.rs")):
        lines = re.findall(r"^//! ?(.*)", module.read_text("utf-8"), re.MULTILINE)
        yield [f"`{crate}::{module.parent.name}`", re.sub(r"\[(`[^`]+`)\]", r"\1", first_sentence("\n".join(lines)))]


def first_sentence(documentation: str) -> str:
    """On one line, with its full stop."""
    text = " ".join(documentation.partition("\n\n")[0].split())
    return text.partition(". ")[0].removesuffix(".") + "."


def _journey(steps: Sequence[Step]) -> str:
    if missing := [step.place for step in steps if not (ROOT / step.place).exists()]:
        raise SystemExit(f"A journey goes through what is not there: {', '.join(missing)}")
    return table(
        ["place", "what it does", "what it passes on"], [[_link(step.place), step.does, step.data] for step in steps]
    )


def _link(place: str) -> str:
    return f"[{place}](../../{place})"


if __name__ == "__main__":
    sys.exit(main(PAGE, page(), "ioassay.testing.architecture", sys.argv[1:]))

"""Collects facts: from this node, the launcher and its MPI, each node alone, and all nodes together.

A failure is a fact too: nothing here raises for a deficiency of the site. Not: judging facts (`checks`).
"""

from __future__ import annotations

import json
import platform
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ioassay.doctor.facts import ControlPlane, Launcher, NodeProbe, Problem, Rendezvous
from ioassay.errors import CannotRun, IoassayError
from ioassay.execution.engine_process import EngineProcess, follow
from ioassay.execution.engine_start import Start
from ioassay.execution.interruption import Interruption
from ioassay.execution.node_probe import Patience, ask_each
from ioassay.launchers import site_mpi
from ioassay.launchers.hosts import allocated
from ioassay.launchers.placement import Placement
from ioassay.processes.engine import clean_arguments, find_engine, survey_arguments, version_of
from ioassay.store.events import EventTail, read_events
from ioassay.store.lock import Lock
from ioassay.store.stored_directory import StoredDirectory
from ioassay.studies.target import Target
from ioassay.version import __version__

_COMMAND_S = 30

_REACH_S = 20
"""Longer than ssh or Slurm take for a node that is up."""

_TARGET_S = 4
"""How long the target may take to respond to a node; healthy ones are faster."""

_MEET_S = 150
"""For the survey. The engine itself reports after 90 s that its processes do not find each other."""

_CLEAN_S = 3


def control_plane(scratch: Path, scratch_problem: Problem | None) -> ControlPlane:
    """This node: ioassay, its engine, the directory for runs.

    `scratch` is a directory beside future run directories, if one could be created.
    """
    problem = scratch_problem
    if problem is None:
        try:
            with StoredDirectory.open(scratch) as directory:
                Lock.acquire(directory).release()
        except IoassayError as error:
            problem = Problem.of(error)
        except OSError as error:
            problem = Problem(f"{scratch.parent}: {error.strerror}.", "Use another directory with --out.")
    engine, version, engine_problem = None, None, None
    try:
        engine = str(find_engine())
        version = version_of(_said([engine, "--version"]))
        if version is None:
            engine_problem = Problem(f"{engine} does not start.", f"Start it by hand: {engine} --version")
    except CannotRun as error:
        engine_problem = Problem.of(error)
    return ControlPlane(
        ioassay_version=__version__,
        python_version=platform.python_version(),
        engine=engine,
        engine_version=version,
        engine_problem=engine_problem,
        run_place=str(scratch.parent),
        run_place_problem=problem,
    )


def launcher(name: str, start: Start, engine: Path) -> Launcher:
    """Facts about the launcher `name`, collected on this node."""
    if not start.launcher.needs_mpi:
        return Launcher(name)
    facts: dict[str, Any] = {}
    try:
        facts |= _slurm(start, engine) if start.launcher.mpi_plugins else _mpirun()
        # A launcher reports what it refuses when it builds a command line.
        start.alone([])
    except CannotRun as error:
        facts["problem"] = Problem.of(error)
    facts |= _library(engine)
    if plugin := start.launcher.mpi_plugins.get(facts.get("compiler_family", "")):
        facts["plugin"] = plugin
    return Launcher(name, **facts)


def _mpirun() -> dict[str, Any]:
    command = site_mpi.mpirun()
    printed = _said([str(command), "--version"]) or ""
    # Hydra prints it in a table, the others in their first line.
    version = re.search(r"Version:\s*(\S+)", printed)
    line = f"Hydra {version[1]}" if version else next(iter(printed.splitlines()), "")
    return {"command": str(command), "version": line, "family": site_mpi.family_of_mpirun(command)}


def _slurm(start: Start, engine: Path) -> dict[str, Any]:
    command = shutil.which("srun")
    if command is None:
        raise CannotRun(
            "There is no `srun` in PATH.", "Run this on a node with Slurm's commands, or use another launcher."
        )
    # In a lab, Slurm and its settings are on the lab's hosts.
    prefix = Placement(1, 1, start.nodes).launch(engine)
    listed = _said([*prefix, "srun", "--mpi=list"], start.environment()) or ""
    return {
        "command": command,
        "version": (_said([*prefix, "srun", "--version"], start.environment()) or "").strip(),
        "plugins": [word for word in re.findall(r"[a-z0-9_]+", listed) if re.match(r"pm|none|cray|openmpi", word)],
        "allocated": [node.name for node in allocated()],
        "has_sbatch": shutil.which("sbatch") is not None,
    }


def _library(engine: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    try:
        compiler = site_mpi.mpicc()
        facts["compiler"] = str(compiler)
        facts["compiler_family"] = site_mpi.family_of_mpicc(compiler)
        facts["library"] = str(site_mpi.library())
    except CannotRun as error:
        facts["library_problem"] = Problem.of(error)
        return facts
    listed = json.loads(_said([str(engine), "mpi", "list", "--json", "--only", facts["library"]]) or "[]")
    if not listed or listed[0]["library"] is None:
        reason = listed[0]["problem"] if listed else "it is not listed"
        facts["library_problem"] = Problem(
            f"{facts['library']} cannot be loaded: {reason}", "Rebuild it: ioassay mpi build --force"
        )
    else:
        # Only its first words: some MPIs print several lines.
        facts["library_name"] = " ".join(listed[0]["library"].splitlines()[0].split(",")[0].split())
    return facts


def reached(start: Start, scratch: Path, interruption: Interruption) -> list[NodeProbe]:
    """Whether the engine starts on each node of `start`, in order; without nodes, on the node that the launcher
    chooses.
    """
    return [
        NodeProbe(answer.node, answer.version, answer.printed, answer.waited_s)
        for answer in ask_each(start, scratch, interruption, Patience(_REACH_S))
    ]


def meeting(
    start: Start,
    ranks_per_node: int,
    target: Target | None,
    scratch: Path,
    interruption: Interruption,
) -> Rendezvous:
    """Connects the nodes of `start`, and surveys them and `target`, a directory."""
    events, output = scratch / "events.jsonl", scratch / "survey"
    # A new name, so that no node has it cached, and a node that sees it sees the newly created directory.
    run = f"doctor-{secrets.token_hex(8)}"
    arguments = survey_arguments(events, target.place if target else None, run, _TARGET_S)
    if not start.stands_between:
        arguments += ["--ranks-per-node", str(ranks_per_node)]
    command = start.together(arguments, max(1, len(start.nodes)), ranks_per_node)
    deadline = time.monotonic() + _MEET_S
    is_stopping = False
    with EngineProcess(command, output, environment=start.environment(), through=start.stands_between) as process:

        def stop_when_late() -> None:
            nonlocal is_stopping
            if not is_stopping and time.monotonic() > deadline:
                is_stopping = True
                process.stop(signal.SIGTERM)

        reported = follow(process, interruption, EventTail(events), on_look=stop_when_late)
    error = next((event for event in reported if event["event"] == "error"), None)
    survey = next((event for event in reported if event["event"] == "survey"), None)
    removed = next((event for event in reported if event["event"] == "removed"), None)
    look = survey["nodes"][0].get("target") if survey is not None else None
    leftovers: list[str] = []
    if target is not None and removed is None:
        leftovers = _clean(start, target.workspace(run), scratch, interruption)
    elif target is not None and removed is not None and (survey is None or (look and look["shared"])):
        # Without `shared`, the first node has created nothing.
        leftovers = [entry["path"] for entry in removed["left"]]
    return Rendezvous(
        nodes=[node.name for node in start.nodes],
        ranks_per_node=ranks_per_node,
        target=target.place if target else None,
        workspace=target.workspace(run) if target else None,
        events=str(events),
        survey=survey,
        failure=Problem(error["message"], error["remedy"]) if error else None,
        printed=output.read_text(errors="replace"),
        left=leftovers,
    )


def _clean(start: Start, workspace: str, scratch: Path, interruption: Interruption) -> list[str]:
    """Removes leftovers of an engine that exited without an event. Returns what may remain."""
    events = scratch / "clean.jsonl"
    command = start.alone(clean_arguments(events, workspace))
    deadline = time.monotonic() + _CLEAN_S
    with EngineProcess(command, scratch / "clean", environment=start.environment(), through=True) as process:
        while not (process.wait(0.1) or interruption.count > 1):
            if time.monotonic() > deadline:
                process.kill()
    removed = [event for event in read_events(events) if event["event"] == "removed"]
    return [entry["path"] for entry in removed[0]["left"]] if removed else [workspace]


def _said(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str | None:
    """The output of `command` with its errors; `None` if it does not start, fails, or exceeds the time limit."""
    try:
        result = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_COMMAND_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None

"""Removes what a run left on the target, through the engine: by the workspace's own list, never by a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay import engine
from ioassay.errors import CannotRun
from ioassay.execution.follow import follow
from ioassay.execution.interruption import Interruption
from ioassay.execution.process import EngineProcess
from ioassay.execution.seen import sees_target
from ioassay.execution.start import Start
from ioassay.results.document import RunDocument
from ioassay.results.events import EventTail
from ioassay.results.outcome import sentence
from ioassay.results.run_directory import RunDirectory
from ioassay.studies.target import Target

_IN_PLACE = (
    "The files of this run lie where its command line named them, in directories that are yours, and ioassay removes "
    "only directories of its own. Look at what is there and remove it by hand."
)


@dataclass(frozen=True)
class Cleaned:
    """What a clean-up did."""

    workspace: str | None
    """`None` where the run has none: its files lie where the user named them."""
    files: int
    """Removed."""
    leftovers: list[str]
    """Paths that remain."""
    why: str = ""
    """The reason that something remains, as a sentence, or why nothing was to be removed."""


def clean_run(path: Path) -> Cleaned:
    """Removes what the run at `path` left on its target, and notes in `run.json` what remains.

    Raises `UsageError` when `path` is no run or is still in use.
    """
    with RunDirectory.reopen(path) as run, Interruption() as interruption:
        return clean(run, interruption)


def clean(run: RunDirectory, interruption: Interruption) -> Cleaned:
    """Removes the workspace of a run that this process holds. A workspace that is not there is clean."""
    target_kind = run.document.target_kind
    if target_kind == "in-place":
        return Cleaned(None, 0, run.document.leftovers, _IN_PLACE)
    # The contract names the workspace, so it is known even if the engine was killed before it could report it.
    workspace = Target(target_kind, run.document.target).workspace(run.document.run)
    if target_kind == "device":  # nothing of it is ours to remove
        return Cleaned(workspace, 0, [])
    logs = run.path / "logs"
    events = EventTail(logs / "clean.jsonl")
    events.new()  # those of earlier clean-ups
    try:
        command, environment = _command(run.document, engine.clean_arguments(logs / "clean.jsonl", workspace))
    except CannotRun as error:  # a lab that is not up
        return Cleaned(workspace, 0, [workspace], f"{error.message} {error.remedy}")
    with EngineProcess(command, logs / "clean-stderr.txt", [run.lock.descriptor], environment) as process:
        seen = follow(process, interruption, events, last_words=("removed", "error"))
    cleaned = Cleaned(workspace, 0, [workspace], "The engine was ended before it had removed everything.")
    for event in seen:
        if event["event"] == "removed":
            because = "; ".join(f"{left['path']}: {left['because']}" for left in event["left"])
            cleaned = Cleaned(workspace, event["files"], [left["path"] for left in event["left"]], because)
        elif event["event"] == "error":
            cleaned = Cleaned(workspace, 0, [workspace], sentence(event))
    if not seen and process.status is not None and process.status > 0:
        raise CannotRun(
            f"The engine could not clean {workspace} (exit status {process.status}).",
            f"Read {logs / 'clean-stderr.txt'}.",
        )
    run.document.leftovers = cleaned.leftovers
    run.save()
    return cleaned


def _command(run: RunDocument, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """An engine that sees the target, and its environment: on the run's first node, or if that cannot be had now, here.

    Raises `CannotRun`.
    """
    try:
        start = Start.of(run)
        return start.alone(arguments), start.environment()
    except CannotRun:  # no allocation of Slurm, no MPI loaded
        if not sees_target(run):
            raise
        start = Start.here(run)
        return start.alone(arguments), start.environment()

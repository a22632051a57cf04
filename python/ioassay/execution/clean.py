"""Removes a run's leftovers from the target, through the engine: by the workspace's own list, never by a pattern."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ioassay import mounts
from ioassay.errors import CannotRun, UsageError
from ioassay.execution.engine_process import EngineProcess, follow
from ioassay.execution.engine_start import Start
from ioassay.execution.interruption import Interruption
from ioassay.execution.run_owner import Owner, foreign_owner
from ioassay.processes import engine
from ioassay.store.document import RunDocument
from ioassay.store.events import EventTail
from ioassay.store.lock import in_use
from ioassay.store.outcome import sentence
from ioassay.store.run_directory import read_document
from ioassay.store.run_writer import RunWriter
from ioassay.store.stored_directory import StoredDirectory
from ioassay.studies.target import DATASET_PREFIX, Target, dataset_directory

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_IN_PLACE = (
    "The files of this run are in directories of yours that its command line named; ioassay removes only directories "
    "that it created. Check what is left and remove it by hand."
)


_IMPORTED = "The run was imported: ioassay wrote nothing to a target."


@dataclass(frozen=True)
class Cleaned:
    """The result of a clean-up."""

    workspace: str | None
    """`None` if the run has none: its files are in directories of the user's, or it was imported."""
    files: int
    """Number of removed files."""
    leftovers: list[str]
    """Paths that remain."""
    why: str = ""
    """Why something remains, or why there was nothing to remove, as a sentence."""
    datasets: Sequence[str] = ()
    """Names of datasets that are kept on the target: they are removed only by name."""


@dataclass(frozen=True)
class By:
    """The launcher of the removing engine, as the caller names it now: what the run has stored is not executed."""

    launcher: str
    hosts: Sequence[str]
    options: Sequence[str]


def clean_run(path: Path, by: By | None = None, dataset: str | None = None) -> Cleaned:
    """Removes the leftovers of the run at `path` from its target, and records in `run.json` what remains. With
    `dataset` it removes the dataset that is kept there under this name, and nothing else.

    An engine on this node does it, or one started by the given launcher. Raises `UsageError` if `path` is not a run
    or is in use.
    """
    if read_document(path).imported is not None:
        return Cleaned(None, 0, [], _IMPORTED)
    with Interruption() as interruption:
        if (owner := foreign_owner(path)) is not None:
            return _clean_foreign(path, owner, by, interruption)
        with RunWriter.reopen(path) as run:
            try:
                if by is None and (cleaned := _without_target(run.document)) is not None:
                    return _noted(run, cleaned)
                start = _start(run.document, path, by)
                if dataset is not None:
                    directory = _kept_directory(run.document, dataset)
                    inherited = [run.lock.descriptor]
                    return _remove_path(directory, start, run.path / "logs", inherited, interruption)
            except CannotRun as error:  # a lab that is down, a mount that does not respond or is missing here
                workspace = _workspace(run.document)
                return Cleaned(workspace, 0, [workspace], f"{error.message} {error.remedy}")
            cleaned = clean(run, interruption, start)
            # A target that does not respond is not asked for more.
            return cleaned if cleaned.leftovers else replace(cleaned, datasets=kept_datasets(run.document))


def kept_datasets(run: RunDocument) -> list[str]:
    """Names of the datasets on the target of `run` that no run removes by itself, where this node sees that."""
    if run.target_kind != "directory" or run.lab is not None:
        return []

    def names() -> list[str]:
        try:
            return sorted(name for name in os.listdir(run.target) if name.startswith(DATASET_PREFIX))
        except OSError:
            return []

    shared = {Path(directory).name for directory in run.shared_datasets}
    return [name.removeprefix(DATASET_PREFIX) for name in mounts.ask(run.target, names) if name not in shared]


def _kept_directory(run: RunDocument, name: str) -> str:
    if run.target_kind != "directory":
        raise UsageError("Only directories of mounted file systems keep datasets.", "Leave out --dataset.")
    if not name or "/" in name:
        raise UsageError(f"{name!r} is not a name of a dataset.", "Name one that `ioassay clean RUN` lists.")
    return dataset_directory(run.target, name)


def remove_shared_datasets(run: RunWriter, start: Start) -> list[str]:
    """Removes the datasets that the cases of a run share. Returns what remains, which the document has until then."""
    document = run.document
    if not document.shared_datasets:
        return []
    before = document.leftovers
    document.leftovers = [*before, *document.shared_datasets]
    run.save()  # should this process be killed now
    # A signal that ended the run does not end this; another one does.
    with Interruption() as interruption:
        logs, inherited = run.path / "logs", [run.lock.descriptor]
        each = [_remove_path(path, start, logs, inherited, interruption) for path in document.shared_datasets]
    document.leftovers = [*before, *(path for cleaned in each for path in cleaned.leftovers)]
    run.save()
    return [cleaned.why for cleaned in each if cleaned.leftovers]


def clean(run: RunWriter, interruption: Interruption, start: Start) -> Cleaned:
    """Removes the workspace of a run that this process holds. A missing workspace is clean."""
    return _noted(run, _remove(run.document, start, run.path / "logs", [run.lock.descriptor], interruption))


def _noted(run: RunWriter, cleaned: Cleaned) -> Cleaned:
    """Records in `run.json` what remains, and returns `cleaned`."""
    run.document.leftovers = cleaned.leftovers
    run.save()
    return cleaned


def _clean_foreign(path: Path, owner: Owner, by: By | None, interruption: Interruption) -> Cleaned:
    """As `clean_run`, for a directory of another user: nothing is written into it."""
    document = read_document(path)
    if document.target_kind == "url":
        raise UsageError(
            f"{owner.path} belongs to user {owner.uid}, and the owner of objects at a URL cannot be checked.",
            "Run `ioassay clean` as the user who owns the run.",
        )
    with StoredDirectory.open(path) as directory:
        if in_use(directory):
            raise UsageError(f"{path} is in use.", "Wait until it has ended.")
    with TemporaryDirectory(prefix="ioassay-clean-") as scratch:
        return _remove(document, _start(document, path, by), Path(scratch), [], interruption)


def _remove(
    run: RunDocument, start: Start, logs: Path, inherited: Sequence[int], interruption: Interruption
) -> Cleaned:
    if run.target_kind == "in-place":
        return Cleaned(None, 0, run.leftovers, _IN_PLACE)
    workspace = _workspace(run)
    if run.target_kind == "device":  # there is nothing to remove from it
        return Cleaned(workspace, 0, [])
    each = [_remove_path(path, start, logs, inherited, interruption) for path in (workspace, *run.shared_datasets)]
    leftovers = [path for cleaned in each for path in cleaned.leftovers]
    reasons = "; ".join(cleaned.why for cleaned in each if cleaned.why)
    return Cleaned(workspace, sum(cleaned.files for cleaned in each), leftovers, reasons)


def _remove_path(
    workspace: str, start: Start, logs: Path, inherited: Sequence[int], interruption: Interruption
) -> Cleaned:
    """Removes a workspace or the directory of a dataset."""
    events = EventTail(logs / "clean.jsonl")
    events.new()  # skips events of earlier clean-ups
    command = start.alone(engine.clean_arguments(logs / "clean.jsonl", workspace))
    with EngineProcess(command, logs / "clean-stderr.txt", inherited, start.environment()) as process:
        reported = follow(process, interruption, events, last_words=("removed", "error"))
    cleaned = Cleaned(workspace, 0, [workspace], "The engine exited before it had removed everything.")
    for event in reported:
        if event["event"] == "removed":
            reasons = "; ".join(f"{leftover['path']}: {leftover['because']}" for leftover in event["left"])
            cleaned = Cleaned(workspace, event["files"], [leftover["path"] for leftover in event["left"]], reasons)
        elif event["event"] == "error":
            cleaned = Cleaned(workspace, 0, [workspace], sentence(event))
    if not reported and process.status is not None and process.status > 0:
        raise CannotRun(
            f"The engine could not clean {workspace} (exit status {process.status}).",
            f"See {logs / 'clean-stderr.txt'}.",
        )
    return cleaned


def _workspace(run: RunDocument) -> str:
    # The plan names the workspace, so it is known even if the engine was killed before it could report it.
    if run.target_kind == "in-place":
        return run.target
    return Target(run.target_kind, run.target).workspace(run.run)


def _without_target(run: RunDocument) -> Cleaned | None:
    """The result if the measured directory does not exist here; `None` if it does.

    On the file system of the run it was removed, with any leftovers. Elsewhere it may still exist: hosts of a
    lab have their own mounts. Raises `CannotRun` if the mount does not respond.
    """
    if (
        run.target_kind != "directory"
        or run.lab is not None
        or mounts.ask(run.target, lambda: os.path.lexists(run.target))
    ):
        return None
    if sees_target(run):
        return Cleaned(None, 0, [], f"The target {run.target} no longer exists, so nothing remains on it.")
    workspace = _workspace(run)
    reason = (
        f"{run.target} does not exist here, and its file system may not be mounted. Mount it, or clean on a node that "
        "has it."
    )
    return Cleaned(workspace, 0, [workspace], reason)


def _start(run: RunDocument, path: Path, by: By | None) -> Start:
    """Starts the engine. Raises `UsageError`, `CannotRun`."""
    if by is not None:
        launcher_of_caller = {"launcher": by.launcher, "hosts": list(by.hosts), "launcher_options": list(by.options)}
        return Start.of(run.model_copy(update=launcher_of_caller))
    if run.launcher != "local" and run.target_kind == "directory" and not sees_target(run):
        raise CannotRun(
            f"{run.target} on this node is not the file system that the first node of the run measured.",
            f"Clean on a node of the run, or start the engine there by a launcher: ioassay clean {path} "
            f"--launcher {run.launcher} (with --hosts and --launcher-options as for the run).",
        )
    return Start.here(run)


def sees_target(run: RunDocument) -> bool:
    """True if the target of `run` is the same here as on the run's first node; False if unknown.

    It compares mounts with those that the run recorded of its nodes; no file system is accessed.
    """
    if run.target_kind == "url":
        return True
    if run.target_kind != "directory" or not run.environment:
        return False
    node = run.environment[0]
    recorded, mount = node.get("mount"), mounts.mount_of(run.target)
    if recorded is None or mount is None:
        return False
    # A file system on a device, or without a source, differs between machines even if the names are equal.
    same_machine = node.get("boot_id") == _BOOT_ID.read_text().strip()
    if (node.get("block_device") is not None or recorded["source"] is None) and not same_machine:
        return False
    current = (mount.point, mount.source, mount.file_system)
    return current == (recorded["mount_point"], recorded["source"], recorded["file_system"])

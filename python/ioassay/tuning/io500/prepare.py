"""From the request to the document of a procedure that has measured nothing: steps 1 to 3."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ioassay import mounts
from ioassay.errors import CannotRun, UsageError
from ioassay.execution.places import Place
from ioassay.execution.prepare import BATCH
from ioassay.launchers import DEFAULT, Node, find_launcher
from ioassay.launchers.hosts import allocated
from ioassay.store.moments import now
from ioassay.store.net_directory import read_net
from ioassay.store.tune_io500_document import StripingEntry, TuneIo500Document
from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.text.units import parse_bytes, parse_duration_ns
from ioassay.tuning import snapshot as snapshots
from ioassay.tuning.io500 import facts, striping
from ioassay.tuning.io500.measurement import STUDY, ior_easy_study
from ioassay.tuning.io500.node_count import node_count
from ioassay.tuning.io500.settings import STONEWALL, of_run, typed, words
from ioassay.tuning.snapshot import Snapshot
from ioassay.version import __version__


@dataclass(frozen=True)
class Io500Request:
    """The options of the user."""

    place: Place
    scale: str | None = None
    settings: Sequence[str] = ()
    launcher: str = DEFAULT
    hosts: Sequence[str] = ()
    launcher_options: Sequence[str] = ()
    theory_bytes_per_s: int | None = None
    ceilings: Path | None = None
    storage_targets: int | None = None
    most_ranks: int | None = None
    stonewall: str | None = None
    precision: float = 0.05
    most_turns: int = 8
    command: Sequence[str] = ()


def prepare(request: Io500Request) -> TuneIo500Document:
    """The document, with the system, the striping and the number of nodes.

    Raises `UsageError` for what cannot be meant, `CannotRun` for a target that does not answer.
    """
    if request.place.target.kind != "directory":
        raise UsageError(
            "The IO500 creates files and directories, but the target is no directory.",
            "Name a directory of the file system: --target DIR",
        )
    if request.launcher == BATCH:
        raise UsageError(
            "The procedure decides after each run, which a batch job for each run does not allow.",
            "Start it in an allocation (salloc or a job script) with --launcher srun.",
        )
    chosen = _settings(request)
    snapshot, why_not = _snapshot(request.place)
    nodes = _nodes(request)
    processors = facts.processors(snapshot)
    count = node_count(facts.storage_targets(snapshot, request.storage_targets), max(1, len(nodes)))
    net = read_net(request.ceilings) if request.ceilings else None
    ceiling, unknown = facts.ceiling(request.theory_bytes_per_s, net, snapshot, count.nodes)
    most = request.most_ranks or processors.value
    settings = chosen | {"stonewall": _stonewall(request, chosen)}
    return TuneIo500Document(
        tuning=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-tune-io500-{secrets.token_hex(2)}",
        started=now(),
        target=request.place.storage or request.place.target.place,
        directory=request.place.target.place,
        command=list(request.command),
        ioassay_version=__version__,
        scale=request.scale,
        study_settings=words(settings),
        user_settings=[word for word in words(chosen) if not word.startswith("stonewall=")],
        launcher=request.launcher,
        hosts=list(request.hosts),
        launcher_options=list(request.launcher_options),
        clients=request.place.clients,
        stonewall=settings["stonewall"],
        facts=facts.facts(snapshot, why_not, [node.name for node in nodes], processors),
        ceiling=ceiling,
        ceiling_unknown=unknown,
        striping=_striping(request, snapshot, settings, count.nodes * most),
        nodes=count,
        most_ranks=most,
        most_ranks_source="--most-ranks" if request.most_ranks else "processors of a node",
        precision=request.precision,
        most_turns=request.most_turns,
    )


def _settings(request: Io500Request) -> dict[str, str]:
    """The settings of the user, checked against the study. Raises `UsageError`."""
    chosen = typed(request.settings)
    resolve(find_study(STUDY), request.scale, words(of_run(chosen, 1, 1)), request.place.target.api)
    if request.stonewall is not None:
        parse_duration_ns(request.stonewall)
        if "stonewall" in chosen:
            raise UsageError("--stonewall and --set stonewall contradict each other.", "Use one of them.")
    return chosen


def _stonewall(request: Io500Request, chosen: dict[str, str]) -> str:
    """The stonewall of the option, of --set, of the scale, or the short one."""
    if stonewall := request.stonewall or chosen.get("stonewall"):
        return stonewall
    return str(_of_study(request, {})["stonewall"]) if request.scale else STONEWALL


def _of_study(request: Io500Request, settings: dict[str, str]) -> dict[str, object]:
    """The settings of the study io500 as it would run."""
    resolved = resolve(find_study(STUDY), request.scale, words(settings), request.place.target.api)
    return dict(resolved.entry.settings)


def _snapshot(place: Place) -> tuple[Snapshot | None, str]:
    """This node, or why it could not be captured, which ends nothing."""
    try:
        return snapshots.collect(place.target.place if place.clients is None else None), ""
    except (CannotRun, UsageError) as error:
        return None, error.message.splitlines()[0]


def _nodes(request: Io500Request) -> list[Node]:
    """The nodes that may take part; none: this one. Raises `UsageError`, `CannotRun`."""
    lab = request.place.lab
    nodes = [*lab.nodes] if lab else [Node(name) for name in request.hosts]
    return nodes or (allocated() if find_launcher(request.launcher).needs_mpi else [])


def _striping(request: Io500Request, snapshot: Snapshot | None, settings: dict[str, str], ranks: int) -> StripingEntry:
    """Step 2 for a file of ior-hard that so many ranks write."""
    if not facts.is_lustre(snapshot):
        place = request.place
        mount = mounts.mount_of(place.target.place) if snapshot is None and place.clients is None else None
        return striping.not_applicable(facts.file_system(snapshot) or (mount.file_system if mount else ""))
    hard = parse_bytes(str(_of_study(request, settings)["hard_size"]))
    targets = facts.storage_targets(snapshot, request.storage_targets)
    return striping.striping(request.place.target.place, targets, hard * ranks, facts.rpc_bytes(snapshot))


def easy_settings(document: TuneIo500Document, api: str) -> dict[str, str]:
    """The settings of every run that the study of ior-easy has too."""
    known = resolve(find_study(ior_easy_study()), document.scale, [], api).entry.settings
    return {key: value for key, value in typed(document.study_settings).items() if key in known}

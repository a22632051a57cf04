"""Facts about a site, as plain values: checks judge them, tests construct them, `--json` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ioassay.errors import IoassayError

if TYPE_CHECKING:
    from ioassay.protocol.event import EventSurvey


@dataclass(frozen=True)
class Problem:
    """Why something does not work, and a remedy."""

    message: str
    remedy: str

    @classmethod
    def of(cls, error: IoassayError) -> Problem:
        return cls(error.message, error.remedy)


@dataclass(frozen=True)
class ControlPlane:
    """This node, where `ioassay` itself runs."""

    ioassay_version: str
    python_version: str
    engine: str | None
    """Path of the engine."""
    engine_version: str | None
    run_place: str
    """The directory for runs."""
    engine_problem: Problem | None = None
    run_place_problem: Problem | None = None
    """Why run directories cannot be created there."""


@dataclass(frozen=True)
class Launcher:
    """The launcher of the ranks."""

    name: str
    problem: Problem | None = None
    """Why it cannot start ranks."""
    command: str | None = None
    """Its path; `None` if the engine starts the ranks itself."""
    version: str = ""
    """Its version, in a line."""
    family: str | None = None
    """Its family: `open-mpi`, `mpich`; `None` if it belongs to no MPI."""
    compiler: str | None = None
    compiler_family: str | None = None
    library: str | None = None
    """The engine's connector for the compiler's MPI."""
    library_name: str | None = None
    """Name and version of that MPI."""
    library_problem: Problem | None = None
    plugins: Sequence[str] = ()
    """MPI plug-ins of `srun` (`srun --mpi=list`)."""
    plugin: str | None = None
    """The plug-in that the compiler's MPI needs."""
    allocated: Sequence[str] = ()
    """The nodes of the current Slurm job."""
    has_sbatch: bool = False


@dataclass(frozen=True)
class NodeProbe:
    """The result of starting the engine on one node alone."""

    node: str
    version: str | None
    """Version of the engine there; `None` if it did not start."""
    printed: str = ""
    """The launcher's output."""
    waited_s: float | None = None
    """Seconds without an answer; `None` if there was one."""


@dataclass(frozen=True)
class Rendezvous:
    """The result of starting the engine on all nodes together."""

    nodes: Sequence[str]
    """The requested nodes; empty if the launcher chooses."""
    ranks_per_node: int
    target: str | None
    """The directory that all nodes should see."""
    workspace: str | None
    """The directory that the first node creates in the target."""
    events: str
    """The file into which the first rank writes the survey."""
    survey: EventSurvey | None
    """The survey of all nodes."""
    failure: Problem | None = None
    """The engine's error."""
    printed: str = ""
    left: Sequence[str] = ()
    """Leftovers of the engine in the target."""


TargetKind = Literal["directory", "url", "device"]


@dataclass
class Facts:
    """All facts, filled one after the other."""

    target: str | None
    target_kind: TargetKind | None
    control_plane: ControlPlane | None = None
    launcher: Launcher | None = None
    reached: list[NodeProbe] = field(default_factory=list)
    meeting: Rendezvous | None = None

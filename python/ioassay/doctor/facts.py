"""What was found out about a site. Plain values: checks judge them, tests make them up, `--json` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ioassay.errors import IoassayError

if TYPE_CHECKING:
    from ioassay.protocol.event import EventSurvey


@dataclass(frozen=True)
class Problem:
    """Why something does not work."""

    message: str
    remedy: str

    @classmethod
    def of(cls, error: IoassayError) -> Problem:
        """What an error says."""
        return cls(error.message, error.remedy)


@dataclass(frozen=True)
class ControlPlane:
    """This side: where `ioassay` itself runs."""

    ioassay_version: str
    python_version: str
    engine: str | None
    """Its path."""
    engine_version: str | None
    run_place: str
    """Where a run directory would be created."""
    engine_problem: Problem | None = None
    run_place_problem: Problem | None = None
    """Why a run directory cannot be there."""


@dataclass(frozen=True)
class Launcher:
    """What starts the ranks."""

    name: str
    problem: Problem | None = None
    """Why it cannot start any."""
    command: str | None = None
    """Its path; `None` where the engine starts the ranks itself."""
    version: str = ""
    """What it says of itself, in a line."""
    family: str | None = None
    """Whose it is: `open-mpi`, `mpich`; `None` of one that is no MPI's."""
    compiler: str | None = None
    compiler_family: str | None = None
    library: str | None = None
    """The connector of the engine for the compiler's MPI."""
    library_name: str | None = None
    """What that MPI calls itself."""
    library_problem: Problem | None = None
    plugins: Sequence[str] = ()
    """What `srun` knows of MPI (`srun --mpi=list`)."""
    plugin: str | None = None
    """The one of these that the compiler's MPI needs."""
    allocated: Sequence[str] = ()
    """The nodes of the job of Slurm that this is in."""
    has_sbatch: bool = False


@dataclass(frozen=True)
class Reached:
    """The result of starting the engine on one node alone."""

    node: str
    version: str | None
    """Of the engine there; `None` where it did not start."""
    printed: str = ""
    """What the launcher printed."""
    waited_s: float | None = None
    """For how long there was no answer; `None` where there was one."""


@dataclass(frozen=True)
class Meeting:
    """The result of starting the engine on all nodes together."""

    nodes: Sequence[str]
    """Those that were asked for; none where it is wherever the launcher puts it."""
    ranks_per_node: int
    target: str | None
    """The directory that all should see."""
    workspace: str | None
    """What the first node was to create there."""
    events: str
    """Where the first rank was to write what all have found."""
    survey: EventSurvey | None
    """That."""
    failure: Problem | None = None
    """What the engine says of why it did not work."""
    printed: str = ""
    left: Sequence[str] = ()
    """What remains in the target of what the engine created there."""


TargetKind = Literal["directory", "url", "device"]


@dataclass
class Facts:
    """All of them, as they come in."""

    target: str | None
    target_kind: TargetKind | None
    control_plane: ControlPlane | None = None
    launcher: Launcher | None = None
    reached: list[Reached] = field(default_factory=list)
    meeting: Meeting | None = None

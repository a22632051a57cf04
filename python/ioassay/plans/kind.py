"""The interface of a kind of work: a class in `kinds` implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, NotRequired, TypedDict, TypeVar

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import Work

W_contra = TypeVar("W_contra", contravariant=True)
"""The type of its works in plans."""


class Description(TypedDict):
    """What tables and reports state of a job besides its amounts, as `store.document.JobEntry` has it."""

    file_set: str
    """Name of the file set or tree; empty for none."""
    layout: str
    order: str
    transfer_bytes: int | None
    """Bytes of one call; `None` where nothing is moved, or transfers differ."""
    payload: NotRequired[str | None]
    fsync: NotRequired[str | None]


class Kind(ABC, Generic[W_contra]):
    """A kind of work. Methods with a body suit most kinds."""

    does_io_by_storage = True
    """Its I/O goes through the storage API."""

    @abstractmethod
    def words(self, plan: Contents, work: W_contra, name: str | None) -> str:
        """What a job does, as a part of a sentence; `name` is that of its phase, `None` where jobs are side by side."""

    @abstractmethod
    def description(self, plan: Contents, work: W_contra) -> Description:
        """What it works on, and how."""

    def files(self, work: W_contra) -> list[str]:
        """File sets of the plan that it names."""
        return []

    def trees(self, work: W_contra) -> list[str]:
        """Trees of the plan that it names."""
        return []

    def datasets(self, work: W_contra) -> list[str]:
        """Datasets of the plan that it names."""
        return []

    def checkpoints(self, work: W_contra) -> list[str]:
        """Checkpoints of the plan that it names."""
        return []

    def earlier_steps(self, work: W_contra) -> list[int]:
        """Steps of the plan that it refers to, which must be phases."""
        return []


def called(name: str | None, verb: str) -> str:
    """The name of a phase, where it says more than the verb."""
    return "" if name in (None, verb) else f" ({name})"


def which(plan: Contents, name: str) -> str:
    """A file set, tree, dataset or checkpoint by name, where there are several."""
    return f" of {name}" if has_several(plan) else ""


def has_several(plan: Contents) -> bool:
    """True where a plan has more than one of file sets, trees, datasets and checkpoints together."""
    on_files = len(plan.get("files", {})) + len(plan.get("trees", {}))
    return on_files + len(plan.get("datasets", {})) + len(plan.get("checkpoints", {})) > 1


def with_additions(additions: list[str]) -> str:
    """The additions to a verb, as the rest of its sentence; empty ones are left out."""
    return "".join(f", {addition}" for addition in additions if addition)


def phase_name(plan: Contents, step: int) -> str:
    """The name of the phase that is this step."""
    phase = plan["steps"][step]
    assert phase["step"] == "phase"  # checked when the plan was read
    return phase["name"]


def jobs(plan: Contents) -> list[Work]:
    """The works of all jobs, in order."""
    return [job["work"] for step in plan["steps"] if step["step"] == "phase" for job in step["jobs"]]

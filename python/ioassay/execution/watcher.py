"""The interface of displays that follow a run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from ioassay.store.document import CaseEntry, RunDocument

if TYPE_CHECKING:
    from ioassay.protocol.event import Event
    from ioassay.protocol.progress import Progress


class Watcher(Protocol):
    """Displays a run. Methods must not raise: a failing display must not cost a measurement."""

    def run_begins(self, document: RunDocument) -> None:
        """The first case is about to start; cases of a resumed run may be complete already."""
        ...

    def case_begins(self, case: CaseEntry) -> None:
        """The engine is being started for `case`."""
        ...

    def progress(self, case: CaseEntry, progress: Progress) -> None:
        """Progress of the running step, a few times per second."""
        ...

    def event(self, case: CaseEntry, event: Event) -> None:
        """The engine reported something."""
        ...

    def case_ends(self, case: CaseEntry) -> None:
        """`case` has its final state, and its results are stored."""
        ...

    def notice(self, message: str) -> None:
        """A sentence about the run itself, for example that a signal stops it."""
        ...

    def suspended(self) -> AbstractContextManager[None]:
        """This process stops within the context, and its terminal belongs to others until it is resumed."""
        ...

    def run_ends(self, document: RunDocument) -> None:
        """The run has ended; `document.state` says how."""
        ...

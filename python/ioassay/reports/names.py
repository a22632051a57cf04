"""What workloads, cases and phases are called in a report."""

from __future__ import annotations

from ioassay.analysis.doubts import Place
from ioassay.reports import format
from ioassay.results.document import RunDocument


class Names:
    """The words for everything that a run names by an id."""

    def __init__(self, document: RunDocument) -> None:
        self._titles = {workload.name: workload.title for workload in document.study.workloads}
        self._cases = {case.id: case for case in document.cases}
        self.repeated = any(case.repetition > 1 for case in document.cases)
        """True if any case runs more than once: only then does a repetition need saying."""

    def workload(self, name: str) -> str:
        """A workload's title."""
        return self._titles.get(name, name)

    def case(self, case: str) -> str:
        """A case by its id: `Sequential N-N, 8 clients, repetition 2`."""
        entry = self._cases[case]
        text = f"{self.workload(entry.workload)}, {format.count(entry.clients, 'client')}"
        return f"{text}, repetition {entry.repetition}" if self.repeated else text

    def place(self, place: Place) -> str:
        """A measurement: `Sequential N-N, 8 clients, repetition 2, write`."""
        case, phase = place
        return f"{self.case(case)}, {phase}"

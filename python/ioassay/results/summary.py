"""What the index shows of a stored directory, and the parts of its document that say it.

A document begins with these, so that its first `HEAD_BYTES` are enough. Where they are not, because an older version
has another order or one of the values is long, the whole document is read. Not: finding directories (`index`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from pydantic import BaseModel

from ioassay.results.document import RunState, called
from ioassay.results.experiment_document import ExperimentState
from ioassay.results.net_document import NetState
from ioassay.results.record_document import RecordState
from ioassay.results.stored_types import Component, Moment

HEAD_BYTES = 8 << 10


@dataclass(frozen=True)
class Summary:
    """A stored directory in a line."""

    name: str
    """Its identifier, which it keeps when it is renamed."""
    origin: str | None
    """Of a run: `study`, `front-end` or `import`."""
    study: str
    """The study, the tool whose command line or results they are, or the program that was recorded."""
    target: str
    """Empty: of a front end that no command has loaded yet."""
    started: str
    """ISO 8601 with a time zone; empty: an imported result does not tell."""
    state: RunState | NetState | RecordState | ExperimentState | Literal["ended"]
    """`ended`: of a front end that no command has loaded yet, and that did not succeed; its logs tell more."""


class SummaryHead(BaseModel, ABC):
    """The part of a document that its summary is made of."""

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """The summary."""


class _Named(BaseModel):
    name: str


class _Origin(BaseModel):
    kind: str
    storage: str | None = None


class RunHead(SummaryHead):
    """Of `run.json`. The study comes last: where it is there, the origin is there as a whole."""

    run: Component
    state: RunState
    started: Moment | Literal[""]
    target: str
    origin: _Origin
    study: _Named

    @property
    def summary(self) -> Summary:
        """The summary."""
        return Summary(
            name=self.run,
            origin=self.origin.kind,
            study=self.study.name,
            target=called(self.target, self.origin.storage),
            started=self.started,
            state=self.state,
        )


class NetHead(SummaryHead):
    """Of `net.json`. The settings come last: where they are there, all servers are."""

    net: str
    state: NetState
    started: Moment
    servers: list[_Named]
    settings: dict[str, Any]

    @property
    def summary(self) -> Summary:
        """The summary."""
        return Summary(
            name=self.net,
            origin=None,
            study="iperf3",
            target=", ".join(server.name for server in self.servers),
            started=self.started,
            state=self.state,
        )


class RecordHead(SummaryHead):
    """Of `record.json`. The host comes last: where it is there, the whole command is."""

    record: str
    state: RecordState
    started: Moment
    command: list[str]
    host: str

    @property
    def summary(self) -> Summary:
        """The summary."""
        return Summary(
            name=self.record,
            origin=None,
            study=PurePath(self.command[0]).name if self.command else "",
            target=self.host,
            started=self.started,
            state=self.state,
        )


class SweepHead(SummaryHead):
    """Of `sweep.json`. The title comes last: where it is there, target and study are whole."""

    state: ExperimentState
    started: Moment
    target: str
    sweep: Component
    study: str
    title: str

    @property
    def summary(self) -> Summary:
        """The summary."""
        return Summary(
            name=self.sweep,
            origin=None,
            study=self.study,
            target=self.target,
            started=self.started,
            state=self.state,
        )


class TuneIo500Head(SummaryHead):
    """Of `tune-io500.json`. The directory comes last: where it is there, target and identifier are whole."""

    state: ExperimentState
    started: Moment
    target: str
    tuning: Component
    directory: str

    @property
    def summary(self) -> Summary:
        """The summary."""
        return Summary(
            name=self.tuning,
            origin=None,
            study="io500",
            target=self.target,
            started=self.started,
            state=self.state,
        )

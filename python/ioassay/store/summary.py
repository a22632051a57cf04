"""The line of a stored directory in the index, and the parts of its document that it comes from.

A document begins with these, so that its first `HEAD_BYTES` are enough. Where they are not, because an older version
has another order or one of the values is long, the whole document is read. Each function raises `ValueError` where
something is missing or wrong. Not: finding directories (`index`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, get_args

from ioassay.protocol.facts import RecordState
from ioassay.store.json_head import Fields
from ioassay.store.states import ExperimentState, NetState, RunState


@dataclass(frozen=True)
class Summary:
    """A stored directory in a line."""

    name: str
    """Its identifier, which it keeps when it is renamed."""
    origin: str | None
    """The origin of a run: `study`, `front-end` or `import`."""
    study: str
    """The study, the tool whose command line or results they are, or the program that was recorded."""
    target: str
    """Empty: of a front end that no command has loaded yet."""
    started: str
    """ISO 8601 with a time zone; empty: unknown, of an imported result."""
    state: RunState | NetState | RecordState | ExperimentState | Literal["ended"]
    """`ended`: of a front end that no command has loaded yet, and that did not succeed; its logs tell more."""


def called(target: str, storage: str | None) -> str:
    """A target as people call it, with the storage system of a lab that it is."""
    return f"{storage} ({target})" if storage else target


def of_run(document: Fields) -> Summary:
    """The summary of `run.json`. The study comes last: where it is there, the origin is there as a whole."""
    origin = document.inner("origin")
    return Summary(
        name=document.component("run"),
        origin=origin.text("kind"),
        study=document.inner("study").text("name"),
        target=called(document.text("target"), origin.text_or_none("storage")),
        started=document.text("started") and document.moment("started"),
        state=document.choice("state", get_args(RunState)),
    )


def of_net(document: Fields) -> Summary:
    """The summary of `net.json`. The settings come last: where they are there, all servers are."""
    document.inner("settings")
    return Summary(
        name=document.text("net"),
        origin=None,
        study="iperf3",
        target=", ".join(server.text("name") for server in document.each("servers")),
        started=document.moment("started"),
        state=document.choice("state", get_args(NetState)),
    )


def of_record(document: Fields) -> Summary:
    """The summary of `record.json`. The host comes last: where it is there, the whole command is."""
    command = document.texts("command")
    return Summary(
        name=document.text("record"),
        origin=None,
        study=PurePath(command[0]).name if command else "",
        target=document.text("host"),
        started=document.moment("started"),
        state=document.choice("state", get_args(RecordState)),
    )


def of_sweep(document: Fields) -> Summary:
    """The summary of `sweep.json`. The title comes last: where it is there, target and study are whole."""
    document.text("title")
    return Summary(
        name=document.component("sweep"),
        origin=None,
        study=document.text("study"),
        target=document.text("target"),
        started=document.moment("started"),
        state=document.choice("state", get_args(ExperimentState)),
    )


def of_tune_io500(document: Fields) -> Summary:
    """The summary of `tune-io500.json`. The directory comes last: where it is, target and identifier are whole."""
    document.text("directory")
    return Summary(
        name=document.component("tuning"),
        origin=None,
        study="io500",
        target=document.text("target"),
        started=document.moment("started"),
        state=document.choice("state", get_args(ExperimentState)),
    )

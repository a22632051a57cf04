"""The agents of a run: one on each of its clients and servers, while it lasts.

Each reports through its standard output into `watch/HOST.jsonl` of the run, so no file system has to be
shared. The one on this node also reports the phases to the sinks of the site's setup. No agent outlives this process,
and failures of agents do not affect the run: they are printed, and stored as a remark.

Not: the hosts (`watched_hosts`), analysing the documents (`ioassay.analysis.watch`).
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ioassay.errors import IoassayError
from ioassay.monitoring import setup
from ioassay.monitoring.watched_hosts import Watched, watched_hosts
from ioassay.processes import engine
from ioassay.protocol.agent import Setup, Sink, SinkJsonLines
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.remote import process
from ioassay.remote.process import Process
from ioassay.store.run_files import WATCH
from ioassay.store.run_writer import RunWriter
from ioassay.store.watch_document import WatchDocument

Say = Callable[[str], None]
"""Prints a message for the user."""

_START = ["sh", "-c", 'test -x "$1" && exec "$1" /dev/stdin; exec "${1##*/}" /dev/stdin', "sh"]
"""Starts the agent at our path, or else from the host's PATH."""

_FIRST_DOCUMENT_S = 15.0
"""How long the first document of an agent may take: connecting, and a second of samples."""

_LAST_SECOND_S = 1.5
"""After this time, every agent has reported the second in which the last phase ended."""

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class _Agent:
    """A running agent."""

    watched: Watched
    process: Process
    file: Path
    began_bytes: int

    @property
    def has_reported(self) -> bool:
        """True once it has written a document."""
        return self.file.stat().st_size > self.began_bytes


class RunAgents:
    """Runs the agents of a run within the context."""

    def __init__(self, run: RunWriter, watch: WatchDocument, say: Say) -> None:
        self._run, self._watch, self._say = run, watch, say
        self._stack = contextlib.ExitStack()
        self._agents: list[_Agent] = []

    def __enter__(self) -> RunAgents:
        self._store()
        with self._stack:  # ends started agents if a later one fails
            try:
                hosts_of_run = watched_hosts(self._run.document, self._watch)
                agent = engine.find_agent()
                site = load_setup(self._watch.setup, self._run.path / WATCH) if self._watch.setup else None
            except IoassayError as error:
                self._say(f"Nothing is watched: {error.message}")
                return self
            self._watch.hosts = [watched.entry for watched in hosts_of_run]
            for watched in hosts_of_run:
                self._start(watched, agent, site)
            self._await_first_documents()
            self._store()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._stack:
            if self._agents and error is None and self._run.document.state != "interrupted":
                with contextlib.suppress(KeyboardInterrupt):  # the run is complete: only the wait is interrupted
                    time.sleep(_LAST_SECOND_S)
            for agent in self._agents:
                if agent.process.has_ended:
                    self._remark(agent.watched, f"its agent ended during the run: {_why(agent.process)}")
                agent.process.ask_to_end()
        for agent in self._agents:
            self._say_last_note(agent)
        self._store()

    def _say_last_note(self, agent: _Agent) -> None:
        """Prints the last note of an agent that ran until the end, such as a store that it could not reach."""
        try:
            lines = _errors_of(agent.file).read_text(errors="replace").splitlines()
        except OSError:  # it has no notes
            return
        prefix = f"{engine.AGENT}: "  # other lines are from the shell that ended it
        notes = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
        if notes and agent.watched.entry.remark is None:
            self._say(f"The agent of {agent.watched.entry.name}: {notes[-1]}")

    def _start(self, watched: Watched, agent: Path, site: Setup | None) -> None:
        folder = self._run.path / WATCH
        file = folder / watched.entry.file
        try:
            begun_bytes = _end_of_lines(file)
            started = process.fed(
                watched.host,
                [*_START, str(agent)],
                _setup_of(watched, site, self._run.path),
                file,
                _errors_of(file),
            )
        except (IoassayError, OSError) as error:
            self._remark(watched, error.message if isinstance(error, IoassayError) else f"{file}: {error.strerror}")
            return
        self._agents.append(_Agent(watched, self._stack.enter_context(started), file, begun_bytes))

    def _await_first_documents(self) -> None:
        """Waits, so that the first second of the first phase is recorded everywhere. Silent agents are ended."""
        deadline = time.monotonic() + _FIRST_DOCUMENT_S
        waiting = list(self._agents)
        while waiting and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
            waiting = [agent for agent in waiting if not agent.has_reported and not agent.process.has_ended]
        for agent in [*self._agents]:
            if agent.process.has_ended:
                self._give_up(agent, _why(agent.process))
            elif not agent.has_reported:
                self._give_up(agent, f"no document arrived within {_FIRST_DOCUMENT_S:.0f} s")

    def _give_up(self, agent: _Agent, reason: str) -> None:
        self._agents.remove(agent)
        agent.process.ask_to_end()
        self._remark(agent.watched, reason)

    def _store(self) -> None:
        try:
            self._run.note_watch(self._watch)
        except OSError as error:  # the run itself reports a directory that cannot be written
            self._say(f"{error.filename}: {error.strerror}.")

    def _remark(self, watched: Watched, reason: str) -> None:
        watched.entry.remark = reason
        self._say(f"{watched.entry.name} is not watched: {reason.rstrip('.')}.")


def load_setup(file: str, place: Path) -> Setup:
    """The site's setup, for an agent whose own files are in `place`. Raises `UsageError`."""
    return setup.load(Path(file), place, "none").setup


def _setup_of(watched: Watched, site: Setup | None, run: Path) -> str:
    """The setup for the agent of a host; on this node, with the sinks of the site's setup."""
    lines: Sink = SinkJsonLines(kind="json-lines", directory=None)
    site_setup = site if watched.is_here else None
    agent_setup = Setup(
        version=PROTOCOL_VERSION,
        tables="none",
        node=watched.entry.role != "control",
        contract=None,
        run=str(run.absolute()) if watched.is_here else None,
        sinks=[lines, *(site_setup["sinks"] if site_setup else ())],
        spool=site_setup.get("spool") if site_setup else None,
    )
    return json.dumps(agent_setup)


def _errors_of(file: Path) -> Path:
    return file.with_suffix(".stderr.txt")


def _end_of_lines(file: Path) -> int:
    """Completes the last line of the file, which an earlier attempt may have left incomplete. Returns the
    file's size.
    """
    with file.open("ab") as end:
        if end.tell() > 0:
            with file.open("rb") as last:
                last.seek(-1, os.SEEK_END)
                if last.read() != b"\n":
                    end.write(b"\n")
        return end.tell()


def _why(agent_process: Process) -> str:
    last_errors = " ".join(agent_process.errors.splitlines()[-3:])
    return last_errors or f"exit status {agent_process.result().code}"

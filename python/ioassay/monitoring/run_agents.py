"""The agents of a run: one on each of its clients and servers, for as long as it lasts.

Each reports through the pipe by which it was started, into `watch/HOST.jsonl` of the run, so no file system has to be
shared. The one on this node also marks the phases, in the sinks of the setup that was given. No agent outlives us, and
nothing that happens to one changes what the run measures or how it ends: it is said, and stored as a remark.

Not: which hosts there are (`watched_hosts`), what their documents say (`ioassay.analysis.watch`).
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
"""The agent: where ours is, or else as the host finds it."""

_FIRST_DOCUMENT_S = 15.0
"""How long a host may take until its agent has reported: to connect, and a second to look at."""

_LAST_SECOND_S = 1.5
"""After this long every agent has reported the second in which the last phase ended."""

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class _Agent:
    """An agent at work."""

    of: Watched
    process: Process
    file: Path
    began_bytes: int

    @property
    def has_reported(self) -> bool:
        """True once it has written down a document."""
        return self.file.stat().st_size > self.began_bytes


class RunAgents:
    """The agents of a run, at work within the context."""

    def __init__(self, run: RunWriter, watch: WatchDocument, say: Say) -> None:
        self._run, self._watch, self._say = run, watch, say
        self._stack = contextlib.ExitStack()
        self._agents: list[_Agent] = []

    def __enter__(self) -> RunAgents:
        self._store()
        with self._stack:  # what was started ends if something goes wrong before all are
            try:
                found = watched_hosts(self._run.document, self._watch)
                agent = engine.find_agent()
                site = load_setup(self._watch.setup, self._run.path / WATCH) if self._watch.setup else None
            except IoassayError as error:
                self._say(f"Nothing is watched: {error.message}")
                return self
            self._watch.hosts = [one.entry for one in found]
            for one in found:
                self._start(one, agent, site)
            self._await_first_documents()
            self._store()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._stack:
            if self._agents and error is None and self._run.document.state != "interrupted":
                with contextlib.suppress(KeyboardInterrupt):  # the run is complete: only the wait is interrupted
                    time.sleep(_LAST_SECOND_S)
            for one in self._agents:
                if one.process.has_ended:
                    self._remark(one.of, f"its agent ended during the run: {_why(one.process)}")
                one.process.ask_to_end()
        for one in self._agents:
            self._say_last_note(one)
        self._store()

    def _say_last_note(self, one: _Agent) -> None:
        """Says what an agent that worked until the end noted last, such as a store that it did not reach."""
        try:
            lines = _errors_of(one.file).read_text(errors="replace").splitlines()
        except OSError:  # it noted nothing
            return
        own = f"{engine.AGENT}: "  # other lines are of the shell that ended it
        notes = [line.removeprefix(own) for line in lines if line.startswith(own)]
        if notes and one.of.entry.remark is None:
            self._say(f"The agent of {one.of.entry.name}: {notes[-1]}")

    def _start(self, one: Watched, agent: Path, site: Setup | None) -> None:
        folder = self._run.path / WATCH
        file = folder / one.entry.file
        try:
            begun_bytes = _end_of_lines(file)
            started = process.fed(
                one.host,
                [*_START, str(agent)],
                _setup_of(one, site, self._run.path),
                file,
                _errors_of(file),
            )
        except (IoassayError, OSError) as error:
            self._remark(one, error.message if isinstance(error, IoassayError) else f"{file}: {error.strerror}")
            return
        self._agents.append(_Agent(one, self._stack.enter_context(started), file, begun_bytes))

    def _await_first_documents(self) -> None:
        """So that the first second of the first phase is seen everywhere. Agents that have nothing to say are ended."""
        deadline = time.monotonic() + _FIRST_DOCUMENT_S
        waiting = list(self._agents)
        while waiting and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
            waiting = [one for one in waiting if not one.has_reported and not one.process.has_ended]
        for one in [*self._agents]:
            if one.process.has_ended:
                self._give_up(one, _why(one.process))
            elif not one.has_reported:
                self._give_up(one, f"no document arrived within {_FIRST_DOCUMENT_S:.0f} s")

    def _give_up(self, one: _Agent, why: str) -> None:
        self._agents.remove(one)
        one.process.ask_to_end()
        self._remark(one.of, why)

    def _store(self) -> None:
        try:
            self._run.note_watch(self._watch)
        except OSError as error:  # where it cannot be written, the run says so itself
            self._say(f"{error.filename}: {error.strerror}.")

    def _remark(self, one: Watched, why: str) -> None:
        one.entry.remark = why
        self._say(f"{one.entry.name} is not watched: {why.rstrip('.')}.")


def load_setup(file: str, place: Path) -> Setup:
    """The site's setup, for an agent whose own files are in `place`. Raises `UsageError`."""
    return setup.load(Path(file), place, "none").setup


def _setup_of(one: Watched, site: Setup | None, run: Path) -> str:
    """What the agent of a host is asked, with the sinks of the site's setup where that is this node."""
    lines: Sink = SinkJsonLines(kind="json-lines", directory=None)
    ours = site if one.is_here else None
    asked = Setup(
        version=PROTOCOL_VERSION,
        tables="none",
        node=one.entry.role != "control",
        contract=None,
        run=str(run.absolute()) if one.is_here else None,
        sinks=[lines, *(ours["sinks"] if ours else ())],
        spool=ours.get("spool") if ours else None,
    )
    return json.dumps(asked)


def _errors_of(file: Path) -> Path:
    return file.with_suffix(".stderr.txt")


def _end_of_lines(file: Path) -> int:
    """Makes the file end with a whole line, as an earlier attempt may not have left it. Its size."""
    with file.open("ab") as end:
        if end.tell() > 0:
            with file.open("rb") as last:
                last.seek(-1, os.SEEK_END)
                if last.read() != b"\n":
                    end.write(b"\n")
        return end.tell()


def _why(ended: Process) -> str:
    said = " ".join(ended.errors.splitlines()[-3:])
    return said or f"exit status {ended.result().code}"

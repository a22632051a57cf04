"""`ioassay watch [WHERE]`: a live view of jobs and nodes, without any server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.errors import CannotRun, UsageError

if TYPE_CHECKING:
    from ioassay.cli.console import PlainTextConsole
    from ioassay.monitoring.view.documents import Document
    from ioassay.monitoring.view.sources import Source
    from ioassay.monitoring.view.state import View

_REFRESH_S = 0.5
_FIRST_SECOND_S = 10
"""Time that `--once` waits for a second to be complete."""
_OTHER_NODES_S = 1.5
"""Time that it then waits for other nodes."""
_END_S = 3
"""Time limit for an agent to exit."""
_CLEANUP_S = _END_S + 2
_MOST_NOTES = 5
_WHOLE_LINES = 200
"""Lines of the view where it need not fit a terminal."""


def view(
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="WHERE",
            help="A directory with the JSON lines of several nodes, or - for standard input. Without it: this node.",
        ),
    ] = None,
    *,
    contract: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Enforce a contract on what is recorded meanwhile (root).", show_default=False
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show one second and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the documents, one a line.")] = False,
) -> int:
    """Show what recorded jobs and their nodes do, live.

    Without WHERE an agent is started, which looks at all recorded processes of this node that you may look at, and ends
    with the view. Where the output is not a terminal, a line is printed per second and alert. Ctrl-C ends it.
    """
    from ioassay.monitoring.view import terminal  # noqa: F401, PLC0415  (now: Ctrl-C ends an import without cleanup)

    with _ended_by_signals():
        if where is None:
            with _agent_of_this_node(contract) as (source, notes):
                _watch(source, notes, once=once, as_json=as_json)
        else:
            if contract is not None:
                raise UsageError("--contract is for this node.", "Use `ioassay watch set` for agents that run.")
            _watch(_source(where), None, once=once, as_json=as_json)
    return 0


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """The first signal ends the view; further ones do not cut short what it does then."""
    ended_at: list[float] = []

    def end(_number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if not ended_at or now - ended_at[-1] > _CLEANUP_S:
            ended_at.append(now)
            raise KeyboardInterrupt

    signals = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN
    ]
    with contextlib.suppress(KeyboardInterrupt):
        for number in signals:
            signal.signal(number, end)
        try:
            yield
        finally:
            for number in signals:
                signal.signal(number, signal.SIG_IGN)  # the process ends now


def _source(where: str) -> Source:
    from ioassay.monitoring.view.sources import Directory, Pipe  # noqa: PLC0415

    return Pipe(sys.stdin.fileno()) if where == "-" else Directory(Path(where))


@contextlib.contextmanager
def _agent_of_this_node(contract: Path | None) -> Iterator[tuple[Source, Path]]:
    """The documents of an agent that is started for the view and ends with it, and the file of its messages.

    Where it has rules, records register with it, as with an agent of the node: recorders take rules from no other one.
    Raises `CannotRun`, also when the agent ends by itself, and `SourceError`.
    """
    from ioassay.monitoring.setup import to_standard_output  # noqa: PLC0415
    from ioassay.monitoring.view.sources import Pipe  # noqa: PLC0415
    from ioassay.processes.engine import find_agent  # noqa: PLC0415

    registrations = ["--registrations", _registrations()] if contract else []
    with tempfile.TemporaryDirectory(prefix="ioassay-watch-") as place:
        setup, notes = to_standard_output(Path(place), contract), Path(place) / "notes"
        with notes.open("wb") as log:
            agent = subprocess.Popen(
                [find_agent(), setup, *registrations], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )
        assert agent.stdout is not None
        source = Pipe(agent.stdout.fileno())
        try:
            yield source, notes
        except CannotRun:
            if not source.has_ended:  # else the agent knows more
                raise
        finally:
            agent.stdout.close()  # an agent that waits for us to read would not end
            agent.terminate()
            try:
                agent.wait(_END_S)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()
            note_lines = _lines(notes)[-_MOST_NOTES:]
            reason = note_lines.pop() if source.has_ended and note_lines else ""
            for line in note_lines:
                print(line, file=sys.stderr)
        if source.has_ended:
            raise CannotRun(
                reason or f"The agent ended with exit status {agent.returncode}.",
                "Start it again. To an agent that serves this node already, give rules by `ioassay watch set`."
                if contract
                else "Start it again.",
            )


def _registrations() -> str:
    """The directory in which records look for an agent that has rules for them. Raises `CannotRun`."""
    from ioassay.protocol.facts import NODE_REGISTRATIONS, NODE_REGISTRATIONS_VARIABLE  # noqa: PLC0415

    named = os.environ.get(NODE_REGISTRATIONS_VARIABLE)
    if named is None and os.geteuid() != 0:
        raise CannotRun(
            "Only root can enforce a contract on all records of this node.",
            "Enforce it on one record: ioassay record --contract FILE -- COMMAND. Or set "
            f"{NODE_REGISTRATIONS_VARIABLE} to a new directory of yours, for the view and for what you record.",
        )
    return named or NODE_REGISTRATIONS


def _lines(notes: Path | None) -> list[str]:
    """The agent's messages so far."""
    return notes.read_text(errors="replace").splitlines() if notes else []


def _watch(source: Source, notes: Path | None, *, once: bool, as_json: bool) -> None:
    """Shows documents until the source ends, and what the agent noted. Raises `CannotRun`."""
    from ioassay.cli.console import PlainTextConsole  # noqa: PLC0415
    from ioassay.monitoring.view.state import View  # noqa: PLC0415
    from ioassay.text.control_characters import styled  # noqa: PLC0415

    seen = View()
    if as_json:
        for line, _ in _documents(source, seen, once=once):
            if line is not None:
                print(line.decode(), flush=True)
        if once:
            _require_second(source, seen)
        return
    console = PlainTextConsole(file=styled(sys.stdout), highlight=False)
    if once:
        _show_once(source, seen, console)
    elif console.is_terminal and not console.is_dumb_terminal:
        _show_live(source, notes, seen, console)
    else:
        _show_lines(source, seen)


def _documents(source: Source, seen: View, *, once: bool) -> Iterator[tuple[bytes | None, Document | None]]:
    """Lines and their documents, which `seen` has then; now and then a pair of `None`: time to show it.

    With `once` until a second is complete and no more comes of it.
    """
    from ioassay.monitoring.view.documents import parse  # noqa: PLC0415

    due, until = 0.0, time.monotonic() + _FIRST_SECOND_S
    while not source.has_ended:
        lines = source.read(_REFRESH_S)
        for line in lines:
            document = parse(line)
            if document is None:
                seen.refused += 1
            elif seen.add(document, int(time.time())):
                yield line, document
        now = time.monotonic()
        if once and seen.second is not None:
            until = min(until, now + _OTHER_NODES_S)
        if once and (now > until or (seen.second is not None and not lines)):
            return
        if now >= due or not lines:  # drawing what very many nodes do takes longer than reading it
            yield None, None
            due = time.monotonic() + _REFRESH_S


def _show_once(source: Source, seen: View, console: PlainTextConsole) -> None:
    from ioassay.monitoring.view.terminal import render  # noqa: PLC0415

    for _ in _documents(source, seen, once=True):
        pass
    _require_second(source, seen)
    console.print(render(seen, console.width, _WHOLE_LINES, int(time.time())))


def _require_second(source: Source, seen: View) -> None:
    if seen.second is None and seen.ahead:
        raise CannotRun(f"{seen.ahead}.", "Synchronize the clocks of both nodes (NTP, chrony).")
    if seen.second is None:
        when = "before its end" if source.has_ended else f"within {_FIRST_SECOND_S} s"
        raise CannotRun(
            f"No complete second arrived {when}.", "Check that an agent runs, and where its sink `json lines` writes."
        )


def _show_live(source: Source, notes: Path | None, seen: View, console: PlainTextConsole) -> None:
    from rich.live import Live  # noqa: PLC0415

    from ioassay.monitoring.view.terminal import render  # noqa: PLC0415

    with Live(console=console, screen=True, auto_refresh=False) as live:
        for line, _ in _documents(source, seen, once=False):
            if line is None:
                now = int(time.time())
                note = next(reversed(_lines(notes)), "")
                live.update(render(seen, console.width, console.height, now, note), refresh=True)
    if source.has_ended:
        console.print(render(seen, console.width, _WHOLE_LINES))


def _show_lines(source: Source, seen: View) -> None:
    from ioassay.monitoring.view.terminal import alert_line, summary  # noqa: PLC0415

    shown = None
    for _, document in _documents(source, seen, once=False):
        if document is not None and document.kind == "alert":
            print(f"alert: {alert_line(document)}", flush=True)
        elif document is None and seen.second not in (None, shown):
            shown = seen.second
            print(summary(seen), flush=True)

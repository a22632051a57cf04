"""`ioassay watch [WHERE]`: what jobs and nodes do, live, without any server."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.errors import CannotRun, UsageError

if TYPE_CHECKING:
    from ioassay.cli.console import PlainTextConsole
    from ioassay.monitoring.view.documents import Document
    from ioassay.monitoring.view.sources import Source
    from ioassay.monitoring.view.state import View

_REFRESH_S = 0.5
_AHEAD_S = 300
"""Documents of a later second than this are of a clock that is wrong."""
_FIRST_SECOND_S = 10
"""How long `--once` waits for a second to be complete."""
_END_S = 3
_WHOLE_LINES = 200
"""Lines of the view where it need not fit a terminal."""


def view(
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHERE]",
            help="A directory with the JSON lines of several nodes, or - for standard input. Without it: this node.",
        ),
    ] = None,
    *,
    contract: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For this node: a contract to enforce meanwhile.", show_default=False),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show one second and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the documents, one a line.")] = False,
) -> int:
    """Show what recorded jobs and their nodes do, live.

    Without WHERE an agent is started, which looks at all recorded processes of this node that you may look at, and ends
    with the view. Where the output is not a terminal, a line is printed per second and alert. Ctrl-C ends it.
    """
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        if where is None:
            source, agent = stack.enter_context(_agent_of_this_node(contract))
        else:
            if contract is not None:
                raise UsageError("--contract is for this node.", "Use `ioassay watch set` for agents that run.")
            source, agent = _source(where), None
        _watch(source, once=once, as_json=as_json)
        if agent is not None and source.has_ended and agent.wait() != 0:
            raise CannotRun("The agent ended with an error.", "See what it said above.")
    return 0


def _source(where: str) -> Source:
    from ioassay.monitoring.view.sources import Directory, Pipe  # noqa: PLC0415

    return Pipe(sys.stdin.fileno()) if where == "-" else Directory(Path(where))


@contextlib.contextmanager
def _agent_of_this_node(contract: Path | None) -> Iterator[tuple[Source, subprocess.Popen[bytes]]]:
    """What an agent says that is started for the view and ends with it. Raises `CannotRun`, `SourceError`."""
    from dataclasses import replace  # noqa: PLC0415

    from ioassay.engine import find_agent  # noqa: PLC0415
    from ioassay.monitoring.setup import default, write  # noqa: PLC0415
    from ioassay.monitoring.view.sources import Pipe  # noqa: PLC0415
    from ioassay.protocol.agent import SinkJsonLines  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="ioassay-watch-") as place:
        asked = default(Path(place), "node", contract)
        lines = SinkJsonLines(kind="json-lines", directory=None)
        setup = write(replace(asked, setup={**asked.setup, "sinks": [lines], "spool": None}), Path(place))
        agent = subprocess.Popen([find_agent(), setup], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            assert agent.stdout is not None
            yield Pipe(agent.stdout.fileno()), agent
        finally:
            agent.terminate()
            if agent.stdout is not None:
                agent.stdout.close()  # an agent that waits for us to read would not end
            try:
                agent.wait(_END_S)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()


def _watch(source: Source, *, once: bool, as_json: bool) -> None:
    """Shows documents until the source ends. Raises `CannotRun`."""
    from ioassay.cli.console import PlainTextConsole  # noqa: PLC0415
    from ioassay.control_characters import styled  # noqa: PLC0415
    from ioassay.monitoring.view.state import View  # noqa: PLC0415

    seen = View()
    if as_json:
        for line, _ in _documents(source, seen):
            if line is not None:
                print(line.decode(), flush=True)
            elif once and seen.second is not None:
                return
        return
    console = PlainTextConsole(file=styled(sys.stdout), highlight=False)
    if once:
        _show_once(source, seen, console)
    elif console.is_terminal and not console.is_dumb_terminal:
        _show_live(source, seen, console)
    else:
        _show_lines(source, seen)


def _documents(source: Source, seen: View) -> Iterator[tuple[bytes | None, Document | None]]:
    """Lines and their documents, which `seen` has then; after all that came together, a pair of `None`."""
    from ioassay.monitoring.view.documents import parse  # noqa: PLC0415

    while not source.has_ended:
        for line in source.read(_REFRESH_S):
            document = parse(line)
            if document is None or document.second > time.time() + _AHEAD_S:
                seen.refused += 1
                continue
            seen.add(document)
            yield line, document
        yield None, None


def _show_once(source: Source, seen: View, console: PlainTextConsole) -> None:
    from ioassay.monitoring.view.terminal import render  # noqa: PLC0415

    until = time.monotonic() + _FIRST_SECOND_S
    for line, _ in _documents(source, seen):
        if line is None and (seen.second is not None or time.monotonic() > until):
            break
    if seen.second is None:
        raise CannotRun(
            f"No complete second came within {_FIRST_SECOND_S} s.", "Check that an agent runs, and where it writes to."
        )
    console.print(render(seen, console.width, _WHOLE_LINES, int(time.time())))


def _show_live(source: Source, seen: View, console: PlainTextConsole) -> None:
    from rich.live import Live  # noqa: PLC0415

    from ioassay.monitoring.view.terminal import render  # noqa: PLC0415

    with Live(console=console, screen=True, auto_refresh=False) as live:
        for line, _ in _documents(source, seen):
            if line is None:
                live.update(render(seen, console.width, console.height, int(time.time())), refresh=True)
    if source.has_ended:
        console.print(render(seen, console.width, _WHOLE_LINES))


def _show_lines(source: Source, seen: View) -> None:
    from ioassay.monitoring.view.terminal import alert_line, summary  # noqa: PLC0415

    shown = None
    for _, document in _documents(source, seen):
        if document is not None and document.kind == "alert":
            print(f"alert: {alert_line(document)}", flush=True)
        elif document is None and seen.second not in (None, shown):
            shown = seen.second
            print(summary(seen), flush=True)

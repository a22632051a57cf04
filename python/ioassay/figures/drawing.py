"""Draws figures in a separate process (`drawing_process`), one for all figures of a command or notebook.

Whatever ends that process (a limit on its addresses or memory, the kernel, a figure that takes for ever) costs
figures, never the page that they are for.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import signal
import subprocess
import threading

from ioassay.figures import drawing_messages as messages
from ioassay.processes import helper_process
from ioassay.processes.limits import small_address_space

_MOST_DEATHS = 3
"""Give up after this many processes have died: each may have used up its time limit."""


class CannotDraw(Exception):
    """A figure could not be drawn; the message says why, as the end of a sentence."""


class Drawing:
    """The process that draws, started when it is first needed."""

    def __init__(self, limit_s: int = 60) -> None:
        """A drawing may take `limit_s`; the largest take 2 s."""
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._answers = 0
        self._why = ""
        self._lock = threading.Lock()  # notebooks have threads
        self.undrawn: list[str] = []
        """Why, for each figure that could not be drawn."""

    def start(self) -> None:
        """Starts the process early: it takes a while, in which the page can be prepared."""
        if self._process is not None or self._given_up:
            return
        with contextlib.suppress(OSError):  # said of the first figure
            self._process = helper_process.start("ioassay.figures.drawing_process", str(self._limit_s))

    def svg(self, specification: object) -> str:
        """A Vega-Lite specification as SVG. Raises `CannotDraw`."""
        return self._ask(messages.SVG + json.dumps(specification).encode()).decode()

    def png(self, svg: str, *, scale: float, ppi: float) -> bytes:
        """An SVG as PNG. Raises `CannotDraw`."""
        return self._ask(messages.PNG + json.dumps({"svg": svg, "scale": scale, "ppi": ppi}).encode())

    def stop(self) -> None:
        """Ends the process; the next figure starts another one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    @property
    def _given_up(self) -> bool:
        return self._deaths >= _MOST_DEATHS or (self._deaths > 0 and self._answers == 0)

    def _ask(self, request: bytes) -> bytes:
        with self._lock:
            try:
                answer = self._answer(request)
            except CannotDraw as error:
                self.undrawn.append(str(error))
                raise
        return answer

    def _answer(self, request: bytes) -> bytes:
        self.start()
        answer = None if self._process is None else helper_process.ask(self._process, request)
        if answer is None:
            if not self._given_up:
                self._note_death()
            raise CannotDraw(self._why)
        self._answers += 1
        if not answer.startswith(messages.DRAWN):
            raise CannotDraw(answer[1:].decode())
        return answer[1:]

    def _note_death(self) -> None:
        self._deaths += 1
        status = None
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.communicate()
            status, self._process = self._process.returncode, None
        self._why = self._died_of(status)

    def _died_of(self, status: int | None) -> str:
        """Why the drawing process died, by its exit status; `None`: it did not start."""
        if status is None:
            return "the process that draws figures cannot be started"
        if status == -signal.SIGALRM:
            return f"drawing took longer than {self._limit_s} s"
        limited = small_address_space()
        return f"the process that draws figures {helper_process.ending(status)}" + (
            f": {limited}; build the report without that limit" if limited else ""
        )


drawing = Drawing()
"""The drawing process of this process."""

atexit.register(drawing.stop)

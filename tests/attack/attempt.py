"""One attempt: commands in a directory of their own, each in a process with limits, and how they ended.

`ioassay` runs in a fork of this process, which has imported everything already, so that an attempt takes milliseconds.
Nothing here knows what is attacked.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import select
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ioassay.processes.engine import find_engine
from tests.support import children

LIMIT_S = 60.0
"""The time after which a command counts as hung. It is long because the machine may be busy; the table has
durations.
"""

CPU_LIMIT_S = 40
MEMORY_LIMIT_BYTES = 4 << 30

COMMAND, OUTPUT = "command.txt", "output.txt"
"""Names of the files with the commands of an attempt and their output; each follows the command's number."""

ENGINE = "ioassay-engine"

_PR_SET_CHILD_SUBREAPER = 36
_ENDINGS = {0: "ran", 1: "judged", 2: "refused", 3: "could not run"}
"""The outcome of each exit code that the design has."""

STOPPED = "stopped"
"""The command was at work until a signal ended it."""

HELD = (*_ENDINGS.values(), STOPPED)
"""The outcomes that are no failure."""


@dataclass(frozen=True)
class Command:
    """A command line: `ioassay` or `ioassay-engine` with arguments."""

    arguments: Sequence[str]
    program: str = "ioassay"
    environment: Mapping[str, str] = field(default_factory=dict)
    stop: signal.Signals | None = None
    """The signal that ends a long command after `stop_after_s`."""
    stop_after_s: float = 2


@dataclass(frozen=True)
class Result:
    """How an attempt ended."""

    outcome: str
    """One of `HELD`, or the kind of failure."""
    seconds: float
    """The duration of the longest command; that of a stopped one counts from the signal."""
    signature: str = ""
    """Distinguishes different failures."""

    @property
    def held(self) -> bool:
        """True if nothing went wrong."""
        return self.outcome in HELD


def attempt(commands: Sequence[Command], place: Path) -> Result:
    """Runs the commands in `place` one after the other, until one does not end in order."""
    longest, result = 0.0, Result("ran", 0)
    for number, command in enumerate(commands):
        result = run(command, place, number)
        longest = max(longest, result.seconds)
        if result.outcome != "ran":
            break
    return Result(result.outcome, longest, result.signature)


def run(
    command: Command,
    place: Path,
    number: int = 0,
    *,
    meanwhile: Callable[[int], signal.Signals | None] = lambda _: None,
    release: Callable[[], None] = lambda: None,
) -> Result:
    """Runs a command in `place`, the `number`th there.

    `meanwhile` is called with its process while it is at work, and returns the signal that it has sent. `release` is
    called when it has ended, or counts as hung: it ends what makes processes wait that cannot be killed.
    """
    (place / f"{number}-{COMMAND}").write_text(shlex.join((command.program, *command.arguments)) + "\n")
    output = place / f"{number}-{OUTPUT}"
    ending = _run(command, place, output, meanwhile, release)
    outcome, signature = _judge(ending, command, output)
    return Result(outcome, ending.seconds, signature)


def printed_by(place: Path) -> str:
    """What the commands in `place` printed, and what `run.json` of their run says."""
    files = [*place.glob(f"*-{OUTPUT}"), *place.glob("run/run.json")]
    return "".join(file.read_text(errors="replace") for file in files)


@dataclass(frozen=True)
class _Ending:
    status: int | None
    """The status from `waitpid`; `None` if the command had to be killed."""
    seconds: float
    stopped_by: signal.Signals | None
    left: int
    """Processes that outlived the command."""


def adopt_orphans(does: bool = True) -> None:
    """Makes this process the parent of orphans of commands, so that they are detected."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(does), 0, 0, 0)


def _run(
    command: Command,
    place: Path,
    output: Path,
    meanwhile: Callable[[int], signal.Signals | None],
    release: Callable[[], None],
) -> _Ending:
    others = set(children(os.getpid()))
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(command, place, output)
    stopped_by = meanwhile(child)
    if stopped_by is not None:
        began = time.monotonic()
    if command.stop is not None and not _ends_within(child, command.stop_after_s):
        stopped_by, began = command.stop, time.monotonic()
        os.kill(child, command.stop)
    has_ended = _ends_within(child, LIMIT_S)
    seconds = time.monotonic() - began
    if not has_ended:
        os.killpg(child, signal.SIGKILL)
    release()
    _, status = os.waitpid(child, 0)
    return _Ending(status if has_ended else None, seconds, stopped_by, _collect_orphans(others))


def _ends_within(child: int, seconds: float) -> bool:
    """True once the process has ended; it is not reaped."""
    handle = os.pidfd_open(child)
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))
    finally:
        os.close(handle)


def _collect_orphans(others: set[int]) -> int:
    """Waits until no child process but the `others` is left; returns how many had to be killed."""
    deadline = time.monotonic() + min(LIMIT_S, 10)
    while left := set(children(os.getpid())) - others:
        is_late = time.monotonic() > deadline
        for child in left:
            if is_late:
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0 if is_late else os.WNOHANG)
        if is_late:
            return len(left)
        time.sleep(0.002)
    return 0


def _become(command: Command, place: Path, output: Path) -> None:
    """Turns this forked process into the command; never returns."""
    code = 70
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(place)
        nothing = os.open(os.devnull, os.O_RDONLY)
        printed = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        for number, handle in enumerate((nothing, printed, printed)):
            os.dup2(handle, number)
        os.environ.update(command.environment)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if command.program == ENGINE:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            engine = find_engine()
            os.execv(engine, [str(engine), *command.arguments])
        code = _ioassay(command.arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _ioassay(arguments: Sequence[str]) -> int:
    from ioassay.__main__ import main  # noqa: PLC0415

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python has it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    sys.argv = ["ioassay", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


def do_apart(work: Callable[[], object]) -> None:
    """Runs a function in a fork of this process: it may start threads, after which forks of this process would hang."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError("what is attacked could not be made")


_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)$', re.MULTILINE)
_PANIC = re.compile(r"panicked at ([^\n]+)")


def _judge(ending: _Ending, command: Command, output: Path) -> tuple[str, str]:
    """The outcome, and the signature of a failure."""
    printed = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
    which = f"{command.program} {command.arguments[0] if command.arguments else ''}"
    code = os.waitstatus_to_exitcode(ending.status) if ending.status is not None else None
    outcome, signature = _ENDINGS.get(code, ""), ""
    if code is None:
        outcome, signature = "hung", f"hung: {which}"
    elif "Traceback (most recent call last)" in printed:
        outcome, signature = "traceback", _last_frame(printed)
    elif panic := _PANIC.search(printed):
        outcome, signature = "panic", f"panic at {panic[1]}"
    elif code < 0 and -code != ending.stopped_by:
        outcome, signature = "killed", f"killed by {signal.Signals(-code).name}: {which}"
    elif ending.left:
        outcome, signature = "processes left", f"processes left: {which}"
    elif code > 3:
        outcome, signature = "wrong exit code", f"exit code {code}: {which}"
    elif code in (2, 3) and not printed.strip() and ending.stopped_by is None:
        outcome, signature = "no reason given", f"exit code {code} without a word: {which}"
    elif ending.stopped_by is not None:
        outcome = STOPPED
    return outcome, signature


def _last_frame(printed: str) -> str:
    """The exception, and the last line of ioassay in its traceback."""
    text = printed[printed.rindex("Traceback (most recent call last)") :]
    frames = [frame for frame in _FRAME.finditer(text) if "/ioassay/" in frame["file"]]
    error = next((line for line in text.splitlines()[1:] if line and not line.startswith(" ")), "")
    where = "outside of ioassay"
    if frames:
        path = frames[-1]["file"].rpartition("/ioassay/")[2]
        where = f"{path}:{frames[-1]['line']} {frames[-1]['name']}"
    return f"{error.partition(':')[0]} in {where}"

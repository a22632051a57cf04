"""Signals at random moments, to the control plane, the engine or one of its ranks, of runs and of front ends.

Whatever was hit: the command ends soon, no process stays, what is left on the target is named and can be removed, and
the run directory can be read.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

from tests.support import LONG, children, study, workload

from . import foreign
from .attempt import ENGINE, Command, Result, printed_by, run
from .family import CHANGED, Family

LEFT = "left without a name"

_CATCHABLE = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU),
    *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGPIPE, signal.SIGIO, signal.SIGPWR, signal.SIGXFSZ),
)
_SIGNALS = (*_CATCHABLE, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
_LATEST_S = 2.5
_TOO_LONG_S = 4
"""The time after which a second signal ends a command that ignored the first."""


def _attack(random: Random, place: Path) -> Result:
    foreign.plant(place)
    target = place / "target"
    target.mkdir()
    command = _command(random, place, target)
    number, moment, whom = random.choice(_SIGNALS), random.uniform(0, _LATEST_S), random.choice(("it", "it", "any"))

    def send(process: int) -> signal.Signals | None:
        time.sleep(moment)
        victims = [process] if whom == "it" else [process, *_below(process)]
        try:
            os.kill(random.choice(victims), number)
        except ProcessLookupError:
            return None
        return number

    before = foreign.snapshot(place / foreign.BESIDE, place / foreign.NAMED)
    result = run(command, place, meanwhile=send)
    left = _unnamed(target, place)
    if result.held and (place / "run").exists():
        for later, arguments in enumerate((["report", "run", "--format", "json"], ["clean", "run"]), start=1):
            read = run(Command(arguments), place, later)
            if not read.held:
                return Result(read.outcome, result.seconds, f"after {number.name}: {read.signature}")
    if not result.held:
        return result
    if number not in _CATCHABLE:
        left = _unnamed(target, place)  # what was killed has said nothing, so that reading its run does
    if left:
        return Result(LEFT, result.seconds, f"{number.name}: {command.program} {command.arguments[0]} left {len(left)}")
    if foreign.changes(before, foreign.snapshot(place / foreign.BESIDE, place / foreign.NAMED)):
        return Result(CHANGED, result.seconds, f"{number.name}: {command.program} {command.arguments[0]}")
    return result


def _unnamed(target: Path, place: Path) -> list[str]:
    """Leftovers on the target that no output names."""
    named = printed_by(place)
    return [path.name for path in target.iterdir() if path.name not in named]


def _command(random: Random, place: Path, target: Path) -> Command:
    """The command to signal, which works on `target` for long."""
    ranks = ["--ranks", str(random.randint(1, 3)), "--run", "run"]
    match random.randrange(4):
        case 0:
            ior = ["ior", "-o", str(target / "file"), "-F", "-b", "128m", "-t", "8", "-w", *ranks]
            return Command(ior, ENGINE, stop=signal.SIGTERM, stop_after_s=_TOO_LONG_S)
        case 1:
            mdtest = ["mdtest", "-d", str(target / "tree"), "-n", "20000", "-i", "100", *ranks]
            return Command(mdtest, ENGINE, stop=signal.SIGTERM, stop_after_s=_TOO_LONG_S)
        case _:
            file = study(place, workload("before"), LONG)
            return Command(
                ["run", str(file), "--target", str(target), "--out", "run"],
                stop=signal.SIGTERM,
                stop_after_s=_TOO_LONG_S,
            )


def _below(process: int) -> list[int]:
    """All descendants of a process."""
    direct = children(process)
    return direct + [process_below for child in direct for process_below in _below(child)]


_CAMPAIGNS = 200
"""The most attempts: each takes some seconds, mostly waiting."""

FAMILY = Family("signals", "Signals at random moments, to control plane, engine or rank", _attack, _CAMPAIGNS)

"""A target whose server stops answering an operation: before a command begins, or while it is at work.

Every command ends by itself or after a signal, names what it left there, and leaves no process once the server answers.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path
from random import Random

from ioassay.testing.hung_mount import OPERATIONS, HungMount, hung_mount
from tests.support import LONG, Measurement, is_gone, study, until, workload

from .attempt import ENGINE, Command, Result, printed_by, run
from .family import Family
from .signals import LEFT

_STOP_AFTER_S = 15
"""A command that runs when the server stops waits for it until a signal arrives, as on a hard mount."""

_COMMANDS = ("run", "doctor", "clean", "report", "ior", "mdtest", "iozone")
_MATRIX = [*itertools.product(_COMMANDS, ("before", "meanwhile"), OPERATIONS)]
Random(1).shuffle(_MATRIX)  # so that a part of it is one of all commands
_LATEST_S = 1.5


def _attack(random: Random, place: Path) -> Result:
    """The variation with the index of the attempt; only the moment is random."""
    name, when, operation = _MATRIX[int(place.name.rpartition("-")[2]) % len(_MATRIX)]
    point = place / "hung"
    point.mkdir()
    with hung_mount(point) as mount:
        command = _command(name, place, point)

        def hang(_: int) -> None:
            time.sleep(random.uniform(0.2, _LATEST_S))
            mount.hang(operation)

        if when == "before":
            mount.hang(operation)
        result = run(command, place, meanwhile=hang if when == "meanwhile" else lambda _: None, release=mount.answer)
        what = f"{name}, {operation} hangs {'from the beginning' if when == 'before' else 'in the middle'}"
        if not result.held:
            return Result(result.outcome, result.seconds, f"{what}: {result.signature}")
        named = printed_by(place)
        left = [entry.name for entry in _settled(mount, point) if entry.name not in named]
        if left and name != "report":  # which removes nothing
            return Result(LEFT, result.seconds, f"{what}: {' '.join(left)}")
    return result


def _settled(mount: HungMount, point: Path) -> list[Path]:
    """The entries of the mount once no operation waits any more."""
    while mount.waiting():
        time.sleep(0.01)
    return list(point.iterdir())


def _command(name: str, place: Path, point: Path) -> Command:
    stop = signal.SIGTERM
    match name:
        case "run":
            file = study(place, workload("before"), LONG)
            arguments = ["run", str(file), "--target", str(point), "--out", "run"]
        case "doctor":
            arguments = ["doctor", "--target", str(point)]
        case "clean" | "report":
            _leave_killed(place, point)
            arguments = [name, "run"]
        case "ior":
            arguments = ["ior", "-o", str(point / "file"), "-b", "64m", "-t", "8", "--ranks", "2"]
        case "mdtest":
            arguments = ["mdtest", "-d", str(point / "tree"), "-n", "10000", "-i", "10", "--ranks", "2"]
        case _:
            files = [str(point / "a"), str(point / "b")]
            arguments = ["iozone", "-t", "2", "-i", "0", "-i", "1", "-s", "512m", "-r", "4k", "-F", *files]
    program = ENGINE if name in ("ior", "mdtest", "iozone") else "ioassay"
    return Command(arguments, program, stop=stop, stop_after_s=_STOP_AFTER_S)


def _leave_killed(place: Path, point: Path) -> None:
    """Leaves the workspace of a run whose processes were all killed."""
    measurement = Measurement(study(place, LONG), point, place / "run")
    measurement.until_moving()
    engine, ranks = measurement.engine, measurement.ranks
    os.kill(engine, signal.SIGSTOP)  # so that it cannot clean up when its parent dies
    for process in (measurement.pid, engine):
        os.kill(process, signal.SIGKILL)
    measurement.end()
    until(lambda: all(map(is_gone, [engine, *ranks])), "engine and ranks to end")


FAMILY = Family("hung-mounts", "Commands on a mount that stops answering an operation", _attack, len(_MATRIX))

"""What a family of attacks is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from . import foreign
from .attempt import Command, Result, attempt

CHANGED = "foreign files changed"

Vary = Callable[[Random, Path], Sequence[Command]]
"""Makes one variation: writes its files into a directory and returns the commands to run there."""


@dataclass(frozen=True)
class Family:
    """A kind of attack."""

    name: str
    what: str
    """What is varied, for the table."""
    attack: Callable[[Random, Path], Result]
    """Makes and runs one variation in an empty directory."""
    tries: int | None = None
    """The most variations, if there are no more or more would take too long."""
    prepare: Callable[[Path], None] = lambda _: None
    """Creates files that all variations share, in a directory that all families share."""


def of_commands(vary: Vary) -> Callable[[Random, Path], Result]:
    """An attack that runs commands among other people's files and checks that these do not change."""

    def attack(random: Random, place: Path) -> Result:
        foreign.plant(place)
        commands = vary(random, place)
        watched = [place / foreign.BESIDE, place / foreign.NAMED]
        before = foreign.snapshot(*watched)
        if any("--overwrite" in command.arguments for command in commands):
            before = foreign.not_named(before, place)
        result = attempt(commands, place)
        if result.held and (changed := foreign.changes(before, foreign.snapshot(*watched))):
            names = " ".join(sorted({Path(path).name for path in changed}))
            return Result(CHANGED, result.seconds, f"{commands[0].program} {commands[0].arguments[0]} changed {names}")
        return result

    return attack

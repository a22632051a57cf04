"""Pages of the documentation whose commands are run: what they show must be what is printed.

A YAML block is a file. A console block has commands, each after `$ `, and below each the lines that it prints; `[…]`
stands for lines that are left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command of a page, and the lines that it prints there."""

    words: str
    shown: tuple[str, ...]


def steps(page: str) -> Iterator[str | Command]:
    """In their order: the text of each YAML block, and each command."""
    for kind, text in _BLOCK.findall(page):
        if kind == "yaml":
            yield text
            continue
        for command in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            words, *shown = command.splitlines()
            yield Command(words, tuple(line for line in shown if line != "[…]"))


def carry_out(
    step: Command, directory: Path, pattern: Callable[[str], str], *, columns: int, codes: Iterable[int] = (0,)
) -> None:
    """Runs a command in a shell, and looks for the lines that the page shows, in their order.

    `pattern` makes a regular expression of a line that is shown; spaces around it do not count. The command ends with
    one of `codes`.
    """
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": str(columns)}
    done = subprocess.run(
        step.words,
        shell=True,
        cwd=directory,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode in codes, f"{step.words}\n{done.stdout}"
    printed = iter(done.stdout.splitlines())
    for shown in step.shown:
        expected = re.compile(pattern(shown))
        assert any(expected.fullmatch(line.strip()) for line in printed), f"{step.words}: {shown}\n{done.stdout}"

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
    """The YAML blocks and commands of a page, in order."""
    for kind, text in _BLOCK.findall(page):
        if kind == "yaml":
            yield text
            continue
        for command in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            words, *output = command.splitlines()
            yield Command(words, tuple(line for line in output if line != "[…]"))


def carry_out(
    step: Command, directory: Path, pattern: Callable[[str], str], *, columns: int, codes: Iterable[int] = (0,)
) -> None:
    """Runs a command in a shell, and checks that it prints the lines of the page in order.

    `pattern` makes a regular expression of a line that is shown; spaces around it do not count. The command ends with
    one of `codes`.
    """
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": str(columns)}
    result = subprocess.run(
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
    assert result.returncode in codes, f"{step.words}\n{result.stdout}"
    printed = iter(result.stdout.splitlines())
    for shown_line in step.shown:
        expected = re.compile(pattern(shown_line))
        assert any(expected.fullmatch(line.strip()) for line in printed), f"{step.words}: {shown_line}\n{result.stdout}"

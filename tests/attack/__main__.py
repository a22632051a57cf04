"""`python -m tests.attack`: attacks ioassay, prints how each attempt ended, and keeps those that did harm.

How to add an attack: docs/development/testing.md.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import itertools
import multiprocessing
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import typer

import ioassay
from ioassay.cli.command_tree import every_command

from . import attempt, documents, front_ends, hung_mounts, plans, signals, stored
from .attempt import Result, adopt_orphans
from .family import Family
from .outcomes import Outcomes, Tried, summary

FAMILIES = {
    family.name: family
    for family in (
        *documents.FAMILIES,
        plans.FAMILY,
        front_ends.FAMILY,
        stored.FAMILY,
        signals.FAMILY,
        hung_mounts.FAMILY,
    )
}
_SLOW_S = 10
"""On an idle machine, everything ends within this time."""

_ADDED_EACH = 20
"""The number of attempts that are added to the outcomes at a time; an interrupted run resumes after them."""


def main() -> int:
    """Runs the command line and returns its exit code: 1 where an attack succeeded."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description="Attack ioassay.")
    families_help = f"of {', '.join(FAMILIES)}; all without, and as many variations as --tries says"
    parser.add_argument("families", nargs="*", metavar="FAMILY[=TRIES]", type=_family, help=families_help)
    parser.add_argument("--tries", type=int, default=1000, help="variations of each family (1000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other variations (1)")
    parser.add_argument("--only", type=int, metavar="INDEX", help="repeat one variation, and keep its directory")
    parser.add_argument("--jobs", type=int, default=1, help="processes that attack at the same time (1)")
    parser.add_argument("--limit-s", type=float, default=60, help="seconds after which a command counts as hung (60)")
    parser.add_argument("--keep", type=Path, default=Path("target/attack"), help="where failures are kept")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="add the outcomes to this file, and go on after those in it"
    )
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="print the table of such a file, and do nothing else"
    )
    options = parser.parse_args()
    if options.table:
        print(Outcomes(options.table).table())
        return 0
    if os.geteuid() != 0:
        print("Attacks mount file systems and act as several users: run them as root.", file=sys.stderr)
        return 3
    attempt.LIMIT_S = options.limit_s
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # so that nothing stays mounted
    outcomes = Outcomes(options.json) if options.json else None
    failed = False
    _prepare_commands()
    with _file_system(Path(tempfile.mkdtemp(prefix="ioassay-attack-"))) as scratch:
        for family, tries in options.families or [(family, None) for family in FAMILIES.values()]:
            most = tries or min(options.tries, family.tries or options.tries)
            untried = outcomes.untried(family, options.seed, most) if outcomes else range(most)
            indexes = [options.only] if options.only is not None else untried
            tried = _attack(family, indexes, options, scratch, outcomes)
            failed |= any(not attempted.result.held for attempted in tried)
    return 1 if failed else 0


def _family(typed: str) -> tuple[Family, int | None]:
    """A family, and how many variations of it. Raises `ValueError`."""
    name, _, tries = typed.partition("=")
    if name not in FAMILIES:
        raise argparse.ArgumentTypeError(f"no family is called {name}; there are {', '.join(FAMILIES)}")
    if tries and int(tries) < 1:
        raise argparse.ArgumentTypeError("at least one variation is tried")
    return FAMILIES[name], int(tries) if tries else None


def _prepare_commands() -> None:
    """Imports modules and builds option parsers once for all commands. None of this starts a thread."""
    for module in pkgutil.walk_packages(ioassay.__path__, "ioassay."):
        if not module.name.rpartition(".")[2].startswith(("test", "conftest", "__main__")):
            importlib.import_module(module.name)
    typer.main.get_command = functools.cache(typer.main.get_command)
    for _ in every_command():
        pass
    gc.freeze()  # forks share what is there, as long as no collection touches it


def _attack(
    family: Family, indexes: Sequence[int], options: argparse.Namespace, scratch: Path, outcomes: Outcomes | None
) -> list[Tried]:
    shared = scratch / "shared"
    shared.mkdir(exist_ok=True)
    family.prepare(shared)
    began = time.monotonic()
    always, keep = options.only is not None, options.keep.absolute()
    attempt_one = functools.partial(
        _one, name=family.name, seed=options.seed, scratch=scratch, keep=keep, always=always
    )
    tried = []
    # Forked workers inherit what was prepared and imported.
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork"), adopt_orphans) as workers:
        try:
            attempts = workers.map(attempt_one, indexes)
            while some := list(itertools.islice(attempts, _ADDED_EACH)):
                tried += some
                if outcomes:
                    outcomes.add(family, options.seed, some)
        except BaseException:
            workers.shutdown(cancel_futures=True)
            raise
    print(f"{family.name}: {summary(tried, time.monotonic() - began)}", flush=True)
    return tried


def _print_unless_held(family: Family, seed: int, tried: Tried) -> None:
    if tried.result.held and tried.result.seconds <= _SLOW_S:
        return
    how = f"{tried.result.outcome} in {tried.result.seconds:.1f} s: {tried.result.signature}"
    repeat = f"  python -m tests.attack {family.name} --seed {seed} --only {tried.index}"
    print(f"{how}\n{repeat}", file=sys.stderr, flush=True)


def _one(index: int, *, name: str, seed: int, scratch: Path, keep: Path, always: bool) -> Tried:
    family = FAMILIES[name]
    with _file_system(scratch / f"{name}-{index}") as place:
        try:
            result = family.attack(Random(f"{name} {seed} {index}"), place)
        except Exception:
            result = Result("attack is wrong", 0, traceback.format_exc())
        if always or not result.held:
            failure_directory = keep / f"{name}-{seed}-{index}"
            shutil.rmtree(failure_directory, ignore_errors=True)
            keep.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", place, failure_directory], check=False)
            (failure_directory / "signature.txt").write_text(f"{result.outcome}\n{result.signature}\n")
    tried = Tried(index, result)
    _print_unless_held(family, seed, tried)
    return tried


@contextmanager
def _file_system(point: Path) -> Iterator[Path]:
    """A separate file system, so small that accidental writes harm neither the machine nor other attempts."""
    point.mkdir(exist_ok=True)
    options = "size=1g,nr_inodes=200k,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "ioassay-attack", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", point], check=False)
        point.rmdir()


if __name__ == "__main__":
    sys.exit(main())

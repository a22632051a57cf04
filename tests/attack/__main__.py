"""`python -m tests.attack`: attacks ioassay, prints how each attempt ended, and keeps those that did harm."""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import typer

import ioassay.cli

from . import attempt, documents, front_ends, hung_mounts, plans, signals, stored
from .attempt import Result, adopt_orphans
from .family import Family
from .table import table

ROOT = Path(__file__).parents[2]
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
"""Everything ends within this time on an idle machine."""

_ADDED_EACH = 20
"""So many attempts are added to the outcomes at a time, so that a run that is interrupted has told of those before."""


@dataclass(frozen=True)
class Tried:
    """One attempt of a family."""

    index: int
    result: Result


def main() -> int:
    """Runs the command line and returns its exit code: 1 where an attack succeeded."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description="Attack ioassay.")
    of = f"of {', '.join(FAMILIES)}; all without, and as many variations as --tries says"
    parser.add_argument("families", nargs="*", metavar="FAMILY[=TRIES]", type=_family, help=of)
    parser.add_argument("--tries", type=int, default=1000, help="variations of each family (1000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other variations (1)")
    parser.add_argument("--only", type=int, metavar="INDEX", help="repeat one variation, and keep its directory")
    parser.add_argument("--jobs", type=int, default=1, help="processes that attack at the same time (1)")
    parser.add_argument("--limit-s", type=float, default=60, help="seconds after which a command counts as hung (60)")
    parser.add_argument("--keep", type=Path, default=Path("target/attack"), help="where failures are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the outcomes to this file")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="print the table of such a file, and do nothing else"
    )
    asked = parser.parse_args()
    if asked.table:
        print(table(json.loads(asked.table.read_bytes())))
        return 0
    if os.geteuid() != 0:
        print("Attacks mount file systems and act as several users: run them as root.", file=sys.stderr)
        return 3
    attempt.LIMIT_S = asked.limit_s
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # so that nothing stays mounted
    failed = False
    _prepare_commands()
    with _file_system(Path(tempfile.mkdtemp(prefix="ioassay-attack-"))) as scratch:
        for family, tries in asked.families or [(family, None) for family in FAMILIES.values()]:
            most = tries or min(asked.tries, family.tries or asked.tries)
            indexes = [asked.only] if asked.only is not None else range(most)
            tried = _attack(family, indexes, asked, scratch)
            failed |= any(not one.result.held for one in tried)
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
    """Does once what each command does first: its imports, the parser of its options. Nothing of it starts a thread."""
    for module in pkgutil.walk_packages(ioassay.__path__, "ioassay."):
        if not module.name.rpartition(".")[2].startswith(("test", "conftest", "__main__")):
            importlib.import_module(module.name)
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(ioassay.cli.app)
    gc.freeze()  # forks share what is there, as long as no collection touches it


def _attack(family: Family, indexes: Sequence[int], asked: argparse.Namespace, scratch: Path) -> list[Tried]:
    shared = scratch / "shared"
    shared.mkdir(exist_ok=True)
    family.prepare(shared)
    began = datetime.now(UTC)
    always, keep = asked.only is not None, asked.keep.absolute()
    one = functools.partial(_one, name=family.name, seed=asked.seed, scratch=scratch, keep=keep, always=always)
    tried = []
    # Forked, so that workers have what was prepared and imported.
    with ProcessPoolExecutor(asked.jobs, multiprocessing.get_context("fork"), adopt_orphans) as workers:
        try:
            for done in workers.map(one, indexes):
                tried.append(done)
                _print_unless_held(family, asked.seed, done)
                if asked.json and (len(tried) % _ADDED_EACH == 0 or len(tried) == len(indexes)):
                    _add(asked.json, family, tried, asked.seed)
        except BaseException:
            workers.shutdown(cancel_futures=True)
            raise
    counts = Counter(one.result.outcome for one in tried)
    seconds = (datetime.now(UTC) - began).total_seconds()
    shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    longest = max(one.result.seconds for one in tried)
    print(f"{family.name}: {len(tried)} in {seconds:.0f} s: {shown}; longest {longest:.1f} s", flush=True)
    return tried


def _print_unless_held(family: Family, seed: int, done: Tried) -> None:
    if done.result.held and done.result.seconds <= _SLOW_S:
        return
    print(f"{done.result.outcome} in {done.result.seconds:.1f} s: {done.result.signature}", file=sys.stderr)
    print(f"  python -m tests.attack {family.name} --seed {seed} --only {done.index}", file=sys.stderr, flush=True)


def _one(index: int, *, name: str, seed: int, scratch: Path, keep: Path, always: bool) -> Tried:
    family = FAMILIES[name]
    with _file_system(scratch / f"{name}-{index}") as place:
        try:
            result = family.attack(Random(f"{name} {seed} {index}"), place)
        except Exception:
            result = Result("attack is wrong", 0, traceback.format_exc())
        if always or not result.held:
            kept = keep / f"{name}-{seed}-{index}"
            shutil.rmtree(kept, ignore_errors=True)
            keep.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", place, kept], check=False)
            (kept / "signature.txt").write_text(f"{result.outcome}\n{result.signature}\n")
    return Tried(index, result)


@contextmanager
def _file_system(point: Path) -> Iterator[Path]:
    """One of its own, so small that nothing written by mistake harms the machine or other attempts."""
    point.mkdir(exist_ok=True)
    options = "size=1g,nr_inodes=200k,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "ioassay-attack", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", point], check=False)
        point.rmdir()


def _add(file: Path, family: Family, tried: Sequence[Tried], seed: int) -> None:
    """Adds the outcomes of a family to what the file says of others."""
    document: dict[str, Any] = json.loads(file.read_bytes()) if file.exists() else {"families": {}}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    document |= {
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} processors, Linux {platform.release()}",
    }
    failures: dict[str, dict[str, Any]] = {}
    for one in tried:
        if not one.result.held:
            found = failures.setdefault(
                one.result.signature, {"outcome": one.result.outcome, "count": 0, "indexes": []}
            )
            found["count"] += 1
            found["indexes"].append(one.index)
    document["families"][family.name] = {
        "what": family.what,
        "tries": len(tried),
        "seed": seed,
        "outcomes": dict(Counter(one.result.outcome for one in tried)),
        "longest_s": round(max(one.result.seconds for one in tried), 1),
        "failures": failures,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())

"""Measures ioassay's engine against its peers, in alternating pairs, and writes `raw.csv` and `summary.md`.

    python bench/peers/run.py --engine target/release/ioassay-engine --peers-path DIR:DIR --target DIR --out DIR

What is compared and what is unfair about it is in the README beside this file. Nobody else should use the machine.
"""

from __future__ import annotations

import argparse
import csv
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory

import find_tree
import host
import summary
from bare import Bare
from elbencho import Elbencho
from engine import Engine
from fio import Fio
from io500 import Io500
from ior import Ior
from mdtest import Mdtest
from pairs import Measurement, alternate
from pfind import Pfind
from tool import Failed, Manner, Place, Tool
from work import COMMAND_LINES, IN_MEMORY, ON_DISK, Find, Work

PEERS: tuple[Tool, ...] = (Bare(), Ior(), Fio(reduced=False), Fio(reduced=True), Elbencho(), Mdtest(), Io500(), Pfind())

_PREFIX = "ioassay-peers-"


class Comparisons:
    """One run: what is at hand, and what was measured so far."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        # Bare loops are built beside the engine.
        # Programs start in directories of their own, so no place may be relative.
        named = [str(Path(place).absolute()) for place in arguments.peers_path.split(os.pathsep) if place]
        self._search_path = os.pathsep.join([*named, str(arguments.engine.parent), os.environ.get("PATH", os.defpath)])
        self._engine = Engine(arguments.engine, Manner())
        versions = {"ioassay": self._engine.version(self._search_path)}
        command = shlex.join(["python", "bench/peers/run.py", *_without_paths(arguments)])
        self.record = summary.Record(command, host.describe(arguments.target), versions)
        self._peers = [peer for peer in PEERS if self._is_here(peer)]

    def all(self) -> None:
        """Every piece of work against every peer that does it; keeps all results as they come."""
        in_memory = host.file_system(self._arguments.target) == "tmpfs"
        with (self._arguments.out / "raw.csv").open("w", newline="") as raw:
            rows = csv.DictWriter(raw, [field.name for field in fields(Measurement)])
            rows.writeheader()
            for measurement in self._of_works((IN_MEMORY if in_memory else ON_DISK) + COMMAND_LINES):
                self.record.measurements.append(measurement)
                rows.writerow(asdict(measurement))
                raw.flush()
        if not self.record.measurements and not self.record.notes:
            self.note("nothing is chosen: --only takes a part of the name of a piece of work, or of a peer")

    def note(self, text: str) -> None:
        """Says and keeps what was left out, and why."""
        _say(text)
        self.record.notes.append(text)

    def _is_here(self, peer: Tool) -> bool:
        try:
            self.record.versions[peer.name] = peer.version(self._search_path)
        except Failed as missing:
            self.note(f"{peer.name}: {missing}")
            return False
        return True

    def _of_works(self, works: tuple[Work, ...]) -> Iterator[Measurement]:
        only = self._arguments.only
        for work in works:
            peers = [peer for peer in self._peers if peer.does(work) and _chosen(only, work, peer)]
            with _prepared(work, self._arguments.target) if peers else TemporaryDirectory() as directory:
                for peer in peers:
                    yield from self._of_peer(work, peer, Path(directory))

    def _of_peer(self, work: Work, peer: Tool, directory: Path) -> Iterator[Measurement]:
        ours = self._engine.beside(peer)
        _say(f"{work.name}, {peer.name}")
        try:
            yield from alternate(
                work.name,
                peer.name,
                lambda: self._measure(work, ours, directory),
                lambda: self._measure(work, peer, directory),
                self._arguments.pairs,
            )
        except Failed as failed:
            self.note(f"{work.name}, {peer.name}: {failed}")

    def _measure(self, work: Work, tool: Tool, directory: Path) -> dict[str, float]:
        tool_directory = directory / tool.name
        with TemporaryDirectory(prefix=_PREFIX) as scratch:
            place = Place(directory if isinstance(work, Find) else tool_directory, Path(scratch), self._search_path)
            tool_directory.mkdir()
            # What one tool has left to be written must not be written in another's time.
            os.sync()
            try:
                rates = tool.measure(work, place)
            except Failed as failed:
                raise Failed(f"{tool.name}: {failed}") from failed
            finally:
                shutil.rmtree(tool_directory)
        self.record.commands[work.name, _in_manner(tool)] = place.commands
        return rates


@contextmanager
def _prepared(work: Work, target: Path) -> Iterator[str]:
    with TemporaryDirectory(prefix=_PREFIX, dir=target) as directory:
        if isinstance(work, Find):
            find_tree.create(work, Path(directory))
        yield directory


def _chosen(only: list[str], work: Work, peer: Tool) -> bool:
    """True if each of `only` is part of the name of the work or of the peer, or if there is none."""
    return all(part in f"{work.name} {peer.name}" for part in only)


def _in_manner(tool: Tool) -> str:
    if not isinstance(tool, Engine):
        return tool.name
    return f"{tool.name} ({tool.manner.paths} paths, {tool.manner.random_reads} reads)"


def _without_paths(arguments: argparse.Namespace) -> list[str]:
    """The arguments as a record may keep them: no path of this machine."""
    only = [token for part in arguments.only for token in ("--only", part)]
    return ["--engine", "ENGINE", "--peers-path", "PATH", "--target", "DIR", *only, "--pairs", str(arguments.pairs)]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures ioassay's engine against its peers, in alternating pairs.")
    parser.add_argument("--engine", type=Path, required=True, help="the binary ioassay-engine")
    parser.add_argument("--peers-path", default="", help="directories with the peers' binaries, before PATH")
    parser.add_argument("--target", type=Path, required=True, help="where to work: a tmpfs, or a disk; 2 GiB free")
    parser.add_argument("--only", action="append", default=[], help="part of the name of a piece of work or a peer")
    parser.add_argument("--pairs", type=int, default=5, help="measurements of each side")
    parser.add_argument("--out", type=Path, required=True, help="directory for raw.csv and summary.md")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine.resolve()
    arguments.target = arguments.target.resolve()
    return arguments


def main() -> int:
    """Returns 0, or 1 where something failed or was left out."""
    arguments = _arguments()
    # As Ctrl-C does: the tool is ended, its files are removed, and what was measured is summed up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments.out.mkdir(parents=True, exist_ok=True)
    comparisons = Comparisons(arguments)
    try:
        comparisons.all()
    except KeyboardInterrupt:
        comparisons.note("interrupted: the rest was not measured")
    finally:
        (arguments.out / "summary.md").write_text(summary.render(comparisons.record))
    return 1 if comparisons.record.notes else 0


if __name__ == "__main__":
    sys.exit(main())

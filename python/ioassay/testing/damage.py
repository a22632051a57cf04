"""Stored directories that were damaged or made up, and everything that is done with such a directory.

    python -m ioassay.testing.damage --tries 3000 [--seed 7] [DIR...]

tries the stored directories that tests make, or those that are named, and prints each distinct failure. A failure is
anything but a result or an error that says what is wrong: a traceback, too much time or too much memory. The variation
`(seed, number)` is always the same.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl

from ioassay.errors import IoassayError

LIMIT_CPU_S = 30
"""For each thing that is done with a directory; with a whole one it takes a second or two."""

LIMIT_S = 600
"""However busy the machine is."""

LIMIT_BYTES = 4 << 30
"""The limit of resident memory, for all of them."""

FOREIGN_FILES = ("/etc/passwd", "/dev/zero")
"""The targets of links in a damaged directory."""

_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 7, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**400),
    *(0.5, -0.5, 1e-300, 1e308, math.nan, math.inf, -math.inf),
    *("", "x", " ", "-", ".", "..", "../../x", "/etc/passwd", "write", "read", "N-N", "a/b", "1", "2026-13-45"),
    *(
        "2026-02-02T02:40:00",
        "0001-01-01T00:00:00+00:00",
        "9999-12-31T23:59:59-23:59",
        "\x1b[31mred",
        "a\0b",
        "ü" * 300,
    ),
    *("<script>alert(1)</script>", "${clients}", "{{ 7 * 7 }}", "x" * 100_000, "&a [*a]", "[" * 500),
    *([], {}, [[]], [None], ["x"] * 1000, {"x": 1}, {"": {}}),
)


@dataclass(frozen=True)
class Failure:
    """A use of a damaged directory that did not end as it should."""

    number: int
    damage: str
    use: str
    where: str
    """The last line of ours and the error: what tells failures apart."""
    text: str


def damaged_copy(source: Path, target: Path, dice: random.Random) -> str:
    """Copies a stored directory to `target`, with one to three things wrong. Returns what."""
    shutil.copytree(source, target, symlinks=True)
    damages = []
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        # A link may be of an earlier damage, and what is written to it would reach a file of the machine.
        files = sorted(
            path
            for path in target.rglob("*")
            if path.is_file() and not path.is_symlink() and path.name not in ("lock", "console.txt")
        )
        if not files:
            break
        file = dice.choice(files)
        how = dice.choice(_of(file))
        how(file, dice)
        damages.append(f"{how.__name__.strip('_')} {file.relative_to(target)}")
    return ", ".join(damages)


def _of(file: Path) -> Sequence[Callable[[Path, random.Random], None]]:
    """The ways to damage a file, damage to its content being the most frequent."""
    any_file: list[Callable[[Path, random.Random], None]] = [_cut, _flip, _replace]
    match file.suffix:
        case ".json":
            return [_json] * 12 + any_file
        case ".jsonl":
            return [_json_lines] * 12 + any_file
        case ".parquet":
            return [_table] * 9 + any_file
    return any_file


def _cut(file: Path, dice: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: dice.randint(0, len(content))])


def _flip(file: Path, dice: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(dice.choice((1, 1, 3, 30)) if content else 0):
        content[dice.randrange(len(content))] = dice.randrange(256)
    file.write_bytes(content)


def _replace(file: Path, dice: random.Random) -> None:
    """By nothing, by something of another kind or by another file."""
    others = [other for other in sorted(file.parent.rglob("*")) if other.is_file()]
    content = dice.choice(others).read_bytes()
    file.unlink()
    match dice.randrange(9):
        case 0:
            return
        case 1:
            file.mkdir()
        case 2:
            os.mkfifo(file)
        case 3:
            file.symlink_to(dice.choice((*FOREIGN_FILES, file.name, "nowhere", "run.json")))
        case 4:
            above = os.open(file.parent, os.O_RDONLY)
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(f"/proc/self/fd/{above}/{file.name}")
            os.close(above)
        case 5:
            file.write_bytes(b"")
        case 6:
            file.write_bytes(bytes(dice.choice((1, 100, 10_000))))
        case 7:
            file.write_bytes(content)
        case 8:
            file.write_bytes(b"[" * 100_000 if dice.random() < 0.5 else b'{"version":' * 100_000)


def _json(file: Path, dice: random.Random) -> None:
    with contextlib.suppress(ValueError, RecursionError):
        file.write_text(_text(json.loads(file.read_bytes()), dice))


def _json_lines(file: Path, dice: random.Random) -> None:
    lines = file.read_text(errors="replace").splitlines()
    if not lines:
        return
    number = dice.randrange(len(lines))
    match dice.randrange(8):
        case 0:
            del lines[number]
        case 1:
            lines.insert(dice.randrange(len(lines)), lines[number])
        case 2:
            dice.shuffle(lines)
        case _:
            with contextlib.suppress(ValueError, RecursionError):
                lines[number] = _text(json.loads(lines[number]), dice)
    file.write_text("".join(f"{line}\n" for line in lines))


def _text(tree: Any, dice: random.Random) -> str:
    """A document with something changed."""
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        _change(tree, dice)
    text = json.dumps(tree)
    if dice.random() < 0.02:  # what json.dumps does not write
        text = text[:-1] + ', "version": 2}' if text.endswith("}") else text
    return text


def _change(tree: Any, dice: random.Random) -> None:
    places = list(_places(tree))
    if not places:
        return
    parent, key = dice.choice(places)
    match dice.randrange(10):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[f"{key}x"] = parent.pop(key)
        case 1 | 2:
            other, other_key = dice.choice(places)
            parent[key] = json.loads(json.dumps(other[other_key]))
        case 3 if isinstance(parent[key], list) and parent[key]:
            parent[key] += [dice.choice(parent[key])] * dice.choice((1, 2, 1000))
        case 4:
            deep: Any = parent[key]
            for _ in range(dice.choice((1, 3, 150, 300))):
                deep = [deep] if dice.random() < 0.5 else {"x": deep}
            parent[key] = deep
        case _:
            parent[key] = dice.choice(_VALUES)


def _places(tree: Any, most_depth: int = 20) -> Iterator[tuple[Any, Any]]:
    """Places in a document that hold something: (its dict or list, its key)."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield tree, key
        if most_depth:
            yield from _places(tree[key], most_depth - 1)


def _table(file: Path, dice: random.Random) -> None:
    try:
        table = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
        return
    column = dice.choice(table.columns)
    match dice.randrange(9):
        case 0:
            table = table.drop(column)
        case 1:
            table = table.with_columns(pl.lit(1).alias("more"))
        case 2:
            table = table.with_columns(pl.col(column).cast(dice.choice((pl.String, pl.Float64, pl.Int8)), strict=False))
        case 3:
            table = table.select(sorted(table.columns, key=lambda _: dice.random()))
        case 4:
            table = pl.concat([table] * dice.choice((2, 3, 50)))
        case 5:
            table = table.head(dice.randint(0, table.height))
        case 6 if table.height:
            table = table[pl.zeros(2_000_000, dtype=pl.UInt32, eager=True)]
        case _:
            table = _with_values(table, column, dice)
    table.write_parquet(file)


def _with_values(table: pl.DataFrame, column: str, dice: random.Random) -> pl.DataFrame:
    """Some values of a column, or all of them, are others."""
    kind = table.schema[column]
    values = {
        pl.Int64: (None, -1, 0, 1, 3, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63)),
        pl.Float64: (None, -1.0, 0.0, 1e-300, 1e308, math.nan, math.inf, -math.inf),
        pl.Boolean: (None, True, False),
    }.get(kind.base_type(), (None, "", "x", "write", "a\0b", "\x1b[31m", "{", "[1]", '{"x":' * 2000, "y" * 100_000))
    value = pl.lit(dice.choice(values), dtype=kind)
    if dice.random() < 0.4:
        return table.with_columns(value.alias(column))
    rows = pl.Series([dice.random() < 0.3 for _ in range(table.height)], dtype=pl.Boolean)
    return table.with_columns(pl.when(rows).then(value).otherwise(pl.col(column)).alias(column))


def uses(run: Path, undamaged: Path, *, with_figures: bool) -> dict[str, Callable[[], object]]:
    """Everything that is done with a stored directory, by name. `whole` is an undamaged run to compare it with."""
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.cli.check import check  # noqa: PLC0415
    from ioassay.cli.compare import compare  # noqa: PLC0415
    from ioassay.cli.list import list_  # noqa: PLC0415
    from ioassay.cli.profile import profile  # noqa: PLC0415
    from ioassay.cli.publish import publish  # noqa: PLC0415
    from ioassay.cli.report import report  # noqa: PLC0415
    from ioassay.cli.trend import trend  # noqa: PLC0415
    from ioassay.reports.run import RunReport  # noqa: PLC0415
    from ioassay.store.net_directory import read_net  # noqa: PLC0415
    from ioassay.store.run_directory import is_run, load  # noqa: PLC0415

    out = run.parent / "out"
    if (run / "net.json").exists() or (run / "net.json").is_symlink():
        return {
            "net": lambda: read_net(run),
            "ceilings": lambda: report([undamaged], output=out, form="md", ceilings=run),
            "list": lambda: list_(run),
        }
    if (run / "record.json").exists() or (run / "record.json").is_symlink():
        return {
            "md": lambda: profile([run], output=out, form="md"),
            "json": lambda: profile([run], output=out, form="json"),
            "csv": lambda: profile([run], output=out, form="csv"),
            "terminal": lambda: profile([run]),
            "list": lambda: list_(run),
            **({"html": lambda: profile([run], output=out, form="html")} if with_figures else {}),
        }
    uses_of_run: dict[str, Callable[[], object]] = {
        "md": lambda: report([run], output=out, form="md"),
        "is run": lambda: is_run(run),
        "list": lambda: list_(run),
        "terminal": lambda: RunReport(doubted(load(run))).terminal(),
        "json": lambda: report([run], output=out, form="json"),
        "csv": lambda: report([run], output=out, form="csv"),
        "compare": lambda: compare([str(undamaged), str(run)], output=out, form="md"),
        "check": lambda: check(run, baseline=str(undamaged), tolerance="5%"),
        "trend": lambda: trend([undamaged, run], tolerance="5%", any_target=True),
        "samples": lambda: _samples(run),
    }
    if with_figures:
        uses_of_run["html"] = lambda: report([run], form="html")
        uses_of_run["publish"] = lambda: publish([run], run.parent / "published")
    return uses_of_run


def _samples(run: Path) -> pl.DataFrame:
    from ioassay.store.run_directory import load  # noqa: PLC0415

    return load(run).samples.collect()


class _TooLong(Exception):
    pass


def attempt(number: int, damage: str, name: str, use: Callable[[], object]) -> Failure | None:
    """Does it with a limit of time. `None`: it ended as it should."""

    def too_long(got: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = [(watched, signal.signal(watched, too_long)) for watched in (signal.SIGALRM, signal.SIGPROF)]
    signal.alarm(LIMIT_S)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_CPU_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            use()
    except IoassayError as error:
        if error.exit_code in (2, 3) and error.message:
            return None
        return Failure(number, damage, name, repr(error), traceback.format_exc())
    except Exception as error:
        return Failure(number, damage, name, _where(error), traceback.format_exc())
    except pl.exceptions.PanicException as error:
        return Failure(number, damage, name, _where(error), traceback.format_exc())
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for watched, handler in before:
            signal.signal(watched, handler)
    return None


def _where(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/ioassay/" in frame.filename]
    last = next((frame for frame in reversed(frames) if "testing/damage" not in frame.filename), None)
    place = f"{Path(last.filename).name}:{last.lineno} {last.name}" if last else "?"
    return f"{type(error).__name__} in {place}"


def tried(sources: Sequence[Path], undamaged: Path, seed: int, numbers: Sequence[int]) -> Iterator[Failure]:
    """The failures of these variations."""
    for number in numbers:
        dice = random.Random(f"{seed} {number}")
        with tempfile.TemporaryDirectory(prefix="ioassay-damage-") as scratch:
            run = Path(scratch) / "run"
            damage = damaged_copy(dice.choice(sources), run, dice)
            possible = uses(run, undamaged, with_figures=number % 100 == 99)
            # All of them read it in the same way, so each variation is put to some only.
            for name in dict.fromkeys([next(iter(possible)), dice.choice(sorted(possible))]):
                use = possible[name]
                failure = attempt(number, damage, name, use)
                if failure is not None:
                    yield failure


def stored_directories(place: Path) -> list[Path]:
    """One of each kind, made below `place`: a run of a study, the same when its control plane was killed, those that a
    front end left, ended and not, results of other tools, a run with every finding, what `ioassay net` leaves, a
    record, a run of an older version.
    """
    from ioassay.cli.import_ import import_  # noqa: PLC0415
    from ioassay.processes.engine import find_engine  # noqa: PLC0415
    from ioassay.store.net_directory import NetDirectory  # noqa: PLC0415
    from ioassay.testing import (  # noqa: PLC0415
        faulty_application,
        faulty_run,
        net_measurement,
        record_tables,
        stored,
    )

    target = place / "target"
    target.mkdir(parents=True)
    small = ("total=64MiB", "random_file=64KiB", "time=5ms", "write_time=5ms", "repetitions=2", "sample_interval=1ms")
    run, killed, left, cut = (place / name for name in ("run", "killed", "left", "cut"))
    quick = [
        "run",
        "quick",
        "--target",
        str(target),
        "--out",
        str(run),
        *(word for setting in small for word in ("--set", setting)),
    ]
    ioassay = [sys.executable, "-c", "from ioassay.cli import main; main()"]
    # Whether its criteria are met does not matter here.
    subprocess.run([*ioassay, *quick], check=False, capture_output=True)
    shutil.copytree(run, killed)
    _let_be_killed(killed)
    ior = ["ior", "-w", "-r", "-t", "64k", "-b", "256k", "-i", "2", "-o", str(target / "test"), "--run", str(left)]
    subprocess.run([find_engine(), *ior], check=True, capture_output=True)
    shutil.copytree(left, cut)
    document = json.loads((cut / "front-end.json").read_text())
    (cut / "front-end.json").write_text(json.dumps(document | {"ended_unix_ns": None, "exit_code": None}))
    imports = Path(__file__).parent / "imports"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import_("ior", [imports / "ior" / "4.0.0.json", imports / "ior" / "3.2.1.csv"], out=place / "ior")
    stored.store(faulty_run.faulty_run(), place / "troubled")
    measured = net_measurement.net(2, (1, 2, "to-servers", 9.4), (2, 2, "to-clients", 18.0, "processor-bound"))
    NetDirectory(place / "net", measured)
    old = shutil.copytree(Path(__file__).parents[3] / "tests/stored/run-2-study", place / "old")
    record = record_tables.store_record(place / "record", *faulty_application.faulty())
    return [run, killed, left, cut, place / "ior", place / "troubled", place / "net", record, old]


def _let_be_killed(run: Path) -> None:
    """As if its control plane had been killed in the last case, before it could write the tables."""
    document = json.loads((run / "run.json").read_text())
    document |= {"state": "running", "ended": None}
    document["cases"][-1]["state"] = "running"
    (run / "run.json").write_text(json.dumps(document))
    events = run / "logs" / document["cases"][-1]["id"] / "events.jsonl"
    events.write_text("".join(events.read_text().splitlines(keepends=True)[:-1]))
    for table in run.glob("*.parquet"):
        table.unlink()


def main(arguments: Sequence[str]) -> int:
    """Tries, and prints what failed."""
    parser = argparse.ArgumentParser(prog="ioassay.testing.damage", description="Try damaged stored directories.")
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first variation")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("directories", nargs="*", type=Path, help="stored directories; the first is a whole run")
    chosen = parser.parse_args(arguments)
    failures_at: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="ioassay-stored-") as place:
        sources = chosen.directories or stored_directories(Path(place))
        begun = time.monotonic()
        numbers = range(chosen.first, chosen.first + chosen.tries)
        for failure in tried(sources, sources[0], chosen.seed, numbers):
            failures_at[failure.where] = failures_at.get(failure.where, 0) + 1
            if failures_at[failure.where] == 1:
                print(
                    f"--- {failure.number}: {failure.damage}; {failure.use}: {failure.where}\n{failure.text}",
                    flush=True,
                )
    for where, times in sorted(failures_at.items(), key=lambda item: -item[1]):
        print(f"{times:5} {where}")
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    took_s = time.monotonic() - begun
    print(f"{chosen.tries} variations, {len(failures_at)} distinct failures, {took_s:.0f} s, {peak_bytes >> 20} MiB")
    return 1 if failures_at or peak_bytes > LIMIT_BYTES else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

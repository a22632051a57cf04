"""What a search for configurations costs: 200 components, 10 racks.

    python bench/sizing/run.py DIR [TIMES]

makes a catalogue and requirements of several shapes in DIR, and runs `ioassay size` on each TIMES times: with its own
time limit, and without one that matters: seconds, and seconds of processors, which tell more where others use the
machine too. The goal is 10 s; for the guide's example, alone and beside a busy process on each processor, it is 2 s.
Not: a test. Timing never decides a test.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMPONENTS = {
    "drives": 30,
    "enclosures": 20,
    "controllers": 15,
    "adapters": 15,
    "servers": 20,
    "switches": 10,
    "metadata": 20,
    "bricks": 70,
}

SHAPES = {
    "one kind, 10 racks": "usable: 12PB\nwrite: 150GB/s\nread: 180GB/s\nlimits: {racks: 10, power: 250kW}",
    "two kinds, 10 racks": "usable: 12PB\nwrite: 150GB/s\nread: 180GB/s\nkinds: 2\nlimits: {racks: 10, power: 250kW}",
    "three kinds, metadata, switches, budget": (
        "usable: 10PB\nwrite: 120GB/s\nread: 150GB/s\nrandom_read: 300 kIOPS\ncreate: 150 kIOPS\nstat: 400 kIOPS\n"
        "kinds: 3\nswitches: [switch-0, switch-1, switch-2, switch-3]\n"
        "limits: {racks: 10, power: 250kW, weight_per_rack: 1200kg, budget: 20000000, currency: EUR}"
    ),
    "impossible alone": "usable: 10PB\nwrite: 5000GB/s\nkinds: 2\nlimits: {racks: 10}",
    "impossible together": "usable: 60PB\nwrite: 600GB/s\nread: 700GB/s\nkinds: 2\nlimits: {racks: 10, power: 250kW}",
    "no limits": "usable: 12PB\nwrite: 150GB/s\nread: 180GB/s\nkinds: 2",
}
"""Requirements, by what is particular about them."""

_WHY = "assumed: for a benchmark"


def catalogue(dice: random.Random) -> Iterator[str]:
    """The lines of a catalogue of 200 components; a fifth of the bricks scale by a table of measurements."""
    yield from ("name: bench", "title: Components that nobody sells")
    names = {
        group: [f"{group.removesuffix('s')}-{number}" for number in range(count)] for group, count in COMPONENTS.items()
    }
    names |= {"switches": [f"switch-{number}" for number in range(COMPONENTS["switches"])]}
    makers = {
        "drives": _drive,
        "enclosures": _enclosure,
        "controllers": _controller,
        "adapters": _adapter,
        "servers": _server,
        "switches": _switch,
    }
    for group, make in makers.items():
        yield f"{group}:"
        for name in names[group]:
            yield f"  {name}: {{{make(dice)}}}"
    yield "metadata:"
    for name in names["metadata"]:
        rates = ", ".join(f"{kind}: {_figure(f'{dice.randint(10, 90)}kIOPS')}" for kind in ("create", "stat"))
        scaling = "scaling: {by: linear, because: for a benchmark}"
        yield f"  {name}: {{title: Metadata, parts: {{{dice.choice(names['servers'])}: 2}}, {rates}, {scaling}}}"
    yield "bricks:"
    for index, name in enumerate(names["bricks"]):
        yield from _brick(dice, names, name, is_table=index % 5 == 0)


def _figure(value: str, more: str = "") -> str:
    return f"{{value: {value}, {_WHY}{more}}}"


def _taken(power_w: int, weight_kg: int, price: int, units: int | None = None) -> str:
    height = "" if units is None else f", rack_units: {units}"
    return (
        f"power: {_figure(f'{power_w}W')}, weight: {_figure(f'{weight_kg}kg')}, "
        f"price: {_figure(str(price), ', currency: EUR, date: 2026-01')}{height}"
    )


def _drive(dice: random.Random) -> str:
    size = dice.choice((4, 6, 8, 10, 12, 16, 18, 20))
    rates = f"write: {_figure(f'{dice.randint(150, 250)}MB/s')}, read: {_figure(f'{dice.randint(160, 260)}MB/s')}"
    operations = f"random_write: {_figure('180 IOPS')}, random_read: {_figure(f'{dice.randint(150, 250)} IOPS')}"
    taken = _taken(dice.randint(6, 11), 1, 100 + 20 * size)
    return f"title: A disk, media: hdd, capacity: {_figure(f'{size}TB')}, {rates}, {operations}, {taken}"


def _enclosure(dice: random.Random) -> str:
    slots = dice.choice((24, 60, 84, 106))
    link = _figure(f"{dice.choice((48, 96, 192))}Gbit/s")
    taken = _taken(dice.randint(100, 400), slots // 2, 4000 + 50 * slots, 2 if slots == 24 else dice.choice((4, 5)))
    return f"title: An enclosure, slots: {slots}, link: {link}, {taken}"


def _controller(dice: random.Random) -> str:
    rates = f"write: {_figure(f'{dice.randint(4, 14)}GB/s')}, read: {_figure(f'{dice.randint(5, 18)}GB/s')}"
    return f"title: RAID controllers, units: 2, {rates}, {_taken(dice.randint(50, 150), 5, dice.randint(8, 30) * 1000)}"


def _adapter(dice: random.Random) -> str:
    link = _figure(f"{dice.choice((56, 100, 200))}Gbit/s")
    return f"title: An adapter, side: network, ports: 2, link: {link}, {_taken(20, 1, dice.randint(5, 15) * 100)}"


def _server(dice: random.Random) -> str:
    return f"title: A server, {_taken(dice.randint(300, 700), 18, dice.randint(4, 12) * 1000, dice.choice((1, 2)))}"


def _switch(dice: random.Random) -> str:
    ports = dice.choice((36, 40, 64))
    link = _figure(f"{dice.choice((100, 200))}Gbit/s")
    return f"title: A switch, ports: {ports}, link: {link}, {_taken(300, 12, dice.randint(8, 25) * 1000, 1)}"


def _brick(dice: random.Random, names: dict[str, list[str]], name: str, *, is_table: bool) -> Iterator[str]:
    groups = dice.randint(6, 18)
    yield f"  {name}:"
    yield "    title: A brick"
    yield f"    drives: [{', '.join(dice.sample(names['drives'], dice.randint(1, 3)))}]"
    yield f"    drive_count: {10 * groups}"
    yield f"    redundancy: {{layout: raid6, data: 8, parity: 2, groups: {groups}, chunk: 128k}}"
    # As many as hold the drives, whichever they are.
    yield f"    enclosures: {{{dice.choice(names['enclosures'])}: {-(-10 * groups // 24)}}}"
    yield f"    controllers: {{{dice.choice(names['controllers'])}: 1}}"
    yield f"    adapters: {{{dice.choice(names['adapters'])}: 2}}"
    yield f"    servers: {{{dice.choice(names['servers'])}: 2}}"
    if not is_table:
        yield "    scaling: {by: linear, because: for a benchmark}"
        return
    yield "    scaling:"
    yield "      by: table"
    yield "      points:"
    for kind in ("write", "read", "random_read", "random_write"):
        unit = "IOPS" if kind.startswith("random") else "MB/s"
        points = ", ".join(
            f"{{count: {count}, rate: {_figure(f'{round(1000 * count**0.95)} {unit}')}}}"
            for count in (1, 2, 4, 8, 16, 32)
        )
        yield f"        {kind}: [{points}]"


EXAMPLE = Path(__file__).parents[2] / "examples" / "sizing" / "scratch.yaml"
"""What the guide shows."""


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that do nothing else than use a processor each."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def example(times: int) -> None:
    """Prints rows for the guide's example."""
    print("| the guide's example | verdict | seconds | processors |")
    print("| -- | -- | -- | -- |")
    for others in (0, os.cpu_count() or 1):
        with busy(others):
            (took, processors), result = _timed(EXAMPLE, times, [])
        beside = f"beside {others} busy processes" if others else "alone"
        print(f"| {beside} | {result['verdict']} | {took} | {processors} |", flush=True)
    print()


def main() -> None:
    """Prints a row for each shape."""
    directory, times = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "bench.yaml").write_text("\n".join(catalogue(random.Random(1))) + "\n")
    example(times)
    print(f"{sum(COMPONENTS.values())} components")
    head = "| requirements | bricks with drives, beaten | answers by default, to the end "
    print(f"{head}| by default | processors | to the end | processors |")
    print("| -- | -- | -- | -- | -- | -- | -- |")
    for shape, text in SHAPES.items():
        file = directory / "requirements.yaml"
        bricks = ", ".join(f"brick-{number}" for number in range(COMPONENTS["bricks"]))
        file.write_text(f"name: bench\ncatalogues: [bench.yaml]\nbricks: [{bricks}]\n{text}\n")
        default, result = _timed(file, times, [])
        whole, complete = _timed(file, times, ["--time-limit", "5min"])
        cells = [
            shape,
            f"{result['candidates']}, {result['dominated']}",
            f"{len(result['answers'])}, {len(complete['answers'])}",
            *default,
            *whole,
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def _timed(file: Path, times: int, options: list[str]) -> tuple[tuple[str, str], dict[str, Any]]:
    """Median and most seconds of the whole command, the median of those of processors, and what it printed last."""
    seconds, processors, printed = [], [], b""
    for _ in range(times):
        began, used = time.perf_counter(), _processor_seconds()
        command: list[str | Path] = [Path(sys.executable).parent / "ioassay", "size", file, "--json", *options]
        printed = subprocess.run(command, check=False, capture_output=True).stdout
        seconds.append(time.perf_counter() - began)
        processors.append(_processor_seconds() - used)
    result = json.loads(printed)
    ended = "" if result["is_complete"] else " (not proved: ended by the time limit)"
    took = f"{statistics.median(seconds):.1f} s, at most {max(seconds):.1f} s{ended}"
    return (took, f"{statistics.median(processors):.2f} s"), result


def _processor_seconds() -> float:
    """Of all processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

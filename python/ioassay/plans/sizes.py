"""What plans amount to: asked of the engine, which is the only one to add it up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from ioassay.errors import CannotRun
from ioassay.processes import engine

if TYPE_CHECKING:
    from ioassay.protocol.event import Event, EventAmounts, EventError
    from ioassay.protocol.plan import Checkpoint, Dataset, FileSet, Plan, RankCount, Step, Storage, Tree

    class Contents(TypedDict):
        """What of a plan its amounts and its description follow from."""

        storage: Storage
        ranks: RankCount
        files: NotRequired[dict[str, FileSet]]
        trees: NotRequired[dict[str, Tree]]
        datasets: NotRequired[dict[str, Dataset]]
        checkpoints: NotRequired[dict[str, Checkpoint]]
        steps: list[Step]


def amounts(plans: Mapping[str, Plan]) -> dict[str, EventAmounts | EventError]:
    """What each plan amounts to, or why the engine refuses it, by the names that plans have here, in their
    order.

    Plans that differ in nothing but the names of their case and run, and in their seed, are asked once. Targets are not
    checked. Raises `CannotRun` where the engine cannot be asked.
    """
    alike: dict[str, list[str]] = {}
    for name, plan in plans.items():
        alike.setdefault(json.dumps({**plan, "run": "run", "case": "case", "seed": 0}), []).append(name)
    if not alike:
        return {}
    with TemporaryDirectory(prefix="ioassay-amounts-") as scratch:
        file, events = Path(scratch, "plans.jsonl"), Path(scratch, "events.jsonl")
        file.write_text("".join(f"{plan}\n" for plan in alike))
        command = [str(engine.find_engine()), *engine.amounts_arguments(events, [file])]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        lines = events.read_text().splitlines() if events.exists() else []
    if len(lines) != len(alike):
        raise CannotRun(done.stderr.strip() or f"`{' '.join(command)}` failed ({done.returncode}).")
    answers: list[Event] = [json.loads(line) for line in lines]
    of_names = {
        name: cast("EventAmounts | EventError", event)
        for event, names in zip(answers, alike.values(), strict=True)
        for name in names
    }
    return {name: of_names[name] for name in plans}

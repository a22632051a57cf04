"""What a run will take, and whether it can run, asked of the engine before anything is written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ioassay import engine
from ioassay.errors import CannotRun, UsageError
from ioassay.execution.start import Start
from ioassay.results.events import Event, read_events
from ioassay.results.planned import is_walled

_WRONG_PLAN = 2  # the engine's exit code


@dataclass(frozen=True)
class Need:
    """What a run will write, beside what the target has. Cases follow one another and remove their files."""

    written_bytes: int
    """By all cases together."""
    at_once_bytes: int
    """The largest file set: what lies on the target at any time."""
    at_once_files: int
    free_bytes: int | None
    """On the target; `None` where it does not tell, as object stores do not."""
    file_system: str | None
    """Its type, for example `lustre`."""
    walled: bool = False
    """A stonewall may end a phase before all that is written."""
    stops_early: bool = False
    """A stop rule may spare cases, so that less is written."""


def check(plans: Mapping[str, dict[str, Any]], start: Start, *, stops_early: bool) -> Need:
    """Checks every plan on one node. `stops_early`: stop rules may spare some of them.

    Raises `UsageError` for a plan that no machine could run, `CannotRun` where this target will not hold it.
    """
    with TemporaryDirectory(prefix="ioassay-check-") as scratch:
        directory = Path(scratch)
        files = [directory / f"{index}.json" for index in range(len(plans))]
        for file, plan in zip(files, plans.values(), strict=True):
            file.write_text(json.dumps(plan))
        events = directory / "events.jsonl"
        command = start.alone(engine.check_arguments(events, files))
        done = subprocess.run(
            command,
            env=start.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        reported = read_events(events)
    # The engine says one thing of each plan, in their order.
    of_plans = [event for event in reported if event["event"] in ("checked", "error")]
    refused = {case: event for case, event in zip(plans, of_plans, strict=False) if event["event"] == "error"}
    if refused:
        kind = UsageError if done.returncode == _WRONG_PLAN else CannotRun
        (case, first), more = next(iter(refused.items())), len(refused) - 1
        message = first["message"]
        # What all cases are refused for is of the target.
        if sum(event["message"] == message for event in refused.values()) < len(plans):
            message = f"Case {case}{f' (and {more} more)' if more else ''}: {message}"
        raise kind(message, first["remedy"])
    checked = [event for event in of_plans if event["event"] == "checked"]
    if len(checked) < len(plans):
        raise CannotRun(
            f"The engine could not check the plans (exit status {done.returncode}).",
            done.stderr.decode(errors="replace").strip() or f"Start it by hand: {command[0]} --version",
        )
    return _need(checked, walled=any(map(is_walled, plans.values())), stops_early=stops_early)


def _need(checked: list[Event], *, walled: bool, stops_early: bool) -> Need:
    mount = checked[0]["node"]["mount"]
    return Need(
        written_bytes=sum(event["written_bytes"] for event in checked),
        at_once_bytes=max(event["file_set_bytes"] for event in checked),
        at_once_files=max(event["files"] for event in checked),
        free_bytes=min((event["free_bytes"] for event in checked if event["free_bytes"] is not None), default=None),
        file_system=mount["file_system"] if mount else None,
        walled=walled,
        stops_early=stops_early,
    )

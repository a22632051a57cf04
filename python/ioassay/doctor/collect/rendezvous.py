"""All nodes together: the engine surveys them."""

from __future__ import annotations

import secrets
import signal
import time
from pathlib import Path

from ioassay import engine
from ioassay.doctor.facts import Meeting, Problem
from ioassay.execution.follow import follow
from ioassay.execution.interruption import Interruption
from ioassay.execution.process import EngineProcess
from ioassay.execution.start import Start
from ioassay.results.events import EventTail, read_events
from ioassay.studies.target import Target

TARGET_S = 4
"""How long the target may take to answer a node: longer than any that is well, shorter than patience."""

LIMIT_S = 150
"""For all. The engine says itself after 90 s that its processes do not find each other."""

_CLEAN_S = 3


def meeting(
    start: Start,
    ranks_per_node: int,
    target: Target | None,
    scratch: Path,
    interruption: Interruption,
) -> Meeting:
    """Has the nodes of `start` meet and look at themselves and at `target`, a directory."""
    events, output = scratch / "events.jsonl", scratch / "survey"
    # Seen nowhere before, so that no node remembers it, and whoever sees it sees what was created just now.
    run = f"doctor-{secrets.token_hex(8)}"
    arguments = engine.survey_arguments(events, target.place if target else None, run, TARGET_S)
    if not start.stands_between:
        arguments += ["--ranks-per-node", str(ranks_per_node)]
    command = start.together(arguments, max(1, len(start.nodes)), ranks_per_node)
    deadline = time.monotonic() + LIMIT_S
    told = False
    with EngineProcess(command, output, environment=start.environment(), through=start.stands_between) as process:

        def stop_when_late() -> None:
            nonlocal told
            if not told and time.monotonic() > deadline:
                told = True
                process.stop(signal.SIGTERM)

        seen = follow(process, interruption, EventTail(events), on_look=stop_when_late)
    error = next((event for event in seen if event["event"] == "error"), None)
    survey = next((event for event in seen if event["event"] == "survey"), None)
    removed = next((event for event in seen if event["event"] == "removed"), None)
    look = survey["nodes"][0].get("target") if survey is not None else None
    left: list[str] = []
    if target is not None and removed is None:
        left = _clean(start, target.workspace(run), scratch, interruption)
    elif target is not None and removed is not None and (survey is None or (look and look["shared"])):
        # What the first node has not created is not there either.
        left = [entry["path"] for entry in removed["left"]]
    return Meeting(
        nodes=[node.name for node in start.nodes],
        ranks_per_node=ranks_per_node,
        target=target.place if target else None,
        workspace=target.workspace(run) if target else None,
        events=str(events),
        survey=survey,
        failure=Problem(error["message"], error["remedy"]) if error else None,
        printed=output.read_text(errors="replace"),
        left=left,
    )


def _clean(start: Start, workspace: str, scratch: Path, interruption: Interruption) -> list[str]:
    """Removes what an engine that ended without a word may have left. What may remain of it."""
    events = scratch / "clean.jsonl"
    command = start.alone(engine.clean_arguments(events, workspace))
    deadline = time.monotonic() + _CLEAN_S
    with EngineProcess(command, scratch / "clean", environment=start.environment(), through=True) as process:
        while not (process.wait(0.1) or interruption.count > 1):
            if time.monotonic() > deadline:
                process.kill()
    removed = [event for event in read_events(events) if event["event"] == "removed"]
    return [entry["path"] for entry in removed[0]["left"]] if removed else [workspace]

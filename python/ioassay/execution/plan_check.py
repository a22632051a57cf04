"""Asks the engine what a run needs, and whether it can run, before anything is written."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun, UsageError
from ioassay.execution.engine_process import LAUNCH_S, EngineProcess
from ioassay.execution.engine_start import Start
from ioassay.execution.interruption import Interruption
from ioassay.launchers import failure_messages
from ioassay.processes import engine
from ioassay.store.events import EventTail
from ioassay.studies.target import no_directory
from ioassay.text.units import format_about_bytes
from ioassay.yaml_models.source import Problem, SourceError

if TYPE_CHECKING:
    from ioassay.protocol.event import Event, EventChecked, EventError
    from ioassay.protocol.plan import Plan

_WRONG_PLAN = 2  # the engine's exit code

_OPEN_TARGET = "open target"
"""The engine's `operation` of an error about the target itself."""

_LOOK_EVERY_S = 0.05

_LINGER_S = 1.0
"""How long the engine may take to end after it has reported on all plans."""

_SILENT_S = 8.0
"""How long the engine may take per plan. It reports a target that does not respond before this."""


@dataclass(frozen=True)
class Need:
    """What a run will write, and the room on the target. Cases run one after another and remove their files."""

    written_bytes: int
    """Bytes written by all cases together, with one pass over the files of each phase."""
    at_once_bytes: int
    """The largest file set: the most bytes on the target at any time."""
    at_once_files: int
    free_bytes: int | None
    """Free bytes on the target; `None` if unknown, as for object stores."""
    file_system: str | None
    """Its type, for example `lustre`."""
    walled: bool = False
    """A stonewall may end a phase early, so that less is written."""
    again: bool = False
    """A phase with a minimum time may write its files more than once, so that more is written."""
    stops_early: bool = False
    """A stop rule may skip cases, so that less is written."""
    notes: Sequence[str] = ()
    """Implausible values of the file system, each with the check that was skipped because of it."""

    @property
    def text(self) -> str:
        """What is written, how much room the target has, and what is unknown."""
        return " ".join([self._sentence, *(f"{note[:1].upper()}{note[1:]}." for note in self.notes)])

    @property
    def _sentence(self) -> str:
        where = self.file_system or "the target"
        free = (
            "does not say how much is free"
            if self.free_bytes is None
            else f"has {format_about_bytes(self.free_bytes)} free"
        )
        written = format_about_bytes(self.written_bytes)
        at_once = f"at most {format_about_bytes(self.at_once_bytes)} at once"
        less = self.walled or self.stops_early
        if self.again:
            in_all = f"at most {written} in one pass" if less else f"at least {written}"
            again = "phases that last a set time write their files again until it has passed"
            return f"Writes {in_all}: {again}; {at_once}; {where} {free}."
        if self.walled:
            return f"Writes at most {written}, and less where stonewalls end a phase; {where} {free}."
        return f"Writes {'at most ' if less else ''}{written}, {at_once}; {where} {free}."


def check(
    plans: Mapping[str, Plan],
    start: Start,
    blame: Callable[[Sequence[tuple[str, EventError]]], Sequence[Problem]],
    *,
    stops_early: bool,
) -> Need:
    """Checks every plan on one node; of repetitions, only the last. `stops_early`: stop rules may skip some of them.

    `blame` finds what in the study is wrong if the engine refuses plans; it gets these by the names of their cases.
    Raises `UsageError` for a plan that no machine could run, `CannotRun` for one that this target cannot hold.
    """
    repetitions = _alike(plans)
    with TemporaryDirectory(prefix="ioassay-check-") as scratch:
        directory = Path(scratch)
        file = directory / "plans.jsonl"
        with file.open("w") as lines:
            lines.writelines(json.dumps(plans[cases[-1]]) + "\n" for cases in repetitions)
        events = directory / "events.jsonl"
        command = start.alone(engine.check_arguments(events, [file]))
        limits_s = [limit_ns / 1e9 for plan in plans.values() if (limit_ns := plan.get("time_limit_ns"))]
        silent_s = (LAUNCH_S if start.stands_between else 0) + max([_SILENT_S, *(limit + 3 for limit in limits_s)])
        with Interruption() as interruption:
            process = EngineProcess(command, directory / "stderr.txt", environment=start.environment())
            reported = _reports(process, EventTail(events), len(repetitions), silent_s, interruption)
        interruption.heed()
        printed = (directory / "stderr.txt").read_text(errors="replace")
    # The engine reports one event per plan, in order.
    of_plans = [event for event in reported if event["event"] in _OF_A_PLAN]
    of_cases = list(zip(repetitions, of_plans, strict=False))
    refused = {case: event for cases, event in of_cases if event["event"] == "error" for case in cases}
    if refused:
        if problems := blame([*refused.items()]):
            raise SourceError(problems)
        kind = UsageError if process.status == _WRONG_PLAN else CannotRun
        case, more = next(case for case in plans if case in refused), len(refused) - 1
        first = refused[case]
        if wrong_target := _wrong_target(first, start):
            raise wrong_target
        message = first["message"]
        # If all cases are refused for the same reason, it is the target.
        if sum(event["message"] == message for event in refused.values()) < len(plans):
            message = f"Case {case}{f' (and {more} more)' if more else ''}: {message}"
        raise kind(message, first["remedy"])
    checked = [(event, len(cases)) for cases, event in of_cases if event["event"] == "checked"]
    if len(checked) < len(repetitions):
        if process.killed:
            raise CannotRun(
                f"The engine has not responded for {silent_s:.0f} s while checking the plans.",
                "Check that the target's server and the nodes respond (`ioassay doctor`); read the kernel log (dmesg).",
            )
        if start.stands_between and (explanation := failure_messages.meaning(printed)):
            raise CannotRun(explanation.message, explanation.remedy)
        raise CannotRun(
            f"The engine could not check the plans (exit status {process.status}).",
            printed.strip() or f"Start it by hand: {command[0]} --version",
        )
    return replace(_need(checked), stops_early=stops_early)


def _wrong_target(error: EventError, start: Start) -> UsageError | None:
    """The common error for a target that is missing or not a directory."""
    if error["operation"] != _OPEN_TARGET:
        return None
    return no_directory(error.get("path") or "", error.get("errno"), start.nodes[0].name if start.nodes else "")


_OF_A_PLAN = ("checked", "error")


def _reports(
    process: EngineProcess, events: EventTail, plans: int, silent_s: float, interruption: Interruption
) -> list[Event]:
    """Events about `plans` plans. An engine that hangs in a call on its target is killed."""
    reported: list[Event] = []
    last_event_s, remaining = time.monotonic(), plans
    with process:
        has_ended = False
        while not has_ended:
            has_ended = process.wait(_LOOK_EVERY_S)
            if new := events.new():
                reported += new
                remaining -= sum(event["event"] in _OF_A_PLAN for event in new)
                last_event_s = time.monotonic()
            if remaining <= 0 and time.monotonic() > last_event_s + _LINGER_S:
                process.kill()
            if interruption.first or time.monotonic() > last_event_s + silent_s:
                process.kill()
    return reported


def _alike(plans: Mapping[str, Plan]) -> list[list[str]]:
    """Cases whose plans differ only in the name of the case and the seed: repetitions of one another."""
    cases_by_plan: dict[str, list[str]] = {}
    for case, plan in plans.items():
        cases_by_plan.setdefault(json.dumps({**plan, "case": "", "seed": 0}), []).append(case)
    return list(cases_by_plan.values())


def _need(checked_cases: list[tuple[EventChecked, int]]) -> Need:
    """`checked_cases`: the engine's event for each checked plan, with the number of its cases."""
    checked = [event for event, _ in checked_cases]
    node = checked[0].get("node")
    mount = node["mount"] if node else None
    return Need(
        written_bytes=sum(event["written_bytes"] * cases for event, cases in checked_cases),
        at_once_bytes=max(event["file_set_bytes"] for event in checked),
        at_once_files=max(event["files"] for event in checked),
        free_bytes=min((event["free_bytes"] for event in checked if event["free_bytes"] is not None), default=None),
        file_system=mount["file_system"] if mount else None,
        walled=any(event.get("may_write_less", False) for event in checked),
        again=any(event.get("may_write_again", False) for event in checked),
        notes=mount.get("notes", ()) if mount else (),
    )

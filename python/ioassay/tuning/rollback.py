"""Puts settings back as a journal says they were: those that are still ours, leaders before what follows them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ioassay.errors import CannotRun, IoassayError
from ioassay.execution.interruption import Interruption
from ioassay.tuning.journal import (
    Closed,
    Entry,
    Journal,
    LeftAlone,
    Record,
    Removed,
    Restored,
    Set,
    WillSet,
    boot_id,
    commands,
    now,
)
from ioassay.tuning.settings import ROOT, Definitions, Instance, Vanished, instance_named
from ioassay.tuning.settings.coupling import TUNED_PROFILE, belongs_to, order
from ioassay.tuning.system.tuned import is_in_use

Outcome = Literal["restored", "already back", "left alone", "failed", "removed"]


@dataclass(frozen=True)
class PutBack:
    """The outcome of putting back one setting, or one persistent file."""

    name: str
    outcome: Outcome
    before: str = ""
    value: str | None = None
    """The value that it had; `None` if it was gone."""
    why: str = ""


@dataclass
class _Case:
    """A setting on its way back."""

    entry: Entry
    instance: Instance | None
    value: str | None
    target: str | None
    """The value to restore; `None`: it is not touched."""
    left_alone: str = ""
    failed: str = ""
    is_untouched: bool = False
    """It was never changed here, only by something else."""


def roll_back(journal: Journal, root: Path = ROOT) -> list[PutBack]:
    """Puts back what is still ours and closes the journal, unless something failed.

    Signals have to wait meanwhile. Where the journal cannot be written, as on a full disk, settings are put back all
    the same, and the journal stays open.
    """
    with Interruption():
        cases = _cases(journal, root)
        names = {case.entry.name for case in cases}
        unwritten = _announce(journal, cases)
        for case in cases:
            _write_back(case, names)
        done: list[PutBack] = []
        for case in cases:
            _write_back(case, names)  # where putting back another one has changed it again
            result = _result(case)
            done.append(result)
            unwritten = _note_outcome(journal, result) or _written(journal, *_attempted(case, result)) or unwritten
        for path, written in [*journal.state.files.items()][::-1]:
            result = _remove(Path(path), written.sha256, written.directories, root)
            done.append(result)
            unwritten = _note_outcome(journal, result) or unwritten
        if not any(result.outcome == "failed" for result in done):
            try:
                journal.write(Closed(moment=now()))
            except CannotRun as error:
                unwritten = error.message
        if unwritten:
            done.append(PutBack(f"journal {journal.id}", "failed", why=f"{unwritten} It stays open"))
        return done


def exit_code(done: list[PutBack]) -> int:
    """3 where something failed, 1 where something was left alone, otherwise 0."""
    outcomes = {result.outcome for result in done}
    return 3 if "failed" in outcomes else int("left alone" in outcomes)


def _cases(journal: Journal, root: Path) -> list[_Case]:
    """Every open setting with what it shall have, in the order of putting back. Reads all before any is changed."""
    is_same_boot = journal.state.header.boot_id == boot_id(root)
    definitions = commands(journal.state.header)
    entries = journal.state.open_entries
    names = {entry.name for entry in entries}
    cases = [_case_of(entry, definitions, root, is_same_boot, names) for entry in reversed(entries)]
    by_name = {case.entry.name: case for case in cases}
    profile = by_name.get(TUNED_PROFILE)
    if profile is not None and profile.left_alone and any(is_in_use(Path(path), root) for path in journal.state.files):
        profile.left_alone, profile.failed = (
            "",
            f"TuneD's profile {profile.value} is built on this one: put that back first",
        )
    for case in cases:
        leader = by_name.get(case.entry.leader or "")
        if leader is None or case.failed:
            continue
        if leader.left_alone and case.entry.wanted is None and not case.left_alone and case.value != case.entry.before:
            case.left_alone, case.target = f"{leader.entry.name} is not ours any more, and it came with that", None
        elif leader.target is not None and case.left_alone and case.value is not None:
            case.target = case.value  # putting the leader back would change what something else has set
        if case.entry.is_untouched and case.left_alone:
            case.left_alone, case.is_untouched = "", True
    return sorted(cases, key=_place)


def _place(case: _Case) -> tuple[object, ...]:
    """Leaders first; but TuneD's profile last, because TuneD restores at its end what it finds when it applies one."""
    name = case.entry.name
    return name == TUNED_PROFILE, *order(name, case.target), case.entry.leader is not None


def _case_of(entry: Entry, definitions: Definitions, root: Path, is_same_boot: bool, names: Collection[str]) -> _Case:
    instance: Instance | None = None
    try:
        instance = instance_named(entry.name, definitions, root)
        current: str | None = instance.read()
        identity = instance.identity()
    except Vanished as error:
        if belongs_to(entry.name) in names:  # it may be back with the old value of that
            return _Case(entry, instance, None, entry.before)
        return _Case(entry, instance, None, None, left_alone=f"it is gone: {error.message}")
    except IoassayError as error:
        return _Case(entry, instance, None, None, failed=f"{error.message} {error.remedy}".strip())
    if entry.is_of_other(identity, is_same_boot=is_same_boot):
        return _Case(entry, instance, current, None, left_alone="another device has this name now")
    if current == entry.before or _is_ours(entry, current, is_same_boot):
        return _Case(entry, instance, current, entry.before)
    since = "the machine was rebooted since, " if not is_same_boot else ""
    applied = entry.ours if entry.was_set else entry.wanted
    return _Case(entry, instance, current, None, left_alone=f"{since}it has {current} instead of {applied}")


def _is_ours(entry: Entry, value: str | None, is_same_boot: bool) -> bool:
    ours = {entry.ours} if entry.was_set else set()
    if entry.is_pending:
        ours |= {entry.wanted, *entry.earlier}
    # A kill between a change and its line: it is unknown what the kernel made of the value, but it was us.
    return value in ours or (entry.is_pending and is_same_boot)


def _announce(journal: Journal, cases: list[_Case]) -> str:
    """Notes what is going to be put back: a kill in the middle leaves values that nobody else has made."""
    return _written(
        journal,
        *(
            WillSet(
                name=case.entry.name,
                before=case.entry.before,
                wanted=case.entry.before,
                order=case.entry.order,
                leader=case.entry.leader,
                identity=case.entry.identity,
                moment=now(),
            )
            for case in cases
            if case.target is not None and not case.left_alone and case.value != case.target
        ),
    )


def _write_back(case: _Case, names: Collection[str]) -> None:
    """Gives a setting what it shall have, unless it has it; notes what went wrong."""
    if case.instance is None or case.target is None:
        return
    case.failed = ""
    try:
        if case.instance.read() == case.target:
            return
        case.instance.write(case.target)
        current = case.instance.read()
        if current != case.target:
            case.failed = f"it reads {current} after {case.target} was written"
    except Vanished as error:
        case.target = None
        if belongs_to(case.entry.name) not in names:
            case.left_alone = f"it is gone: {error.message}"
    except IoassayError as error:
        case.failed = f"{error.message} {error.remedy}".strip()


def _result(case: _Case) -> PutBack:
    entry = case.entry
    if case.left_alone:
        why = f"{case.left_alone}; {case.failed}" if case.failed else case.left_alone
        return PutBack(entry.name, "left alone", entry.before, case.value, why)
    if case.failed:
        return PutBack(entry.name, "failed", entry.before, case.value, case.failed)
    if case.is_untouched:
        return PutBack(entry.name, "already back", entry.before, case.value, "it was not changed by this journal")
    return PutBack(entry.name, "already back" if case.value == entry.before else "restored", entry.before, case.value)


def _attempted(case: _Case, result: PutBack) -> Iterator[Record]:
    """The record of a failed attempt: its changes are ours, those that something else makes later are not."""
    if result.outcome == "failed" and case.instance is not None and case.target is not None:
        with contextlib.suppress(IoassayError):
            yield Set(name=case.entry.name, read_back=case.instance.read())


def _remove(path: Path, sha256: str, directories: list[str], root: Path) -> PutBack:
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            return PutBack(str(path), "left alone", why="it was changed since")
        if is_in_use(path, root):
            return PutBack(str(path), "failed", why="TuneD's active profile uses it")
        path.unlink()
    except FileNotFoundError:
        return PutBack(str(path), "already back")
    except OSError as error:
        return PutBack(str(path), "failed", why=f"{error.strerror}")
    for directory in reversed(directories):
        with contextlib.suppress(OSError):  # others may have put files there
            Path(directory).rmdir()
    return PutBack(str(path), "removed")


def _note_outcome(journal: Journal, result: PutBack) -> str:
    """Notes the outcome in the journal. Returns why it could not be noted; empty where it was."""
    is_file = result.name in journal.state.files
    record: Record
    match result.outcome:
        case "failed":
            return ""
        case "left alone":
            record = LeftAlone(name=result.name, value=result.value, why=result.why)
        case _:
            record = Removed(path=result.name) if is_file else Restored(name=result.name)
    return _written(journal, record)


def _written(journal: Journal, *records: Record) -> str:
    """Writes lines; why that failed, or nothing."""
    try:
        journal.write(*records)
    except CannotRun as error:
        return error.message
    return ""

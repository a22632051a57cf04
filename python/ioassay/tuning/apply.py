"""Changes settings under a journal, reads each back, and puts everything back where one is refused.

`apply` leaves them changed. `applied` is for experiments: it moves between values and puts back at the end, whatever
ends it; after a SIGKILL `ioassay tune rollback` does.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ioassay.errors import CannotRun, IoassayError
from ioassay.execution.interruption import Interruption
from ioassay.tuning.change_plan import ChangePlan, Follower, followers_of, plan_changes
from ioassay.tuning.journal import Checked, Failed, Journal, Record, Set, WillSet, default_place, now, stored
from ioassay.tuning.persistent import PersistentFile, write_file
from ioassay.tuning.rollback import PutBack, roll_back
from ioassay.tuning.settings import (
    ROOT,
    Assignment,
    CannotRead,
    CannotSet,
    Definitions,
    Instance,
    NotTaken,
    Vanished,
    instance_named,
)
from ioassay.tuning.settings.coupling import TUNED_PROFILE, belongs_to, excluded, order, tuned_options
from ioassay.tuning.verify import Drift, drifted

SETTLE_S = 60.0
"""By when udev and daemons have reacted to a change."""


class Drifted(CannotSet):
    """Something else changed a setting while it was ours."""

    def __init__(self, drift: Sequence[Drift]) -> None:
        first = drift[0]
        more = f" and {len(drift) - 1} more" if len(drift) > 1 else ""
        super().__init__(
            f"{first.name}{more}: {first.drift}.",
            "Stop what sets it (udev rules, tuned, irqbalance, cron), then start again.",
        )
        self.drift = drift


@dataclass(frozen=True)
class Change:
    """A setting that was changed."""

    name: str
    before: str
    wanted: str | None
    """`None`: it changed with another setting."""
    read_back: str | None

    @property
    def is_as_wanted(self) -> bool:
        """Whether the value is shown as it was asked for, not in another form."""
        return self.wanted is None or self.wanted == self.read_back


class Applied:
    """Settings that were changed under one journal."""

    def __init__(
        self, journal: Journal, definitions: Definitions, root: Path, interruption: Interruption | None = None
    ) -> None:
        self.journal = journal
        self.changes: dict[str, Change] = {}
        """The latest of each setting."""
        self.put_back: list[PutBack] = []
        """The outcome for each setting, once all were put back."""
        self._definitions, self._root = definitions, root
        self._interruption = interruption
        self._order = len(journal.state.entries)
        self._came_with: dict[str, dict[str, str | None]] = {}
        """The values of each leader's followers right after the leader was set."""

    def set(self, plan: ChangePlan) -> None:
        """Makes the changes in their order. Raises at the first that is refused, with nothing put back."""
        for step in plan.live:
            self._raise_if_interrupted()
            self._change(step.instance, step.wanted, step.followers)

    def check(self) -> list[Drift]:
        """The settings that something else has changed since they were set. Also written into the journal."""
        changed = drifted(self.journal.state, self._root)
        news = [drift for drift in changed if drift.name in self.journal.state.entries]
        self._note(
            *(
                Checked(name=drift.name, value=drift.now, moment=now())
                for drift in news
                if self.journal.state.entries[drift.name].seen != drift.now
            )
        )
        return changed

    def switch(self, assignments: Iterable[Assignment]) -> ChangePlan:
        """Moves to other values: what is not among `assignments` gets its previous value.

        Raises `Drifted` where something else changed a setting meanwhile, and what `plan_changes` raises; then nothing
        was changed. Raises `CannotSet` for a value that is refused; then all settings have their previous values.
        """
        self._raise_if_interrupted()
        if drift := self.check():
            raise Drifted(drift)
        plan = plan_changes(assignments, self._definitions, self._root)
        try:
            self._change_all(plan)
        except BaseException:
            with _with_signals_held_back(self._interruption):
                self._change_all(ChangePlan([], self._definitions, self._root))
            raise
        return plan

    def roll_back(self) -> list[PutBack]:
        """Puts everything back and closes the journal."""
        with _with_signals_held_back(self._interruption):
            self.put_back = roll_back(self.journal, self._root)
        return self.put_back

    def release_signals(self) -> None:
        """Signals end the process again, or raise `KeyboardInterrupt`."""
        self._interruption = None

    def close(self) -> None:
        """Keeps the settings as they are, and the journal open for `ioassay tune rollback`."""
        self.journal.close()

    def write_files(self, files: Iterable[PersistentFile]) -> None:
        """Writes persistent files, each announced before. Raises `CannotRun`."""
        for file in files:
            self._raise_if_interrupted()
            self.journal.write(file.record())
            write_file(file)

    def activate(self, profile: str) -> None:
        """Activates a profile of TuneD, and checks that every setting has its value afterwards. Raises `CannotRun`."""
        self._raise_if_interrupted()
        instance = self._instance(TUNED_PROFILE)
        known = self.journal.state.entries
        led = [follower for follower in followers_of(TUNED_PROFILE, self._root) if follower.instance.name not in known]
        self._change(instance, profile, led)
        if drift := [
            setting for setting in self.check() if setting.name in self.changes and setting.name != TUNED_PROFILE
        ]:
            # Activating the profile has changed them, so they are ours to put back.
            self._note(*(Set(name=setting.name, read_back=setting.now) for setting in drift))
            options = tuned_options(self._root)
            first = drift[0]
            option = options.get(first.name)
            cause = (
                f"{option.where} sets it" if option is not None and option.line.profile != profile else "TuneD set it"
            )
            raise CannotSet(
                f"{first.name}: asked {first.applied}, it is {first.now} once TuneD has applied its profile: {cause}.",
                "Change it there, or leave the setting to that.",
            )

    def _change_all(self, plan: ChangePlan) -> None:
        """Sets every setting that is ours or requested to the plan's value, else to its previous one; leaders first.

        The same plan has the same effect whatever was set before it: a leader is set to its previous value first.
        """
        requested = {step.name: step for step in plan.live}
        entries = {entry.name: entry for entry in self.journal.state.open_entries}
        led = {
            name
            for step in requested.values()
            if step.wanted != (entries[step.name].before if step.name in entries else step.now)
            for name in (
                *(follower.instance.name for follower in step.followers),
                *(entry.name for entry in entries.values() if entry.leader == step.name),
            )
        }
        targets = {name: step.wanted for name, step in requested.items()}
        for name, entry in entries.items():
            if name not in requested and name not in led and excluded(name) not in requested:
                targets[name] = entry.before
        for name in sorted(targets, key=lambda name: order(name, targets[name])):
            followers = requested[name].followers if name in requested else [*followers_of(name, self._root)]
            is_new = name not in self.changes or self.changes[name].wanted != targets[name]
            if followers and is_new and not excluded(name):
                self._reset(name, followers)
            try:
                self._change(self._instance(name), targets[name], followers)
            except Vanished:
                if name in requested or not belongs_to(name):
                    raise
            for follower, value in self._came_with.get(name, {}).items():
                if follower not in targets and value is not None and not excluded(follower):
                    self._change(self._instance(follower), value, ())

    def _reset(self, leader: str, followers: Sequence[Follower]) -> None:
        """Gives a leader and its followers their previous values."""
        entries = {entry.name: entry for entry in self.journal.state.open_entries}
        for name in (leader, *(follower.instance.name for follower in followers)):
            if name in entries:
                with contextlib.suppress(Vanished):
                    self._change(self._instance(name), entries[name].before, followers if name == leader else ())

    def _instance(self, name: str) -> Instance:
        return instance_named(name, self._definitions, self._root)

    def _change(self, instance: Instance, wanted: str, followers: Sequence[Follower]) -> None:
        """Announces, writes, reads back, notes. Raises `CannotRun`."""
        name, current = instance.name, instance.read()
        entries = self.journal.state.entries
        # What comes with a value of ours was not there before.
        is_ours = name in entries and not entries[name].is_done and entries[name].before != current
        known = self.changes.get(name)
        if instance.is_same(wanted, current) or (
            known is not None and known.wanted == wanted and known.read_back == current
        ):
            return
        with _with_signals_held_back(self._interruption):
            led = [follower.instance for follower in followers if not is_ours or follower.instance.name in entries]
            values = {of: value for of, value in _values(led).items() if value is not None}
            led = [follower for follower in led if follower.name in values]
            self.journal.write(
                self._announcement(instance, current, wanted),
                *(self._announcement(follower, values[follower.name], None, name) for follower in led),
            )
            try:
                instance.write(wanted)
                if not instance.is_taken(wanted, read_back := instance.read()):
                    raise NotTaken(name, wanted, current, read_back, instance.taken_by)
            except CannotRun as error:
                self._note_failure({name: current, **values}, _values([instance, *led]), error)
                raise
            after = _values(led)
            self.journal.write(
                Set(name=name, read_back=read_back), *(Set(name=of, read_back=value) for of, value in after.items())
            )
        self._record_change(name, wanted, read_back)
        self._came_with[name] = after
        for of, value in after.items():
            if value != values[of]:
                self._record_change(of, None, value)

    def _note_failure(self, before: Mapping[str, str], after: Mapping[str, str | None], error: CannotRun) -> None:
        """Notes the settings that a refused change has changed all the same: they are ours."""
        self._note(
            *(
                Failed(name=name, why=error.message) if value == before[name] else Set(name=name, read_back=value)
                for name, value in after.items()
            )
        )

    def _record_change(self, name: str, wanted: str | None, read_back: str | None) -> None:
        self.changes[name] = Change(name, self.journal.state.entries[name].before, wanted, read_back)

    def _announcement(
        self, instance: Instance, current: str | None, wanted: str | None, leader: str | None = None
    ) -> WillSet:
        known = self.journal.state.entries.get(instance.name)
        if known is not None and known.is_done:
            known = None
        self._order += 1
        return WillSet(
            name=instance.name,
            before=known.before if known else current or "",
            wanted=wanted,
            order=known.order if known else self._order,
            leader=leader or (known.leader if known else None),
            identity=known.identity if known else instance.identity(),
            moment=now(),
        )

    def _note(self, *records: Record) -> None:
        """Writes what a rollback does not depend on: a full disk is no reason to stop."""
        if records:
            try:
                self.journal.write(*records)
            except CannotRun:
                for record in records:
                    self.journal.state.add(record)

    def _raise_if_interrupted(self) -> None:
        if self._interruption is not None:
            self._interruption.heed()


def apply(
    plan: ChangePlan,
    place: Path | None = None,
    files: Sequence[PersistentFile] = (),
    *,
    command: Sequence[str] | None = None,
    journal_id: str | None = None,
    profile: str = "",
) -> Applied:
    """Makes the changes of a plan under a new journal, which may have an ID already, and writes persistent files.

    `profile`: of TuneD, among the files, to be activated.

    Raises `CannotRun` when one is refused, after putting all back, and also when a signal comes meanwhile.
    """
    with Interruption() as interruption:
        done = _create_journal(plan, place, command, interruption, journal_id)
        try:
            done.set(plan)
            done.write_files(files)
            if profile:
                done.activate(profile)
            interruption.heed()
        except BaseException as error:
            _put_back_after(done, error)
            raise
    done.release_signals()
    return done


@contextmanager
def applied(
    assignments: Iterable[Assignment] = (),
    place: Path | None = None,
    *,
    definitions: Definitions | None = None,
    root: Path = ROOT,
    command: Sequence[str] | None = None,
) -> Iterator[Applied]:
    """Settings for as long as the context lasts. At its end, at an exception or a signal all are put back.

    A signal raises `CannotRun` in the context. An `Interruption` that is entered within it takes the signals over, as
    while a run goes on; then the next `switch` raises. Raises `CannotRun` at the end where something was not put back;
    `put_back` of what is yielded has the settings that were left alone.
    """
    definitions = definitions or {}
    plan = plan_changes(assignments, definitions, root)
    with _RaisingInterruption() as interruption:
        done = _create_journal(plan, place, command, interruption)
        try:
            interruption.is_held_back = False
            done.set(plan)
            interruption.heed()
            yield done
            interruption.is_held_back = True
        except BaseException as error:
            interruption.is_held_back = True
            _put_back_after(done, error)
            raise
        results = done.roll_back()
        done.close()
    if failed := _failures(results):
        raise CannotRun(failed, f"Try again: ioassay tune rollback {done.journal.id}")


def settle(done: Applied, seconds: float = SETTLE_S, sleep: Callable[[float], None] = time.sleep) -> list[Drift]:
    """Waits, then reads everything again: what something else changed meanwhile."""
    sleep(seconds)
    return done.check()


class _RaisingInterruption(Interruption):
    """Signals as exceptions, but not while settings are written."""

    def __init__(self) -> None:
        super().__init__()
        self.is_held_back = True
        """Whether a signal is only counted; `heed` raises. It is assigned, because no signal comes in between."""

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """While this lasts signals are held back."""
        before, self.is_held_back = self.is_held_back, True
        try:
            yield
        finally:
            self.is_held_back = before

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count_signal(number)
        if not self.is_held_back:
            self.heed()


@contextmanager
def _with_signals_held_back(interruption: Interruption | None) -> Iterator[None]:
    if isinstance(interruption, _RaisingInterruption):
        with interruption.held_back():
            yield
    else:
        yield


def _create_journal(
    plan: ChangePlan,
    place: Path | None,
    command: Sequence[str] | None,
    interruption: Interruption,
    journal_id: str | None = None,
) -> Applied:
    words = list(command) if command is not None else ["ioassay", *sys.argv[1:]]
    journal = Journal.create(place or default_place(), words, stored(dict(plan.definitions)), plan.root, journal_id)
    return Applied(journal, plan.definitions, plan.root, interruption)


def _put_back_after(done: Applied, error: BaseException) -> None:
    """Puts everything back, and has the error say so."""
    results = done.roll_back()
    done.close()
    failed = _failures(results)
    if not isinstance(error, IoassayError):
        if failed:
            print(f"ioassay: {failed}\n  Try again: ioassay tune rollback {done.journal.id}", file=sys.stderr)
        return
    if isinstance(error, NotTaken) and not failed and error.is_changed:
        error.message = f"{error.message.rstrip('.')}: restored to {error.before}."
    left = [f"{result.name} was left alone: {result.why}." for result in results if result.outcome == "left alone"]
    outcome = (
        f"{failed} Try again: ioassay tune rollback {done.journal.id}" if failed else "All settings are as before."
    )
    error.remedy = " ".join(filter(None, (error.remedy, outcome, *left)))


def _values(instances: Iterable[Instance]) -> dict[str, str | None]:
    """The values; `None` if one is gone. Unreadable ones are left out: it is unknown whether they have changed."""
    values: dict[str, str | None] = {}
    for instance in instances:
        try:
            values[instance.name] = instance.read()
        except Vanished:
            values[instance.name] = None
        except CannotRead:
            continue
    return values


def _failures(results: Sequence[PutBack]) -> str:
    failed = [result for result in results if result.outcome == "failed"]
    return " ".join(f"{result.name} was not put back: {result.why.rstrip('.')}." for result in failed)

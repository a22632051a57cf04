"""The journal of changed settings: one file per apply, a line for each step, on the disk before the step is taken.

Whatever ends the process, the journal says what each setting was before and what it was set to. A line that was torn
by a kill or a power cut is the last one, and announces a step that was not taken yet.
Not here: reading and writing settings.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from ioassay.errors import CannotRun, UsageError
from ioassay.results.stored_types import Count, Moment, StoredModel
from ioassay.tuning.settings.command import Command
from ioassay.tuning.settings.files import first_line

VERSION = 1
PLACE_VARIABLE = "IOASSAY_TUNING_JOURNAL"
_SYSTEM_PLACE = Path("/var/lib/ioassay/tuning")
_SUFFIX = ".jsonl"
_LOCK = "lock"
_MACHINE_LOCK = "run/ioassay-tuning.lock"
_MOST_BYTES = 256 << 20
_MACHINE_SALT = b"ioassay tuning journal\0"

Text = Annotated[str, StringConstraints(max_length=1 << 16)]


class OtherMachine(UsageError):
    """A journal of another machine."""


class Headerless(UsageError):
    """A journal that was killed before its first line was whole."""


class _Record(StoredModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class StoredCommand(_Record):
    """A pair of commands of the user, so that they can be rolled back without its file."""

    get: Text
    set: Text
    timeout_s: float


class Header(_Record):
    """The first line: whose journal it is."""

    kind: Literal["tuning-journal"] = "tuning-journal"
    version: Literal[1] = 1
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,64}$")]
    host: Text
    machine: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    boot_id: Text
    started: Moment
    command: list[Text]
    definitions: dict[str, StoredCommand] = Field(default_factory=dict)


class WillSet(_Record):
    """A setting is about to be changed."""

    name: Text = Field(alias="will-set")
    before: Text
    """Its value before the first change of this journal."""
    wanted: Text | None
    """`None`: it is not asked for, but may change with its leader."""
    order: Count
    leader: Text | None = None
    identity: dict[str, Text] = Field(default_factory=dict)
    at: Moment


class Set(_Record):
    """A setting was changed. What was read back is ours."""

    name: Text = Field(alias="set")
    read_back: Text | None
    """`None`: it is gone, with its device or with its leader's old value."""


class Failed(_Record):
    """A setting did not take the value. What it has now is as it was before the attempt."""

    name: Text = Field(alias="failed")
    why: Text


class Checked(_Record):
    """A setting was read again, and has changed since it was read last."""

    name: Text = Field(alias="checked")
    value: Text | None
    at: Moment


class Restored(_Record):
    """A setting has its value of before."""

    name: Text = Field(alias="restored")


class LeftAlone(_Record):
    """A setting is not ours any more and keeps what it has."""

    name: Text = Field(alias="left-alone")
    found: Text | None
    why: Text


class WillWrite(_Record):
    """A file that makes settings persistent is about to be written."""

    path: Text = Field(alias="will-write")
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    directories: list[Text] = Field(default_factory=list)
    """Those that are made for it, the uppermost first."""


class Removed(_Record):
    """Such a file is removed."""

    path: Text = Field(alias="removed")


class Closed(_Record):
    """Nothing is left to put back."""

    at: Moment = Field(alias="closed")


Record = WillSet | Set | Failed | Checked | Restored | LeftAlone | WillWrite | Removed | Closed

_RECORDS: dict[str, type[Record]] = {
    str(kind.model_fields[first].alias): kind
    for kind, first in (
        (WillSet, "name"),
        (Set, "name"),
        (Failed, "name"),
        (Checked, "name"),
        (Restored, "name"),
        (LeftAlone, "name"),
        (WillWrite, "path"),
        (Removed, "path"),
        (Closed, "at"),
    )
}


@dataclass
class Entry:
    """What the journal says of one setting."""

    name: str
    before: str
    order: int
    wanted: str | None
    leader: str | None
    identity: dict[str, str]
    since: str
    ours: str | None = None
    """What was read back last."""
    earlier: set[str | None] = field(default_factory=set)
    """What was ours before a change that has been announced and not confirmed."""
    is_pending: bool = False
    """A change is announced, and it is unknown whether it happened."""
    was_set: bool = False
    is_done: bool = False
    """Put back or given up: nothing of it is ours."""
    seen: str | None = None
    """What a check found last."""

    def is_of_other(self, identity: Mapping[str, str], *, is_same_boot: bool = True) -> bool:
        """Whether something else has this name now. The kernel counts its disks anew at each boot."""
        return any(
            identity.get(key, was) != was for key, was in self.identity.items() if key != "diskseq" or is_same_boot
        )

    @property
    def is_untouched(self) -> bool:
        """Whether it might have changed with its leader, and has not."""
        return self.wanted is None and self.was_set and not self.is_pending and self.ours == self.before


@dataclass
class State:
    """What a journal says, added up."""

    header: Header
    entries: dict[str, Entry] = field(default_factory=dict)
    files: dict[str, WillWrite] = field(default_factory=dict)
    is_closed: bool = False

    @property
    def open_entries(self) -> list[Entry]:
        """The settings that are still to be put back, in the order in which they were first set."""
        return sorted((entry for entry in self.entries.values() if not entry.is_done), key=lambda entry: entry.order)

    def add(self, record: Record) -> None:
        """Takes a step into account. Raises `ValueError` for one that cannot follow."""
        match record:
            case WillSet():
                self._will_set(record)
            case Set(name=name, read_back=value):
                entry = self._entry(name)
                entry.ours = entry.seen = value
                entry.was_set, entry.is_pending, entry.earlier = True, False, set()
            case Failed(name=name):
                entry = self._entry(name)
                entry.is_pending, entry.earlier = False, set()
                entry.is_done = not entry.was_set
            case Checked(name=name, value=value):
                self._entry(name).seen = value
            case LeftAlone(name=name) if name in self.files:
                self.files.pop(name)
            case Restored(name=name) | LeftAlone(name=name):
                self._entry(name).is_done = True
            case WillWrite(path=path):
                self.files[path] = record
            case Removed(path=path):
                self.files.pop(path, None)
            case Closed():
                self.is_closed = True

    def _will_set(self, record: WillSet) -> None:
        known = self.entries.get(record.name)
        if known is None or known.is_done:
            self.entries[record.name] = known = Entry(
                record.name, record.before, record.order, record.wanted, record.leader, record.identity, record.at
            )
        known.wanted, known.leader, known.since = record.wanted, record.leader, record.at
        if known.was_set:
            known.earlier |= {known.ours}
        known.is_pending = True

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            raise ValueError(f"{name} was never announced")
        return self.entries[name]


class Journal:
    """A journal that is open for writing. Holds the lock of its directory and of the machine."""

    def __init__(self, path: Path, state: State, file: int, lock: Lock) -> None:
        self.path, self.state = path, state
        self._file, self._lock = file, lock

    @property
    def id(self) -> str:
        """What the user calls it by."""
        return self.state.header.id

    @classmethod
    def create(
        cls,
        place: Path,
        command: Iterable[str],
        definitions: dict[str, StoredCommand] | None = None,
        root: Path = Path("/"),
        journal_id: str | None = None,
    ) -> Journal:
        """Begins a journal in the directory `place`. Raises `CannotRun`, `UsageError` while another one is written."""
        header = Header(
            id=journal_id or new_id(),
            host=socket.gethostname(),
            machine=machine(root),
            boot_id=boot_id(root),
            started=datetime.now(UTC).isoformat(timespec="microseconds"),
            command=list(command),
            definitions=definitions or {},
        )
        path = place / f"{header.id}{_SUFFIX}"
        try:
            _make_durably(place)
        except OSError as error:
            raise _unwritable(path, error) from None
        lock = Lock.acquire(place, root)
        try:
            file = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            lock.release()
            raise _unwritable(path, error) from None
        journal = cls(path, State(header), file, lock)
        try:
            journal._append(header)
            _sync_directory(place)
        except BaseException as error:
            journal.close()
            with contextlib.suppress(OSError):
                path.unlink()
            if isinstance(error, OSError):
                raise _unwritable(path, error) from None
            raise
        return journal

    @classmethod
    def reopen(cls, path: Path, root: Path = Path("/"), host: str | None = None) -> Journal:
        """A journal to go on with. `host` is what this machine was called then, if it was renamed.

        Raises `UsageError` for one of another machine, one that is damaged, and one that is being written.
        """
        lock = Lock.acquire(path.parent, root)
        try:
            state, whole_bytes = read(path)
            refuse_other_machine(state.header, path, root, host)
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            lock.release()
            raise _unwritable(path, error) from None
        except BaseException:
            lock.release()
            raise
        journal = cls(path, state, file, lock)
        with contextlib.suppress(OSError):  # what follows would be one line with the torn one
            os.ftruncate(file, whole_bytes)
        return journal

    def write(self, *records: Record) -> None:
        """Appends lines and returns when they are on the disk. Raises `CannotRun`."""
        if not records:
            return
        try:
            self._append(*records)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        for record in records:
            self.state.add(record)

    def close(self) -> None:
        """Gives up the file and the lock; what is open stays open."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _append(self, *records: Header | Record) -> None:
        data = "".join(f"{record.model_dump_json()}\n" for record in records).encode()
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise


class Lock:
    """One process at a time changes settings of a machine, and writes into a directory of journals."""

    def __init__(self, descriptors: list[int]) -> None:
        self._descriptors = descriptors

    @classmethod
    def acquire(cls, place: Path, root: Path = Path("/")) -> Lock:
        """Takes both locks. Raises `UsageError` while another process has one, `CannotRun` where they cannot be had."""
        lock = cls([])
        try:
            for path in (place / _LOCK, root / _MACHINE_LOCK):
                lock._take(path, is_needed=path.parent == place)
        except BaseException:
            lock.release()
            raise
        return lock

    def release(self) -> None:
        """Gives the locks up."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _take(self, path: Path, *, is_needed: bool) -> None:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if is_needed:
                raise _unwritable(path, error) from None
            return  # without root nothing of the machine is changed, and /run may be read-only
        self._descriptors.append(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(file, 200, 0).decode(errors="replace").strip()
            raise UsageError(
                f"Process {pid or 'unknown'} is changing settings of this machine ({path}).",
                "Wait until it has ended.",
            ) from None
        except OSError as error:
            raise CannotRun(
                f"The file system of {path} does not support file locks ({error.strerror}).",
                "Use a local directory: --journal DIR.",
            ) from None
        with contextlib.suppress(OSError):  # for people only
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)


def new_id() -> str:
    """An ID that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def default_place() -> Path:
    """`$IOASSAY_TUNING_JOURNAL`, else for root /var/lib/ioassay/tuning, for others their state directory."""
    if named := os.environ.get(PLACE_VARIABLE):
        return Path(named)
    if os.geteuid() == 0:
        return _SYSTEM_PLACE
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local/state") / "ioassay/tuning"


def machine(root: Path = Path("/")) -> str:
    """What tells this machine from others, without telling its machine-id."""
    found = first_line(root / "etc/machine-id") or first_line(root / "var/lib/dbus/machine-id") or socket.gethostname()
    return hashlib.sha256(_MACHINE_SALT + found.encode()).hexdigest()


def boot_id(root: Path = Path("/")) -> str:
    """What tells this boot from others."""
    return first_line(root / "proc/sys/kernel/random/boot_id")


def now() -> str:
    """The time of a record."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read(path: Path) -> tuple[State, int]:
    """What a journal says, and how many bytes of it are whole lines. Raises `UsageError` for a damaged one."""
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Run as the user who applied the settings."
        ) from None
    if about.st_uid not in (0, os.geteuid()) or about.st_mode & 0o022:
        raise UsageError(
            f"{path} belongs to user {about.st_uid} or can be changed by others: it may say anything.",
            "Check it, then make it yours: chown and chmod 600.",
        )
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} is too long for a journal.", "Name a journal of `ioassay tune apply`.")
    whole = data[: data.rfind(b"\n") + 1]  # what follows was torn by a kill: the step was not taken
    lines = whole.split(b"\n")[:-1]
    if not lines:
        raise Headerless(
            f"{path}: no header: it is empty or torn.", "No setting was changed under it; remove the file."
        )
    state: State | None = None
    for number, line in enumerate(lines, 1):
        try:
            record = _parsed(line, is_first=number == 1)
            if isinstance(record, Header):
                state = State(record)
            elif state is not None:
                if state.is_closed:
                    raise ValueError("follows the line that closes the journal")
                state.add(record)
        except ValueError as error:
            raise _damaged(path, number, _why(error)) from None
    assert state is not None
    return state, len(whole)


def refuse_other_machine(header: Header, path: Path, root: Path = Path("/"), host: str | None = None) -> None:
    """Raises `OtherMachine`. Images give many nodes one machine-id: the name counts too."""
    if header.machine != machine(root):
        raise OtherMachine(f"{path} was written on another machine, {header.host}.", f"Roll it back on {header.host}.")
    if header.host not in (socket.gethostname(), host):
        raise OtherMachine(
            f"{path} was written on {header.host}, and this is {socket.gethostname()}.",
            f"Roll it back on {header.host}; if this machine was renamed since, add --host {header.host}.",
        )


def journals(place: Path) -> Iterator[Path]:
    """All journals in a directory, the newest first."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        yield from sorted(place.glob(f"*{_SUFFIX}"), key=lambda path: path.name, reverse=True)


@dataclass(frozen=True)
class OpenJournals:
    """The journals of a directory under which something is still to be put back."""

    states: dict[Path, State]
    """The newest first."""
    of_other_machines: list[Path]
    damaged: list[UsageError]


def open_journals(place: Path, root: Path = Path("/")) -> OpenJournals:
    """All open journals in a directory."""
    found = OpenJournals({}, [], [])
    for path in journals(place):
        try:
            state, _ = read(path)
            if not state.is_closed:
                refuse_other_machine(state.header, path, root)
                found.states[path] = state
        except Headerless:
            continue
        except OtherMachine:
            found.of_other_machines.append(path)
        except UsageError as error:
            found.damaged.append(error)
    newest_first = sorted(found.states.items(), key=lambda item: item[1].header.started, reverse=True)
    return OpenJournals(dict(newest_first), found.of_other_machines, found.damaged)


def find(place: Path, name: str) -> Path:
    """The journal with that ID. Raises `UsageError`."""
    known = {path.stem: path for path in journals(place)}
    if name not in known:
        shown = ", ".join(list(known)[:5]) or "none"
        raise UsageError(f"{place} has no journal {name}.", f"The newest there: {shown}.")
    return known[name]


def stored(definitions: dict[str, Command]) -> dict[str, StoredCommand]:
    """The user's commands as they stand in a header."""
    return {name: StoredCommand(get=one.get, set=one.set, timeout_s=one.timeout) for name, one in definitions.items()}


def commands(header: Header) -> dict[str, Command]:
    """The user's commands that stand in a header."""
    return {
        name: Command.model_construct(get=one.get, set=one.set, timeout=one.timeout_s)
        for name, one in header.definitions.items()
    }


def _parsed(line: bytes, *, is_first: bool) -> Header | Record:
    document = json.loads(line)
    if not isinstance(document, dict) or not document:
        raise ValueError("not a record")
    if is_first:
        if document.get("kind") != "tuning-journal":
            raise ValueError("not the header of a tuning journal")
        if document.get("version") != VERSION:
            raise ValueError(f"version {document.get('version')} of the journal; this is ioassay for version {VERSION}")
        return Header.model_validate_json(line)
    kind = _RECORDS.get(next(iter(document)))
    if kind is None:
        raise ValueError("an unknown record")
    return kind.model_validate_json(line)


def _why(error: ValueError) -> str:
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        case json.JSONDecodeError() | UnicodeDecodeError():
            return "not JSON"
    return str(error)


def _damaged(path: Path, number: int, why: str) -> UsageError:
    return UsageError(
        f"{path}:{number}: {why}.",
        "The journal is damaged, so nothing was changed. Its `will-set` lines have the values of before.",
    )


def _unwritable(path: Path, error: OSError) -> CannotRun:
    return CannotRun(
        f"The journal {path} cannot be written: {error.strerror or error}.",
        "Settings are changed only with a journal. Free space there, or use another directory: --journal DIR.",
    )


def _make_durably(directory: Path) -> None:
    made = [above for above in (directory, *directory.parents) if not above.exists()]
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for one in made:
        _sync_directory(one.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

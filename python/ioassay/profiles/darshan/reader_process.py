"""A process that reads Darshan logs for `library`, because the C library may crash on a damaged one.

It gets paths as a JSON list on standard input, and forks for each: PyDarshan is loaded once, and a crash ends the
reading of one log. On standard output come parts as `process_messages`: a line with a JSON document, which says what
the arrays are whose bytes follow it. What came before a crash is kept. Run as a module, never imported: its imports
are PyDarshan's.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import stat
import sys
from array import array
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from ioassay.processes.messages import receive, send

_COUNTED = ("POSIX", "STDIO", "MPI-IO")
_TRACED = ("DXT_POSIX", "DXT_MPIIO")

_MOST_CPU_S = 600
"""For one log. A damaged one may keep the library busy for ever."""
_MOST_MEMORY_BYTES = 32 << 30
_EXE_BYTES = 1 << 16
_MOST_MESSAGE_BYTES = 4096


def main() -> None:
    """Reads the logs that standard input names."""
    paths = json.load(sys.stdin)
    backend = _backend()
    for path in paths:
        _read_apart(backend, path)


def _backend() -> Any:
    """PyDarshan's access to its C library, without pandas and numpy where that can be: loading them takes 0.3 s and
    nothing here uses them.
    """
    name = "darshan.backend.cffi_backend"
    for unused in ("pandas", "numpy"):
        sys.modules[unused] = _Annotations(unused)
    try:
        return importlib.import_module(name)
    except Exception:  # a version of PyDarshan that uses them while it is imported
        for loaded in [one for one in sys.modules if one.partition(".")[0] in ("pandas", "numpy", "darshan")]:
            del sys.modules[loaded]
        return importlib.import_module(name)


class _Annotations(ModuleType):
    """A module whose types are named in annotations alone."""

    def __getattr__(self, name: str) -> Any:
        return Any


def _read_apart(backend: Any, path: str) -> None:
    """Reads a log in a child, passes its parts on, and says how it ended."""
    messages = os.memfd_create("messages", os.MFD_CLOEXEC)
    parts, their_parts = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(messages, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.close(parts)
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (_MOST_CPU_S, _MOST_CPU_S))
            resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
            with open(their_parts, "wb", closefd=False) as out:
                _Reading(backend, out).read(path)
            status = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)
    os.close(their_parts)
    with open(parts, "rb") as whole_parts:  # a crash may cut the last
        while (part := receive(whole_parts)) is not None:
            send(sys.stdout.buffer, part)
    _, status = os.waitpid(child, 0)
    said = os.pread(messages, _MOST_MESSAGE_BYTES, 0).decode(errors="replace")
    os.close(messages)
    _write(sys.stdout.buffer, {"part": "end", "status": os.waitstatus_to_exitcode(status), "messages": said}, {})


_UNSIGNED, _INTEGER, _REAL = "<u8", "<i8", "<f8"
_SEGMENT = [("offset", _INTEGER), ("length", _INTEGER), ("start", _REAL), ("end", _REAL)]
_ELEMENTS = {_UNSIGNED: "Q", _INTEGER: "q", _REAL: "d"}


class _Array(NamedTuple):
    """Numbers as numpy takes them: what each of them is, the shape, and the bytes."""

    kind: str | list[tuple[str, str]]
    shape: list[int]
    content: bytes

    @classmethod
    def of(cls, kind: str, numbers: Iterable[float]) -> _Array:
        """Those numbers in a row."""
        content = array(_ELEMENTS[kind], numbers).tobytes()
        return cls(kind, [len(content) // 8], content)

    @classmethod
    def table(cls, kind: str, rows: Iterable[bytes]) -> _Array:
        """Rows of the same length below each other."""
        every = list(rows)
        return cls(kind, [len(every), len(every[0]) // 8], b"".join(every))


def _write(out: Any, part: dict[str, object], arrays: Mapping[str, _Array]) -> None:
    said = part | {"arrays": [(name, one.kind, one.shape, len(one.content)) for name, one in arrays.items()]}
    send(out, json.dumps(said).encode() + b"\n" + b"".join(one.content for one in arrays.values()))


class _Reading:
    """One log."""

    def __init__(self, backend: Any, out: Any) -> None:
        self._backend = backend
        self._ffi = backend.ffi
        self._library = backend.libdutil
        self._out = out
        self._handle: Any = None

    def read(self, path: str) -> None:
        """Writes all its parts. The order is that of what a reader needs first."""
        # Opened once, and only where it is a file: the library would wait at a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a regular file")
        self._handle = self._library.darshan_log_open(f"/proc/self/fd/{descriptor}".encode())
        if self._handle == self._ffi.NULL:
            return
        self._job()
        modules = self._modules()
        self._names()
        for name, number in modules:
            if name in (*_COUNTED, *_TRACED, "HEATMAP", "LUSTRE"):
                self._module(name, number)

    def _text(self, pointer: Any, most: int = -1) -> str:
        text: bytes = self._ffi.string(pointer, most)
        return text.decode(errors="replace")

    def _job(self) -> None:
        job = self._ffi.new("struct darshan_job *")
        if self._library.darshan_log_get_job(self._handle, job) < 0:
            return
        run_s = self._ffi.new("double *")
        self._library.darshan_log_get_job_runtime(self._handle, job[0], run_s)
        command = self._ffi.new("char[]", _EXE_BYTES)
        has_command = self._library.darshan_log_get_exe(self._handle, command) >= 0
        fields = ("uid", "start_time_sec", "start_time_nsec", "end_time_sec", "nprocs", "jobid")
        self._part(
            {
                "part": "job",
                "run_s": run_s[0],
                "command": self._text(command) if has_command else "",
                **{name: getattr(job, name) for name in fields},
            }
        )

    def _modules(self) -> list[tuple[str, int]]:
        found, count = self._ffi.new("struct darshan_mod_info **"), self._ffi.new("int *")
        self._library.darshan_log_get_modules(self._handle, found, count)
        modules = [found[0][at] for at in range(count[0])]
        names = [self._text(one.name) for one in modules]
        self._part(
            {
                "part": "modules",
                "names": names,
                "bytes": [one.len for one in modules],
                "partial": [bool(one.partial_flag) for one in modules],
            }
        )
        return [(name, one.idx) for name, one in zip(names, modules, strict=True)]

    def _names(self) -> None:
        found, count = self._ffi.new("struct darshan_name_record **"), self._ffi.new("int *")
        self._library.darshan_log_get_name_records(self._handle, found, count)
        records = [found[0][at] for at in range(count[0])]
        ids = _Array.of(_UNSIGNED, [one.id for one in records])
        self._part({"part": "names", "names": [self._text(one.name) for one in records]}, {"ids": ids})

    def _module(self, name: str, number: int) -> None:
        """Writes the records of a module that can be read, and whether an error ended them."""
        take = {"HEATMAP": self._heat, "LUSTRE": self._stripes, **dict.fromkeys(_TRACED, self._trace)}.get(
            name, self._counters
        )
        kind = self._backend._structdefs[name].replace("**", "*")
        rows: list[tuple[Any, ...]] = []
        buffer = self._ffi.new("void **")
        while (more := self._library.darshan_log_get_record(self._handle, number, buffer)) > 0:
            record = self._ffi.cast(kind, buffer[0])
            rows.append((record.base_rec.id, record.base_rec.rank, *take(record, buffer[0])))
            self._library.darshan_free(buffer[0])
            buffer[0] = self._ffi.NULL
        columns = [*zip(*rows, strict=True)] if rows else []
        arrays: dict[str, _Array] = {}
        document: dict[str, object] = {"part": "module", "name": name, "has_failed": more < 0}
        if columns:
            arrays = {"ids": _Array.of(_UNSIGNED, columns[0]), "ranks": _Array.of(_INTEGER, columns[1])}
            document |= self._arrays(name, columns[2:], arrays)
        self._part(document, arrays)

    def _arrays(self, name: str, columns: list[Any], arrays: dict[str, _Array]) -> dict[str, object]:
        if name in _COUNTED:
            arrays |= {"counters": _Array.table(_INTEGER, columns[0]), "times": _Array.table(_REAL, columns[1])}
            return {
                "counters": self._backend.counter_names(name),
                "times": self._backend.fcounter_names(name),
            }
        if name in _TRACED:
            nodes, writes, reads, segments = columns
            arrays |= {"writes": _Array.of(_INTEGER, writes), "reads": _Array.of(_INTEGER, reads)}
            arrays["segments"] = _Array(_SEGMENT, [sum(writes) + sum(reads)], b"".join(segments))
            return {"nodes": nodes}
        if name == "HEATMAP":
            steps, counts, read, written = columns
            arrays |= {"steps": _Array.of(_REAL, steps), "counts": _Array.of(_INTEGER, counts)}
            for way, bins in (("read", read), ("written", written)):
                arrays[way] = _Array(_INTEGER, [sum(counts)], b"".join(bins))
            return {}
        arrays["stripe_bytes"] = _Array.of(_INTEGER, columns[0])
        return {}

    def _counters(self, record: Any, _: Any) -> tuple[Any, ...]:
        return self._copied(record.counters), self._copied(record.fcounters)

    def _trace(self, record: Any, start: Any) -> tuple[Any, ...]:
        count = record.write_count + record.read_count
        segments = self._ffi.cast("char *", start) + self._ffi.sizeof("struct dxt_file_record")
        length = count * self._ffi.sizeof("struct segment_info")
        every = self._copied(self._ffi.buffer(segments, length))
        return self._text(record.hostname, 64), record.write_count, record.read_count, every

    def _heat(self, record: Any, _: Any) -> tuple[Any, ...]:
        bins = [self._copied(self._ffi.buffer(one, 8 * record.nbins)) for one in (record.read_bins, record.write_bins)]
        return record.bin_width_seconds, record.nbins, *bins

    def _stripes(self, record: Any, _: Any) -> tuple[Any, ...]:
        names = self._backend.counter_names("LUSTRE_COMP")
        at = names.index("LUSTRE_COMP_STRIPE_SIZE")
        return (record.comps[0].counters[at] if record.num_comps > 0 else 0,)

    def _copied(self, values: Any) -> bytes:
        buffer = values if isinstance(values, self._ffi.buffer) else self._ffi.buffer(values)
        return bytes(buffer)

    def _part(self, document: dict[str, object], arrays: Mapping[str, _Array] | None = None) -> None:
        _write(self._out, document, arrays or {})


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()

"""A process that reads Darshan logs for `library`, because the C library may crash on a damaged one.

It gets paths as a JSON list on standard input, and forks for each: the library is loaded once, and a crash ends the
reading of one log. On standard output come parts as `process_messages`: a line with a JSON document, which says what
the arrays are whose bytes follow it. What came before a crash is kept. Run as a module, never imported.

Of PyDarshan it takes the C library and the declarations of its structures, which `ctypes` needs: to import PyDarshan
itself takes several times as long as to read a small log.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import re
import resource
import signal
import stat
import sys
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from ioassay.processes.messages import receive, send

_COUNTED = ("POSIX", "STDIO", "MPI-IO")
_TRACED = ("DXT_POSIX", "DXT_MPIIO")

_MOST_CPU_S = 600
"""For one log. A damaged one may keep the library busy for ever."""
_MOST_MEMORY_BYTES = 32 << 30
_EXE_BYTES = 1 << 16
_MOST_MESSAGE_BYTES = 4096


_RECORDS = {
    "POSIX": "darshan_posix_file",
    "STDIO": "darshan_stdio_file",
    "MPI-IO": "darshan_mpiio_file",
    "DXT_POSIX": "dxt_file_record",
    "DXT_MPIIO": "dxt_file_record",
    "HEATMAP": "darshan_heatmap_record",
    "LUSTRE": "darshan_lustre_record",
}
"""The structure of each module's records."""

_TYPES: Mapping[str, Any] = {
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "darshan_record_id": ctypes.c_uint64,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "char": ctypes.c_char,
}

_STRUCT = re.compile(r"struct (\w+)\s*\{(.*?)\}", re.DOTALL)
_FIELD = re.compile(r"(?:struct |unsigned )?(\w+)\s+(\*?)(\w+)(?:\[(\d+)\])?;")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def main() -> None:
    """Reads the logs that standard input names."""
    paths = json.load(sys.stdin)
    util = DarshanUtil()
    for path in paths:
        _read_apart(util, path)


class DarshanUtil:
    """The C library of the PyDarshan that is installed, and its structures."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("darshan")
        if spec is None or spec.origin is None:
            raise ImportError("PyDarshan is not installed")
        package = Path(spec.origin).parent
        self.structs = _structs(_loaded(package / "backend" / "api_def_c.py").load_darshan_header())
        self.library = _library(package)
        for name in ("darshan_log_open", "darshan_log_get_lib_version"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self._check_version(package)

    def _check_version(self, package: Path) -> None:
        """Raises `RuntimeError` where the structures may be those of another version."""
        named = re.search(r"__darshanutil_version__ = .([\d.]+)", (package / "__init__.py").read_text())
        version = ctypes.string_at(self.library.darshan_log_get_lib_version()).decode()
        if named is None or named[1].split(".")[:3] != version.split(".")[:3]:
            raise RuntimeError(f"it needs libdarshan-util {named and named[1]}, and finds {version}")

    def counter_names(self, kind: str, struct: str, field: str) -> list[str]:
        """The names of the counters in a field of a structure, such as `posix_f` in `fcounters`."""
        names = ctypes.c_char_p * len(getattr(self.structs[struct](), field))
        return [(name or b"").decode() for name in names.in_dll(self.library, f"{kind}_counter_names")]


def _structs(header: str) -> dict[str, type[ctypes.Structure]]:
    """The structures that a C header declares."""
    structures: dict[str, type[ctypes.Structure]] = {}
    for name, body in _STRUCT.findall(_COMMENT.sub("", header)):
        fields: list[tuple[str, Any]] = []
        for kind, star, field, count in _FIELD.findall(body):
            ctype = ctypes.c_void_p if star else structures.get(kind) or _TYPES[kind]
            fields.append((field, ctype * int(count) if count else ctype))
        structures[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return structures


def _library(package: Path) -> Any:
    """The one in PyDarshan's wheel, or what PyDarshan itself finds."""
    for path in sorted((package.parent / "darshan.libs").glob("libdarshan-util*.so*")):
        return ctypes.CDLL(str(path))
    return _loaded(package / "discover_darshan.py").find_utils(SimpleNamespace(dlopen=ctypes.CDLL), None)


def _loaded(path: Path) -> ModuleType:
    """A module of a package without the package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _read_apart(util: DarshanUtil, path: str) -> None:
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
                _Reading(util, out).read(path)
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
    output = os.pread(messages, _MOST_MESSAGE_BYTES, 0).decode(errors="replace")
    os.close(messages)
    _write(sys.stdout.buffer, {"part": "end", "status": os.waitstatus_to_exitcode(status), "messages": output}, {})


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
    header = part | {"arrays": [(name, array.kind, array.shape, len(array.content)) for name, array in arrays.items()]}
    send(out, json.dumps(header).encode() + b"\n" + b"".join(array.content for array in arrays.values()))


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


class _Reading:
    """One log."""

    def __init__(self, util: DarshanUtil, out: Any) -> None:
        self._util = util
        self._library = util.library
        self._out = out
        self._handle = ctypes.c_void_p()

    def read(self, path: str) -> None:
        """Writes all its parts. The order is that of what a reader needs first."""
        # Opened once, and only where it is a file: the library would wait at a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a regular file")
        self._handle = ctypes.c_void_p(self._library.darshan_log_open(f"/proc/self/fd/{descriptor}".encode()))
        if not self._handle:
            return
        self._job()
        modules = self._modules()
        self._names()
        for name, number in modules:
            if name in _RECORDS:
                self._module(name, number)

    def _job(self) -> None:
        job = self._util.structs["darshan_job"]()
        if self._library.darshan_log_get_job(self._handle, ctypes.byref(job)) < 0:
            return
        run_s = ctypes.c_double()
        self._library.darshan_log_get_job_runtime(self._handle, job, ctypes.byref(run_s))
        command = ctypes.create_string_buffer(_EXE_BYTES)
        has_command = self._library.darshan_log_get_exe(self._handle, command) >= 0
        fields = ("uid", "start_time_sec", "start_time_nsec", "end_time_sec", "nprocs", "jobid")
        self._part(
            {
                "part": "job",
                "run_s": run_s.value,
                "command": _text(command.value) if has_command else "",
                **{name: getattr(job, name) for name in fields},
            }
        )

    def _listed(self, function: str, struct: str) -> Any:
        """What a function of the library finds: so many of a structure."""
        first, count = ctypes.c_void_p(), ctypes.c_int()
        getattr(self._library, function)(self._handle, ctypes.byref(first), ctypes.byref(count))
        if first.value is None:
            return ()
        return (self._util.structs[struct] * count.value).from_address(first.value)

    def _modules(self) -> list[tuple[str, int]]:
        modules = self._listed("darshan_log_get_modules", "darshan_mod_info")
        names = [_text(ctypes.string_at(module.name)) for module in modules]
        self._part(
            {
                "part": "modules",
                "names": names,
                "bytes": [module.len for module in modules],
                "partial": [bool(module.partial_flag) for module in modules],
            }
        )
        return [(name, module.idx) for name, module in zip(names, modules, strict=True)]

    def _names(self) -> None:
        records = self._listed("darshan_log_get_name_records", "darshan_name_record")
        ids = _Array.of(_UNSIGNED, [record.id for record in records])
        self._part(
            {"part": "names", "names": [_text(ctypes.string_at(record.name)) for record in records]}, {"ids": ids}
        )

    def _module(self, name: str, number: int) -> None:
        """Writes the records of a module that can be read, and whether an error ended them."""
        take = {"HEATMAP": self._heat, "LUSTRE": self._stripes, **dict.fromkeys(_TRACED, self._trace)}.get(
            name, self._counters
        )
        struct = self._util.structs[_RECORDS[name]]
        rows: list[tuple[Any, ...]] = []
        buffer = ctypes.c_void_p()
        while (more := self._library.darshan_log_get_record(self._handle, number, ctypes.byref(buffer))) > 0:
            assert buffer.value is not None
            record = struct.from_address(buffer.value)
            rows.append((record.base_rec.id, record.base_rec.rank, *take(record, buffer.value)))
            self._library.darshan_free(buffer)
            buffer = ctypes.c_void_p()
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
            kind = name.replace("-", "").lower()
            return {
                "counters": self._util.counter_names(kind, _RECORDS[name], "counters"),
                "times": self._util.counter_names(f"{kind}_f", _RECORDS[name], "fcounters"),
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

    def _counters(self, record: Any, _: int) -> tuple[Any, ...]:
        return bytes(record.counters), bytes(record.fcounters)

    def _trace(self, record: Any, address: int) -> tuple[Any, ...]:
        count = record.write_count + record.read_count
        segments = address + ctypes.sizeof(record)
        every = ctypes.string_at(segments, count * ctypes.sizeof(self._util.structs["segment_info"]))
        return _text(record.hostname), record.write_count, record.read_count, every

    def _heat(self, record: Any, _: int) -> tuple[Any, ...]:
        bins = [ctypes.string_at(address, 8 * record.nbins) for address in (record.read_bins, record.write_bins)]
        return record.bin_width_seconds, record.nbins, *bins

    def _stripes(self, record: Any, _: int) -> tuple[Any, ...]:
        component = "darshan_lustre_component"
        index = self._util.counter_names("lustre_comp", component, "counters").index("LUSTRE_COMP_STRIPE_SIZE")
        first = self._util.structs[component].from_address(record.comps) if record.num_comps > 0 else None
        return (0 if first is None else first.counters[index],)

    def _part(self, document: dict[str, object], arrays: Mapping[str, _Array] | None = None) -> None:
        _write(self._out, document, arrays or {})


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()

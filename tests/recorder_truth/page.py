"""The page docs/reference/recorder-coverage.md."""

from __future__ import annotations

from collections.abc import Iterable

from .compare import Comparison
from .programs import Program

COLUMNS = (
    "program",
    "calls checked",
    "in the C library",
    "in children of vfork",
    "not counted",
    "differences",
    "missed",
    "own system calls",
    "escaped",
)

_HEAD = """\
# What the recorder counts

`ioassay record` counts the calls that a program makes to the C library, by a library of its own
that is preloaded. `python -m tests.recorder_truth` wrote this page: it runs each program once,
recorded and traced with `strace -f -k` at the same time, and compares. The tests do the same.

strace prints the functions that led to each system call, so it is known who made it:

- **calls checked**: the program made it through the recorder. File, class of call, bytes and
  failure must be in the record: of `open`, `close`, `lseek`, the families of `fsync`, `stat`,
  `mkdir` and `link`, `unlink`, `rename`, `truncate`, `chmod` and `chown`, of locks, advice, `read`,
  `write`, copies in the kernel and `mmap`.
- **in the C library**: the library made it for itself, in per cent of all system calls on files.
  Streams fill and write their buffers, the dynamic linker loads libraries, `setlocale` and
  `getpwnam` read their files. A preloaded library cannot see these. A profile compares the bytes
  that it has with those that the kernel counted, and says what is missing (`coverage`).
- **in children of vfork**: until they start a program they share their parent's memory, so the
  recorder writes nothing there.
- **not counted**: the `close` of a descriptor that was not used otherwise, such as an end of a
  pipe.
- **differences**: files and classes of calls of which the record has other numbers than strace.
- **missed**: functions of the C library that the program called past the recorder. None may be.
- **own system calls**: calls that a library makes without the C library, such as those of programs
  in Rust that use the crate rustix. Only `--via ptrace` sees these. Where they move bytes, the
  profile says how many the kernel counted.
- **escaped**: programs that a preloaded library does not reach. The record names them;
  `ioassay record` says so at the end.

Programs "by ptrace" were recorded with `--via ptrace`, which sees system calls as strace does, in a
run of their own: nothing passes by.

"""


def page(compared: Iterable[tuple[Program, Comparison | None]]) -> str:
    """The page with the result of each program; `None` if it is not installed."""
    rows = [COLUMNS, ("--",) * len(COLUMNS)]
    rows += [(program.name, *_cells(comparison)) for program, comparison in compared]
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cells(comparison: Comparison | None) -> tuple[str, ...]:
    if comparison is None:
        return ("not installed", *[""] * (len(COLUMNS) - 2))
    passed_by = 100 * comparison.passed_by / comparison.called if comparison.called else 0
    return (
        f"{comparison.checked:,}",
        f"{passed_by:.0f} %" if comparison.called else "",
        str(comparison.in_vfork_children),
        str(comparison.unnamed),
        str(len(comparison.differences)),
        ", ".join(sorted({text.partition(" ")[0] for text in comparison.missed})) or "none",
        str(comparison.unhookable.total()),
        ", ".join(sorted({path.removeprefix("./") for path in comparison.escaped})) or "none",
    )

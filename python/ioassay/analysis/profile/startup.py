"""Start-up of programs: the files that interpreters and the dynamic loader read before the application does anything.

Modules and libraries are small files in great number, and search paths make many look-ups fail. Rules that judge an
application's data would report these on every script, however little it does. A file is part of start-up by its path,
by who used it and by what was done to it: Python's modules are data for any other program (`ruff`, `tar`), and for a
Python program that reads a module without looking for its compiled form, as imports do. What was written is data, as is
what processes read a lot of, unless it is code. Of a file that several processes used, most of them decide.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from ioassay.analysis.profile.programs import is_for_any_file, program_names
from ioassay.analysis.profile.totals import known_total
from ioassay.profiles.model import Profile

MOST_READ_BYTES = 1 << 20
"""By each process, of a file in a library that is not code: package data and configuration are no larger."""


class _Language(NamedTuple):
    """Where a language keeps its libraries, and who reads them as such: patterns."""

    libraries: str
    """Of paths."""
    programs: str
    """Of names of programs."""
    first_file: str | None = None
    """Of a path that it reads whenever it starts, also within another program."""


_LANGUAGES: Mapping[str, _Language] = {
    "Python": _Language(
        r"/(site|dist)-packages(/|$)|/lib(32|64)?/(python|pypy)\d[^/]*(/|$)|/__pycache__(/|$)|\.py[co]$"
        r"|/pyvenv\.cfg$|/python\d+\.zip$|\._pth$|/conda-meta(/|$)",
        r"i?python[\d.]*[a-z]*|pypy[\d.]*|pv(python|batch)",
        r"/encodings/",
    ),
    "Perl": _Language(r"/(lib|lib64|share)/([^/]+-linux-[^/]+/)?perl[^/]*(/|$)", r"perl[\d.]*", r"/strict\.pm$"),
    "R": _Language(
        r"/(lib|lib64|share)/R(/|$)|/R/(site-)?library(/|$)|/R/[^/]+-library(/|$)",
        r"R|Rscript|rsession",
        r"/R/library/base/R/base(\.rd[bx])?$",
    ),
    "Julia": _Language(r"/(lib|libexec|share)/julia(/|$)|/\.julia/|\.ji$", r"julia[\d.+-]*", r"/julia/sys\.so$"),
    "Java": _Language(
        r"/(lib|lib64)/jvm/|/jre/lib/|\.jmod$|\.jsa$",
        r"java[cw]?|jshell|spark-.*",
        r"/lib/(modules|server/libjvm\.so)$",
    ),
    "Node.js": _Language(r"/node_modules(/|$)", r"node(js)?|np[mx]|electron|deno|bun"),
    "Ruby": _Language(
        r"/(lib|lib64|share)/([^/]+-linux-[^/]+/)?(ruby|rubygems-integration)(/|$)",
        r"[ji]?ruby[\d.]*|irb",
        r"/rubygems\.rb$",
    ),
    "Lua": _Language(r"/(lib|lib64|share)/([^/]+-linux-[^/]+/)?lua(/|$)", r"(tex)?lua[\d.]*|luajit[\d.-]*|nvim"),
    "compiler": _Language(
        r"^/usr/(local/)?include(/|$)|/(lib|lib64|libexec)/gcc(/|$)",
        r"(.*-)?(g?cc|c99|[gc]\+\+|cpp|cc1(plus|obj)?|f951|gfortran|lto1|lto-wrapper|collect2|g?as|ld(\.\w+)?"
        r"|clang.*|flang.*|nvcc|cudafe\+\+|cicc|ic[cx]|icp[cx]|ifx|ifort|nvc(\+\+)?|nvfortran)(-[\d.]+)?",
    ),
}

_LOADER = r"\.so(\.\d+)*$|^/etc/ld\.so\.|^/etc/ld-musl|/glibc-hwcaps(/|$)"

_LOCALE = r"^/usr/lib/locale(/|$)|^/usr/share/(locale|locale-langpack|i18n|zoneinfo)(/|$)|/gconv(/|$)"

_SYSTEM = (
    r"^/etc(/|$)|^/dev/(tty|null|u?random)$|(^|/)terminfo(/|$)|/\.(bashrc|bash_profile|profile|zshrc|zshenv|cshrc|tcshrc|inputrc)$"
    r"|^/usr/share/(fonts|fontconfig|mime|ca-certificates|icu)(/|$)|^/usr/lib/ssl(/|$)|^/selinux$"
)

_LOADED_BYTES = 1024
"""The loader reads the head of a library and maps the rest."""

_TOOL_SYSTEM = r"^/etc/(ld\.so\.|nsswitch\.conf|passwd|group|localtime)|^/selinux$"
"""What tools read themselves."""

_PROGRAMS = r"/(s?bin|libexec|shims)(/[^/]+)?$|/\.(pyenv|rbenv|nodenv|nvm|asdf)(/|$)"
"""What shells and `execvp` look for along PATH, and what chooses versions of programs."""

_CODE = (
    r"\.(py|pyc|pyo|pm|pl|rdb|rdx|rds|ji|jl|jar|jsa|jmod|js|mjs|cjs|rb|lua)$"
    r"|/lib/modules$|/python\d+\.zip$|/libjvm\.so$"
)
"""Read at any size."""

_FEWEST_STATS = 10
"""By each process, of a directory of modules: a program that walks a tree looks at each directory once or twice."""

_LANDMARK = "/os.py"
"""By which Python finds its own libraries."""

_SCRIPT = re.compile(r"\.(py|pyz|sh|pl|R|r|jl|js|mjs|rb|lua)$")

_SCRIPT_WORDS = 4
"""The first words of a command: the interpreter, its options, the script."""


def startup_files(profile: Profile) -> pl.DataFrame:
    """The files of start-up: file, and `runtime`, whose they are (Python, shared libraries, programs, …)."""
    kinds = _kinds(profile)
    used = (
        profile.files.join(_use(profile), on="file", how="left")
        .join(_users(profile, kinds), on="file", how="left")
        .with_columns(pl.col("written", "listed", "stats", "found", "users", *_USERS.values()).fill_null(0))
    )
    each = pl.col("read").fill_null(0) / pl.col("processes").fill_null(1).clip(1)
    path, is_small = pl.col("path"), each <= MOST_READ_BYTES
    is_written = (pl.col("written") > 0) & ~path.str.contains("/__pycache__/")
    unlisted = is_small & (pl.col("listed") == 0)
    is_only_looked_up, kinds_that_ran = pl.col("users") == 0, set(kinds["kind"])
    are_for_any_file = (
        pl.when(is_only_looked_up)
        .then(pl.lit(kinds_that_ran <= {_ANY_FILE}))
        .otherwise(2 * pl.col(_USERS[_ANY_FILE]) >= pl.col("users"))
    )
    is_loaded = (pl.col("read") > 0) & (each <= _LOADED_BYTES) & path.str.contains(_LOADER)
    imported = _imported(used)
    # A source that knows no failed calls knows no module that has no compiled form.
    is_module = (
        ~path.str.contains(r"\.py$")
        | path.str.ends_with(_LANDMARK)
        | path.is_in(imported)
        | pl.lit(profile.source != "record")
    )
    is_looked_for = is_module & ~path.str.contains(r"\.(pyc|pyo|json|txt|h)$|/METADATA$|/RECORD$")
    executables = profile.processes["executable"].drop_nulls().unique()
    is_walked = path.str.replace(r"/[^/]*$", "").is_in(used.filter(pl.col("listed") > 0)["path"].implode())
    is_program = path.str.contains(_PROGRAMS) & ~(is_walked & is_only_looked_up)

    def of(language: str) -> pl.Expr:
        """Whether who runs a language used a file; of one that was only looked up, whether it looks for such files."""
        looked_up = pl.lit(language in kinds_that_ran)
        if language == "Python":
            looked_up &= is_looked_for | (pl.col("found") == 0)
        own = 2 * pl.col(_USERS[language]) > pl.col("users")
        return pl.when(is_only_looked_up).then(looked_up).otherwise(own & is_module)

    rules: list[tuple[str, pl.Expr]] = [
        ("locale", unlisted & path.str.contains(_LOCALE)),
        ("shared libraries", are_for_any_file & is_loaded),
        ("system files", are_for_any_file & unlisted & path.str.contains(_TOOL_SYSTEM)),
        *(
            (name, path.str.contains(language.libraries) & (is_small | path.str.contains(_CODE)) & of(name))
            for name, language in _LANGUAGES.items()
            if name in kinds_that_ran
        ),
        *([("Python", path.is_in(imported) & of("Python"))] if "Python" in kinds_that_ran else ()),
        *([("Java", path.str.ends_with(".jar") & of("Java"))] if "Java" in kinds_that_ran else ()),
        *(
            (name, ~are_for_any_file & is_own)
            for name, is_own in (
                ("programs", path.is_in(list(_scripts(profile))) | path.is_in(executables.implode())),
                ("shared libraries", is_small & path.str.contains(_LOADER)),
                ("programs", unlisted & is_program),
                ("system files", is_small & path.str.contains(_SYSTEM)),
            )
        ),
    ]
    runtime = pl.coalesce(pl.when(is_own).then(pl.lit(name)) for name, is_own in rules)
    rows = used.filter(pl.col("kind") != "others", ~is_written)
    found = rows.select("file", runtime=runtime).drop_nulls("runtime")
    modules = found.filter(pl.col("runtime") == "Python").height
    return pl.concat([found, _module_paths(rows.join(found, on="file", how="anti"), modules)])


def _kinds(profile: Profile) -> pl.DataFrame:
    """Of each process the language that its program runs, or `_ANY_FILE`; null: neither. Columns: process, kind."""
    path = pl.col("path")
    firsts = pl.coalesce(
        pl.when(path.str.contains(one.libraries) & path.str.contains(one.first_file)).then(pl.lit(name))
        for name, one in _LANGUAGES.items()
        if one.first_file is not None
    )
    first_files = profile.files.select("file", embedded=firsts).drop_nulls()
    embedding = profile.file_processes.join(first_files, on="file").group_by("process").agg(pl.col("embedded").first())
    names = program_names(profile)
    kinds = pl.Series("kind", [_kind(program) for program in names["program"]], dtype=pl.String)
    return (
        names.with_columns(kinds)
        .join(embedding, on="process", how="left")
        .select("process", kind=pl.coalesce("kind", "embedded"))
    )


def _kind(program: str) -> str | None:
    if is_for_any_file(program):
        return _ANY_FILE
    return next((name for name, one in _LANGUAGES.items() if re.fullmatch(one.programs, program)), None)


_ANY_FILE = "any file"

_USERS = {kind: f"users of {kind}" for kind in (_ANY_FILE, *_LANGUAGES)}


def _users(profile: Profile, kinds: pl.DataFrame) -> pl.DataFrame:
    """Of each file that was used, and not only looked up, the processes: `users`, and those of each kind."""
    weight = pl.col("processes").fill_null(1)
    return (
        profile.file_processes.join(kinds, on="process", how="left")
        .group_by("file")
        .agg(
            users=weight.sum(),
            **{column: weight.filter(pl.col("kind") == kind).sum() for kind, column in _USERS.items()},
        )
    )


def _module_paths(rows: pl.DataFrame, modules: int) -> pl.DataFrame:
    """Directories of `sys.path` outside of libraries: Python looks at each of them again for most modules."""
    each = pl.col("stats") / pl.col("processes").fill_null(1).clip(1)
    is_one = (pl.col("kind") == "directory") & pl.col("only_looked_at") & each.is_between(_FEWEST_STATS, modules)
    return rows.filter(is_one).select("file", runtime=pl.lit("Python"))


def _use(profile: Profile) -> pl.DataFrame:
    """Of each file: bytes read, calls that succeeded, that wrote or changed it, listings."""
    changes = pl.col("operation").is_in(
        ["rename", "remove", "truncate", "write", "submit write", "stream write", "copy to"]
    )
    moves_in = pl.col("operation").is_in(["read", "submit read", "stream read", "copy from"])
    succeeded = pl.col("calls") - pl.col("failed").fill_null(0)
    return profile.file_operations.group_by("file").agg(
        read=pl.col("bytes").filter(moves_in).sum(),
        written=succeeded.filter(changes).sum(),
        found=succeeded.sum(),
        listed=succeeded.filter(pl.col("operation") == "list").sum(),
        stats=pl.col("calls").filter(pl.col("operation") == "stat").sum(),
        only_looked_at=pl.col("operation").is_in(["open", "close", "stat", "list"]).all(),
    )


def _scripts(profile: Profile) -> Iterator[str]:
    """The files that commands name as what an interpreter runs."""
    by_name: dict[str, list[str]] = {}
    for path in profile.files["path"]:
        if _SCRIPT.search(path):
            by_name.setdefault(posixpath.basename(path), []).append(path)
    for command in profile.processes["command"].drop_nulls().unique():
        for word in command.split()[:_SCRIPT_WORDS]:
            ending = "/" + posixpath.normpath(word).lstrip("./")
            yield from (path for path in by_name.get(posixpath.basename(word), ()) if path.endswith(ending))


def _imported(files: pl.DataFrame) -> list[str]:
    """Modules that Python looked for: it asks for the compiled form of each first, beside it or below a prefix. Who
    walks through directories finds that later. What Python writes when there is none has another name at first.
    """
    compiled = re.compile(r"^(.*)/([^/.]+)\.(cpython|pypy)[^/]*\.pyc$")
    beside = "/__pycache__"
    asked_s: dict[str, float] = {}
    by_prefix: dict[str, list[str]] = {}
    opened_s = dict(files.select("path", pl.col("first_open_s").fill_null(math.nan)).iter_rows())
    for path, at_s in opened_s.items():
        if (match := compiled.match(path)) is None:
            continue
        if match[1].endswith(beside):
            asked_s[f"{match[1].removesuffix(beside)}/{match[2]}.py"] = at_s
        else:
            by_prefix.setdefault(f"{match[2]}.py", []).append(f"{match[1]}/{match[2]}.py")
    found = [path for path, at_s in asked_s.items() if not at_s > opened_s.get(path, math.nan)]
    for path in opened_s if by_prefix else ():
        if any(one.endswith(path) for one in by_prefix.get(posixpath.basename(path), ())):
            found.append(path)
    return found


@dataclass(frozen=True)
class StartupTotal:
    """All calls on files of start-up, added over processes."""

    files: int
    calls: int
    read_bytes: int
    spent_ns: int | None
    """`None`: unknown."""
    runtimes: tuple[str, ...]
    """Whose files they are, those with most calls first."""


def startup_total(profile: Profile, stored: pl.DataFrame, frame: pl.DataFrame) -> StartupTotal:
    """The sums of `startup_files` (`own`). `stored` is what `totals.on_storage` returned."""
    rows = stored.join(frame, on="file")
    metadata_ns = profile.files.join(frame, on="file", how="semi")["metadata_ns"]
    by_runtime = rows.group_by("runtime").agg(pl.col("calls").sum()).sort("calls", "runtime", descending=[True, False])
    return StartupTotal(
        files=frame.height,
        calls=int(rows["calls"].sum()),
        read_bytes=int(rows.filter(pl.col("direction") == "read")["bytes"].sum()),
        # Maps have a time, and no direction: it is no part of the time in I/O.
        spent_ns=known_total([known_total(rows.drop_nulls("direction")["duration_ns"]), known_total(metadata_ns)]),
        runtimes=tuple(by_runtime["runtime"]),
    )

"""Start-up of programs: the files that interpreters and the dynamic loader read before the application starts its work.

Modules and libraries are many small files, and search paths make many lookups fail. Rules about an application's data
would report these for every script. A file is part of start-up depending on its path, the programs that used it, and
the operations on it: Python's modules are data for any other program (`ruff`, `tar`), and for a Python program that
reads a module without looking up its compiled form, as imports do. Written files are data, and so are files of which
processes read a lot, unless they are code. If several processes used a file, the majority decides.
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
"""The most that each process reads of a library's file other than code: package data and configuration are no larger.
"""


class _Language(NamedTuple):
    """Patterns of a language's libraries and of the programs that read them."""

    libraries: str
    """Pattern of paths of libraries."""
    programs: str
    """Pattern of program names."""
    first_file: str | None = None
    """Pattern of a path that it reads at each start, also embedded in another program."""


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
"""The most that the loader reads of a library, its header; it maps the rest."""

_TOOL_SYSTEM = r"^/etc/(ld\.so\.|nsswitch\.conf|passwd|group|localtime)|^/selinux$"
"""System files that tools themselves read."""

_PROGRAMS = r"/(s?bin|libexec|shims)(/[^/]+)?$|/\.(pyenv|rbenv|nodenv|nvm|asdf)(/|$)"
"""Directories that shells and `execvp` search along PATH, and version managers."""

_CODE = (
    r"\.(py|pyc|pyo|pm|pl|rdb|rdx|rds|ji|jl|jar|jsa|jmod|js|mjs|cjs|rb|lua)$"
    r"|/lib/modules$|/python\d+\.zip$|/libjvm\.so$"
)
"""Code, which counts as start-up at any size."""

_FEWEST_STATS = 10
"""The fewest stats by each process of a module directory: programs that walk a tree stat each directory once or twice.
"""

_LANDMARK = "/os.py"
"""The file by which Python locates its libraries."""

_SCRIPT = re.compile(r"\.(py|pyz|sh|pl|R|r|jl|js|mjs|rb|lua)$")

_SCRIPT_WORDS = 4
"""The first words of a command that may name a script, after the interpreter and its options."""


def startup_files(profile: Profile) -> pl.DataFrame:
    """The files of start-up: file, and their `runtime` (Python, shared libraries, programs, …)."""
    kinds = _kinds(profile)
    used = (
        profile.files.join(_use(profile), on="file", how="left")
        .join(_users(profile, kinds), on="file", how="left")
        .with_columns(pl.col("written", "listed", "stats", "succeeded", "users", *_USERS.values()).fill_null(0))
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
    # A source without failed calls does not show lookups of missing compiled forms.
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
        """Whether programs of a language used a file; if it was only looked up, whether such programs ran."""
        looked_up = pl.lit(language in kinds_that_ran)
        if language == "Python":
            looked_up &= is_looked_for | (pl.col("succeeded") == 0)
        is_used_by_language = 2 * pl.col(_USERS[language]) > pl.col("users")
        return pl.when(is_only_looked_up).then(looked_up).otherwise(is_used_by_language & is_module)

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
            (name, ~are_for_any_file & condition)
            for name, condition in (
                ("programs", path.is_in(list(_scripts(profile))) | path.is_in(executables.implode())),
                ("shared libraries", is_small & path.str.contains(_LOADER)),
                ("programs", unlisted & is_program),
                ("system files", is_small & path.str.contains(_SYSTEM)),
            )
        ),
    ]
    runtime = pl.coalesce(pl.when(condition).then(pl.lit(name)) for name, condition in rules)
    rows = used.filter(pl.col("kind") != "others", ~is_written)
    startup_rows = rows.select("file", runtime=runtime).drop_nulls("runtime")
    modules = startup_rows.filter(pl.col("runtime") == "Python").height
    return pl.concat([startup_rows, _module_paths(rows.join(startup_rows, on="file", how="anti"), modules)])


def _kinds(profile: Profile) -> pl.DataFrame:
    """process, kind: the language that the process's program runs, or `_ANY_FILE`; null: neither."""
    path = pl.col("path")
    firsts = pl.coalesce(
        pl.when(path.str.contains(language.libraries) & path.str.contains(language.first_file)).then(pl.lit(name))
        for name, language in _LANGUAGES.items()
        if language.first_file is not None
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
    return next((name for name, language in _LANGUAGES.items() if re.fullmatch(language.programs, program)), None)


_ANY_FILE = "any file"

_USERS = {kind: f"users of {kind}" for kind in (_ANY_FILE, *_LANGUAGES)}


def _users(profile: Profile, kinds: pl.DataFrame) -> pl.DataFrame:
    """file, users (processes that used the file, not only looked it up), and the users of each kind."""
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
    """Directories of `sys.path` outside of libraries: Python stats each of them for most modules."""
    each = pl.col("stats") / pl.col("processes").fill_null(1).clip(1)
    is_module_path = (
        (pl.col("kind") == "directory") & pl.col("only_looked_at") & each.is_between(_FEWEST_STATS, modules)
    )
    return rows.filter(is_module_path).select("file", runtime=pl.lit("Python"))


def _use(profile: Profile) -> pl.DataFrame:
    """file, and counts of its bytes read, successful calls, changes, listings and stats."""
    changes = pl.col("operation").is_in(
        ["rename", "remove", "truncate", "write", "submit write", "stream write", "copy to"]
    )
    moves_in = pl.col("operation").is_in(["read", "submit read", "stream read", "copy from"])
    succeeded = pl.col("calls") - pl.col("failed").fill_null(0)
    return profile.file_operations.group_by("file").agg(
        read=pl.col("bytes").filter(moves_in).sum(),
        written=succeeded.filter(changes).sum(),
        succeeded=succeeded.sum(),
        listed=succeeded.filter(pl.col("operation") == "list").sum(),
        stats=pl.col("calls").filter(pl.col("operation") == "stat").sum(),
        only_looked_at=pl.col("operation").is_in(["open", "close", "stat", "list"]).all(),
    )


def _scripts(profile: Profile) -> Iterator[str]:
    """Paths of scripts that commands name."""
    by_name: dict[str, list[str]] = {}
    for path in profile.files["path"]:
        if _SCRIPT.search(path):
            by_name.setdefault(posixpath.basename(path), []).append(path)
    for command in profile.processes["command"].drop_nulls().unique():
        for word in command.split()[:_SCRIPT_WORDS]:
            ending = "/" + posixpath.normpath(word).lstrip("./")
            yield from (path for path in by_name.get(posixpath.basename(word), ()) if path.endswith(ending))


def _imported(files: pl.DataFrame) -> list[str]:
    """Modules that Python imported: it opens the compiled form first, beside the module or below a prefix; a program
    that walks directories opens that later. Compiled forms that Python writes have another name at first.
    """
    compiled = re.compile(r"^(.*)/([^/.]+)\.(cpython|pypy)[^/]*\.pyc$")
    beside = "/__pycache__"
    compiled_open_s: dict[str, float] = {}
    by_prefix: dict[str, list[str]] = {}
    opened_s = dict(files.select("path", pl.col("first_open_s").fill_null(math.nan)).iter_rows())
    for path, at_s in opened_s.items():
        if (match := compiled.match(path)) is None:
            continue
        if match[1].endswith(beside):
            compiled_open_s[f"{match[1].removesuffix(beside)}/{match[2]}.py"] = at_s
        else:
            by_prefix.setdefault(f"{match[2]}.py", []).append(f"{match[1]}/{match[2]}.py")
    modules = [path for path, at_s in compiled_open_s.items() if not at_s > opened_s.get(path, math.nan)]
    for path in opened_s if by_prefix else ():
        if any(candidate.endswith(path) for candidate in by_prefix.get(posixpath.basename(path), ())):
            modules.append(path)
    return modules


@dataclass(frozen=True)
class StartupTotal:
    """All calls on files of start-up, summed over processes."""

    files: int
    calls: int
    read_bytes: int
    spent_ns: int | None
    """`None`: unknown."""
    runtimes: tuple[str, ...]
    """The runtimes of these files, those with most calls first."""


def startup_total(profile: Profile, stored: pl.DataFrame, frame: pl.DataFrame) -> StartupTotal:
    """The sums of the files in `frame` (`startup_files`). `stored` is the result of `totals.on_storage`."""
    rows = stored.join(frame, on="file")
    metadata_ns = profile.files.join(frame, on="file", how="semi")["metadata_ns"]
    by_runtime = rows.group_by("runtime").agg(pl.col("calls").sum()).sort("calls", "runtime", descending=[True, False])
    return StartupTotal(
        files=frame.height,
        calls=int(rows["calls"].sum()),
        read_bytes=int(rows.filter(pl.col("direction") == "read")["bytes"].sum()),
        # Maps have a time but no direction; it is no part of the time in I/O.
        spent_ns=known_total([known_total(rows.drop_nulls("direction")["duration_ns"]), known_total(metadata_ns)]),
        runtimes=tuple(by_runtime["runtime"]),
    )

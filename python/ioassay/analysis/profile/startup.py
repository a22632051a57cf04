"""Start-up of programs: the files that interpreters and the dynamic loader read before the application does anything.

Modules and libraries are small files in great number, and search paths make many look-ups fail. Rules that judge an
application's data would report these on every script, however little it does. A file is part of start-up by its path
and by what was done to it: what was written is data, as is what processes read a lot of, unless it is code. Where only
tools run that work on any files (`tar`, `find`), libraries are their data.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from ioassay.analysis.profile.totals import known_total
from ioassay.results.profile_model import Profile

MOST_READ_BYTES = 1 << 20
"""By each process, of a file in a library that is not code: package data and configuration are no larger."""

_LIBRARIES: Mapping[str, str] = {
    "Python": r"/(site|dist)-packages(/|$)|/lib(32|64)?/(python|pypy)\d[^/]*(/|$)|/__pycache__(/|$)|\.py[co]$"
    r"|/pyvenv\.cfg$|/python\d+\.zip$|\._pth$|/conda-meta(/|$)",
    "Perl": r"/(lib|lib64|share)/([^/]+-linux-[^/]+/)?perl[^/]*(/|$)",
    "R": r"/(lib|lib64|share)/R(/|$)|/R/(site-)?library(/|$)|/R/[^/]+-library(/|$)",
    "Julia": r"/(lib|libexec|share)/julia(/|$)|/\.julia/|\.ji$",
    "Java": r"/(lib|lib64)/jvm/|/jre/lib/|\.jmod$|\.jsa$",
    "Node.js": r"/node_modules(/|$)",
    "Ruby": r"/(lib|lib64|share)/([^/]+-linux-[^/]+/)?(ruby|rubygems-integration)(/|$)",
    "Lua": r"/(lib|lib64|share)/([^/]+-linux-[^/]+/)?lua(/|$)",
    "compiler": r"^/usr/(local/)?include(/|$)|/(lib|lib64|libexec)/gcc(/|$)",
}
"""Where languages keep their libraries: patterns of paths."""

_LOADER = r"\.so(\.\d+)*$|^/etc/ld\.so\.|^/etc/ld-musl|/glibc-hwcaps(/|$)"

_LOCALE = r"^/usr/lib/locale(/|$)|^/usr/share/(locale|locale-langpack|i18n|zoneinfo)(/|$)|/gconv(/|$)"

_SYSTEM = (
    r"^/etc(/|$)|^/dev/(tty|null|u?random)$|(^|/)terminfo(/|$)|/\.(bashrc|bash_profile|profile|zshrc|zshenv|cshrc|tcshrc|inputrc)$"
    r"|^/usr/share/(fonts|fontconfig|mime|ca-certificates|icu)(/|$)|^/usr/lib/ssl(/|$)"
)

_LOADED_BYTES = 1024
"""The loader reads the head of a library and maps the rest."""

_TOOL_SYSTEM = r"^/etc/(ld\.so\.|nsswitch\.conf|passwd|group|localtime)"
"""What tools read themselves."""

_PROGRAMS = r"/(s?bin|libexec|shims)(/[^/]+)?$|/\.(pyenv|rbenv|nodenv|nvm|asdf)(/|$)"
"""What shells and `execvp` look for along PATH, and what chooses versions of programs."""

_CODE = (
    r"\.(py|pyc|pyo|pm|pl|rdb|rdx|rds|ji|jl|jar|jsa|jmod|js|mjs|cjs|rb|lua)$"
    r"|/lib/modules$|/python\d+\.zip$|/libjvm\.so$"
)
"""Read at any size."""

_TOOLS = re.compile(
    r"ls|v?dir|find|fd|du|tree|stat|file|(bsd)?tar|cpio|cp|mv|rsync|rm|ln|install|mkdir|rmdir|touch|chmod|chown|truncate"
    r"|updatedb|cat|head|tail|wc|[ef]?grep|rg|sed|[gm]?awk|sort|cmp|diff|(md5|sha\d+|b2)sum|cksum|(un)?zip|gzip|zstd|xz"
    r"|bzip2|dd|ior|mdtest|fio"
)
"""Programs for which any file is data."""


_FEWEST_STATS = 10
"""By each process, of a directory of modules: a program that walks a tree looks at each directory once or twice."""

_SCRIPT = re.compile(r"\.(py|pyz|sh|pl|R|r|jl|js|mjs|rb|lua)$")

_SCRIPT_WORDS = 4
"""The first words of a command: the interpreter, its options, the script."""


def startup_files(profile: Profile) -> pl.DataFrame:
    """The files of start-up: file, and `runtime`, whose they are (Python, shared libraries, programs, …)."""
    used = profile.files.join(_use(profile), on="file", how="left").with_columns(
        pl.col("written", "listed", "stats").fill_null(0)
    )
    each = pl.col("read").fill_null(0) / pl.col("processes").fill_null(1).clip(1)
    path, is_small = pl.col("path"), each <= MOST_READ_BYTES
    is_written = (pl.col("written") > 0) & ~path.str.contains("/__pycache__/")
    unlisted = is_small & (pl.col("listed") == 0)
    rules: list[tuple[str, pl.Expr]] = [("locale", unlisted & path.str.contains(_LOCALE))]
    if _runs_only_tools(profile):
        is_loaded = (pl.col("read") > 0) & (each <= _LOADED_BYTES) & path.str.contains(_LOADER)
        rules += [("shared libraries", is_loaded), ("system files", unlisted & path.str.contains(_TOOL_SYSTEM))]
    else:
        executables = profile.processes["executable"].drop_nulls().unique()
        rules += [
            (language, path.str.contains(pattern) & (is_small | path.str.contains(_CODE)))
            for language, pattern in _LIBRARIES.items()
        ]
        rules += [
            ("Python", path.is_in(_imported(used["path"]))),
            ("Java", path.str.ends_with(".jar") & pl.lit("java" in _names(profile))),
            ("programs", path.is_in(list(_scripts(profile))) | path.is_in(executables.implode())),
            ("shared libraries", is_small & path.str.contains(_LOADER)),
            ("programs", unlisted & path.str.contains(_PROGRAMS)),
            ("system files", is_small & path.str.contains(_SYSTEM)),
        ]
    runtime = pl.coalesce(pl.when(is_own).then(pl.lit(name)) for name, is_own in rules)
    rows = used.filter(pl.col("kind") != "others", ~is_written)
    found = rows.select("file", runtime=runtime).drop_nulls("runtime")
    modules = found.filter(pl.col("runtime") == "Python").height
    return pl.concat([found, _module_paths(rows.join(found, on="file", how="anti"), modules)])


def _module_paths(rows: pl.DataFrame, modules: int) -> pl.DataFrame:
    """Directories of `sys.path` outside of libraries: Python looks at each of them again for most modules."""
    each = pl.col("stats") / pl.col("processes").fill_null(1).clip(1)
    is_one = (pl.col("kind") == "directory") & pl.col("only_looked_at") & each.is_between(_FEWEST_STATS, modules)
    return rows.filter(is_one).select("file", runtime=pl.lit("Python"))


def _use(profile: Profile) -> pl.DataFrame:
    """Of each file: bytes read, calls that wrote or changed it, listings."""
    changes = pl.col("operation").is_in(
        ["rename", "remove", "truncate", "write", "submit write", "stream write", "copy to"]
    )
    moves_in = pl.col("operation").is_in(["read", "submit read", "stream read", "copy from"])
    succeeded = pl.col("calls") - pl.col("failed").fill_null(0)
    return profile.file_operations.group_by("file").agg(
        read=pl.col("bytes").filter(moves_in).sum(),
        written=succeeded.filter(changes).sum(),
        listed=succeeded.filter(pl.col("operation") == "list").sum(),
        stats=pl.col("calls").filter(pl.col("operation") == "stat").sum(),
        only_looked_at=pl.col("operation").is_in(["open", "close", "stat", "list"]).all(),
    )


def _names(profile: Profile) -> set[str]:
    """The names of the programs that ran."""
    names = set()
    for executable, command in profile.processes.select("executable", "command").iter_rows():
        first = (command or "").split(maxsplit=1)
        names.add(posixpath.basename(executable or (first[0] if first else "")))
    return names


def _runs_only_tools(profile: Profile) -> bool:
    return all(_TOOLS.fullmatch(name) for name in _names(profile))


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


def _imported(paths: pl.Series) -> list[str]:
    """Modules outside of libraries: Python looks for what it has compiled of each, and lists the directories."""
    found = re.compile(r"^(.*)/__pycache__/([^/.]+)\.(cpython|pypy)[^/]*$")
    modules = {(match[1], match[2]) for path in paths if (match := found.match(path))}
    return [f"{directory}/{name}.py" for directory, name in modules]


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


def startup_total(profile: Profile, stored: pl.DataFrame, own: pl.DataFrame) -> StartupTotal:
    """The sums of `startup_files` (`own`). `stored` is what `totals.on_storage` returned."""
    rows = stored.join(own, on="file")
    metadata_ns = profile.files.join(own, on="file", how="semi")["metadata_ns"]
    by_runtime = rows.group_by("runtime").agg(pl.col("calls").sum()).sort("calls", "runtime", descending=[True, False])
    return StartupTotal(
        files=own.height,
        calls=int(rows["calls"].sum()),
        read_bytes=int(rows.filter(pl.col("direction") == "read")["bytes"].sum()),
        # Maps have a time, and no direction: it is no part of the time in I/O.
        spent_ns=known_total([known_total(rows.drop_nulls("direction")["duration_ns"]), known_total(metadata_ns)]),
        runtimes=tuple(by_runtime["runtime"]),
    )

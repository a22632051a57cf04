"""The programs that are recorded and traced: small inputs, every way to do I/O."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..support import OPEN_MPI_AS_ROOT

_SOURCES = Path(__file__).parent / "sources"
_LIBRARIES = Path(__file__).parents[2] / "target/libraries/bin/python"
"""The Python that has libraries which do I/O themselves."""


@dataclass(frozen=True)
class Program:
    """A command, and what it works on."""

    name: str
    command: Sequence[str]
    """Run in a directory of its own."""
    prepare: Callable[[Path], None]
    """Fills that directory."""
    needs: Sequence[str] = ()
    """Programs that must be installed."""
    escapes: Sequence[str] = ()
    """Programs that cannot be recorded by a preloaded library, and must be named."""
    own_system_calls: Sequence[str] = ()
    """Its libraries and functions that call the kernel without the C library: no preloaded library sees that."""
    by_ptrace: bool = False
    """Record it with `--via ptrace`."""
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def directory(self) -> str:
        """A name for its files."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.name)

    def missing(self) -> list[str]:
        """Requirements that are not installed."""
        lacking = [name for name in ("strace", *self.needs) if shutil.which(name) is None]
        return lacking or ([] if _can_trace() else ["a strace that may trace, and knows --stack-trace"])

    def environment(self) -> dict[str, str]:
        """The environment of the command, without the user's settings."""
        names = ("PATH", "HOME", "TMPDIR", "OMPI_MCA_orte_tmpdir_base", "IOASSAY_ENGINE")
        inherited = {name: os.environ[name] for name in names if name in os.environ}
        return {**inherited, "LC_ALL": "C.UTF-8", **self.variables}


@cache
def _can_trace() -> bool:
    return subprocess.run(["strace", "-k", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


def _nothing(directory: Path) -> None:
    """It needs no files."""


def _tree(directory: Path) -> None:
    """A few files and directories, links among them."""
    source = directory / "source"
    for place in ("a", "b/c", "b/d"):
        (source / place).mkdir(parents=True)
        for number in range(3):
            (source / place / f"file {number}").write_bytes(bytes([number]) * (number * 40_000 + 17))
    (source / "link").symlink_to("a/file 1")
    os.link(source / "a/file 2", source / "b/hard link")
    with (source / "sparse").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(b"x" * 5000)


def _files(directory: Path) -> None:
    """Files that are read in pieces."""
    for number in range(8):
        (directory / f"data-{number}").write_bytes(os.urandom(100_000))


def _lines(directory: Path) -> None:
    """A file of lines in no order."""
    lines = [f"{number * 7919 % 100_003:06d} some text\n" for number in range(60_000)]
    (directory / "lines").write_text("".join(lines))


def _c_project(directory: Path) -> None:
    """A make file, and C files that include each other."""
    (directory / "common.h").write_text("#include <stdio.h>\nint f0(int); int f1(int); int f2(int); int f3(int);\n")
    for number in range(4):
        (directory / f"f{number}.c").write_text(
            f'#include "common.h"\nint f{number}(int x) {{ printf("%d\\n", x); return x + {number}; }}\n'
        )
    (directory / "main.c").write_text('#include "common.h"\nint main(void) { return f0(f1(f2(f3(0)))) == 7; }\n')
    (directory / "Makefile").write_text(
        "OBJECTS := main.o f0.o f1.o f2.o f3.o\n"
        "program: $(OBJECTS)\n\tgcc -o $@ $^\n"
        "%.o: %.c common.h\n\tgcc -O1 -c -o $@ $<\n"
    )


def _compiled(name: str, *options: str, compiler: str = "gcc") -> Callable[[Path], None]:
    def compile_it(directory: Path) -> None:
        subprocess.run([compiler, "-w", "-o", name, _SOURCES / f"{name}.c", *options], cwd=directory, check=True)

    return compile_it


def _late(directory: Path) -> None:
    _compiled("late", "-DLIBRARY", "-shared", "-fPIC")(directory)
    (directory / "late").rename(directory / "liblate.so")
    _compiled("late", "-Wl,-rpath,$ORIGIN", "-L.", "-llate")(directory)


def _go(directory: Path) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    subprocess.run(["go", "build", "-o", "calls", _SOURCES / "calls.go"], cwd=directory, env=environment, check=True)


_GO_ASKS_ONCE = {"GODEBUG": "updatemaxprocs=0"}
"""Go reads the limits of its control group every second, so the number of reads differs between two runs."""


def _python(name: str, *arguments: str, prepare: Callable[[Path], None] = _files) -> Program:
    script = str(_SOURCES / f"{name}.py")
    title = " ".join(("python", name.removeprefix("python_"), *arguments))
    return Program(title, [sys.executable, "-I", "-S", script, *arguments], prepare)


def _library(name: str, *own_system_calls: str) -> Program:
    """A program in Python that uses a library with I/O of its own, of those that `make libraries` installs."""
    script = str(_SOURCES / f"library_{name}.py")
    command = [str(_LIBRARIES), "-I", script]
    return Program(name, command, _nothing, (str(_LIBRARIES),), own_system_calls=own_system_calls)


def _shell(name: str, script: str, prepare: Callable[[Path], None], *needs: str, shell: str = "sh") -> Program:
    return Program(name, [shell, "-ec", script], prepare, (shell, *needs))


_SQL = """
create table t (a integer primary key, b text);
begin; {inserts} commit;
create index i on t (b);
update t set b = b || 'x' where a % 3 = 0;
select count(*) from t where b like '%x';
begin; delete from t; rollback;
vacuum;
"""
_INSERTS = " ".join(f"insert into t values ({number}, 'text {number * 37 % 101}');" for number in range(300))

_GIT = """
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export HOME=$PWD
git init -q repository; cd repository; cp -r ../source .; git add .; git commit -qm first
echo more >> "source/a/file 0"; git commit -qam second; git status --short; git gc -q; cd ..
git clone -q --no-local repository cloned; cd cloned; git log --stat | cat; git status
"""

_BASH = """
read -r first < lines; echo "$first" > out; while read -r a b; do echo "$b $a"; done < <(head -50 lines) | sort > sorted
exec 5>> log; echo one >&5; exec 5>&-; cat lines | head -5 | tee copy | wc -l; mapfile -t all < sorted
cat <<< "${all[1]}" > here; (cd /tmp; echo x > /dev/null); [ -e nothing ] || [ -s lines ]; rm -f copy; : > empty
exec 3<> both; echo text >&3; exec 3<&-; for file in *; do [ -f "$file" ]; done; wait
"""

_PERL = """
open(F, "<", "lines"); my $n = 0; while (<F>) { $n++ if /7/ } close F;
open(O, ">", "out"); printf O "%d\\n", $n for 1..2000; close O; sysopen(S, "lines", 0); sysread(S, my $b, 5000);
sysseek(S, 100, 0); close S; rename "out", "moved"; mkdir "d"; rmdir "d"; my @s = stat "moved"; chmod 0600, "moved";
utime 1, 2, "moved"; symlink "moved", "link"; readlink "link"; unlink "link", "moved"; opendir(D, "."); readdir D;
truncate "lines", 1000; flock(STDOUT, 8); my @found = glob "*"; -e "nothing"; print `cat lines | wc -l`;
"""

_TEXT = """
sed -i s/some/more/ lines
awk '{ print $1 > "out-" ($1 % 3) } END { close("out-1"); while ((getline x < "out-1") > 0) n++ }' lines
split -n 3 lines part-; cat part-a? > joined; cmp joined lines; shred -n 1 -u part-aa; tail -n 3 lines
tac joined > reversed; head -c 5000 lines | od -c | uniq -c > octal
ln -sf lines link; cp --preserve=all link copy; install -m 600 lines d; mv d e
touch -r lines new; stat new; du -s .; ls -la; df . > /dev/null; mktemp -p .; chmod -R a+r .; md5sum lines; diff lines e
"""

_DD = """
dd if=/dev/zero of=direct bs=64k count=16 oflag=direct conv=fsync status=none ||
    dd if=/dev/zero of=direct bs=64k count=16 conv=fsync status=none
dd if=direct of=copy bs=10000 iflag=direct,fullblock conv=fdatasync status=none ||
    dd if=direct of=copy bs=10000 status=none
dd if=copy of=sparse bs=4k seek=10 skip=2 conv=sparse,notrunc status=none; sync copy; truncate -s 100 copy
"""

_FIO = """
[global]
directory=.
size=256k
bs=16k
thread
[psync]
ioengine=psync
rw=randrw
fsync=4
[sync]
ioengine=sync
rw=write
[vectors]
ioengine=pvsync2
rw=randread
[mapped]
ioengine=mmap
rw=read
"""

_RSYNC = """
rsync -a source/ copied; echo more >> "source/a/file 0"; rsync -a --checksum --delete source/ copied
rsync -a --inplace --no-whole-file --fsync source/ copied
"""


def _fio(directory: Path) -> None:
    (directory / "job.fio").write_text(_FIO)


_NODE = """
const fs = require("fs"); let bytes = 0;
fs.writeFileSync("out", "x".repeat(100000)); fs.mkdirSync("d/e", {recursive: true});
fs.createReadStream("lines").on("data", (part) => { bytes += part.length; }).on("end", async () => {
    await fs.promises.rename("out", "moved"); await fs.promises.copyFile("moved", "d/e/copy"); fs.statSync("moved");
    fs.rmSync("d", {recursive: true}); require("child_process").execSync("cat lines | wc -l");
    fs.createWriteStream("w").end("text");
});
"""


def _java(directory: Path) -> None:
    _lines(directory)
    subprocess.run(["javac", "-d", directory, _SOURCES / "Calls.java"], check=True)


_MPIRUN = {**OPEN_MPI_AS_ROOT, "OMPI_MCA_btl": "self,vader"}

PROGRAMS: tuple[Program, ...] = (
    Program("calls of C", ["./calls"], _compiled("calls", "-O2", "-D_FORTIFY_SOURCE=2"), ("gcc",)),
    Program("maps of C", ["./maps"], _compiled("maps"), ("gcc",)),
    Program("threads of C", ["./threads"], _compiled("threads", "-pthread"), ("gcc",)),
    Program("end of C", ["./late"], _late, ("gcc",)),
    Program("cp", ["cp", "-a", "source", "copied"], _tree),
    Program("cp --reflink=never", ["cp", "-r", "--reflink=never", "--sparse=never", "source", "copied"], _tree),
    _shell(
        "tar", "tar cf a.tar source; mkdir out; tar xf a.tar -C out; tar czf a.tgz source; tar tf a.tgz", _tree, "tar"
    ),
    Program("make -j4, gcc", ["make", "-s", "-j4"], _c_project, ("make", "gcc")),
    _python("python_calls", prepare=_tree),
    _python("python_threads"),
    _python("python_workers", "fork"),
    _python("python_workers", "spawn"),
    _python("python_terminated"),
    _python("python_maps"),
    _python("python_batches", "pools"),
    _python("python_batches", "loaders"),
    *map(_library, ("h5py", "zarr", "adios2", "polars", "duckdb")),
    _library("safetensors", "_safetensors_rust.abi3.so(tempfile::"),  # it renames by the crate rustix
    Program("sqlite3", ["sqlite3", "x.db", _SQL.format(inserts=_INSERTS)], _nothing, ("sqlite3",)),
    Program(
        "sqlite3, WAL",
        ["sqlite3", "x.db", "pragma journal_mode=wal;" + _SQL.format(inserts=_INSERTS) + "pragma wal_checkpoint;"],
        _nothing,
        ("sqlite3",),
    ),
    _shell("git", _GIT, _tree, "git"),
    _shell("rsync", _RSYNC, _tree, "rsync"),
    _shell("bash", _BASH, _lines, shell="bash"),
    _shell("find, xargs, grep", "find source -type f -print0 | xargs -0 -n 4 grep -c x || :", _tree, "find", "xargs"),
    Program("sort", ["sort", "-S", "256k", "-T", ".", "-o", "sorted", "lines"], _lines),
    _shell("dd", _DD, _nothing),
    _shell("sed, awk, split, shred", _TEXT, _lines, "awk"),
    Program("perl", ["perl", "-e", _PERL], _lines, ("perl",)),
    Program("node", ["node", "-e", _NODE], _lines, ("node",)),
    Program("java", ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "Calls"], _java, ("java", "javac")),
    Program("fio", ["fio", "--output=out", "job.fio"], _fio, ("fio",)),
    Program(
        "MPI-IO",
        ["mpirun", "--oversubscribe", "-n", "2", "./mpi_io"],
        _compiled("mpi_io", compiler="mpicc"),
        ("mpirun", "mpicc"),
        variables=_MPIRUN,
    ),
    Program("static", ["./calls"], _compiled("calls", "-static"), ("gcc",), escapes=("./calls",)),
    Program("Go", ["./calls"], _go, ("go",), escapes=("./calls",)),
    Program("calls of C, by ptrace", ["./calls"], _compiled("calls"), ("gcc",), by_ptrace=True),
    Program("static, by ptrace", ["./calls"], _compiled("calls", "-static"), ("gcc",), by_ptrace=True),
    Program("Go, by ptrace", ["./calls"], _go, ("go",), by_ptrace=True, variables=_GO_ASKS_ONCE),
)

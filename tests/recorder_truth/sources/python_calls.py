"""What Python's library does with files: trees, temporary files, locks, maps, other programs."""

import contextlib
import fcntl
import glob
import mmap
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

here = Path.cwd()
shutil.copytree("source", "copied", symlinks=True)
for path, _, names in os.walk("copied"):
    for name in names:
        os.stat(os.path.join(path, name), follow_symlinks=False)
assert sorted(here.rglob("file*"))
assert glob.glob("copied/**/file 1", recursive=True)
with tempfile.TemporaryDirectory(dir=".") as scratch:
    Path(scratch, "a").write_bytes(b"a" * 70_000)
    os.link(Path(scratch, "a"), Path(scratch, "b"))
    os.replace(Path(scratch, "b"), Path(scratch, "c"))
    shutil.copyfile(Path(scratch, "a"), Path(scratch, "d"))
with tempfile.NamedTemporaryFile(dir=".") as named, tempfile.TemporaryFile(dir=".") as nameless:
    named.write(b"text")
    named.flush()
    os.fsync(named.fileno())
    nameless.write(b"more text" * 3000)
    nameless.seek(0)
    nameless.read(10)
    fcntl.lockf(named, fcntl.LOCK_EX)
    fcntl.flock(nameless, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.posix_fallocate(named.fileno(), 0, 9000)
    with mmap.mmap(named.fileno(), 9000) as mapped:
        mapped[5] = 1
        mapped.flush()
descriptor = os.open("data", os.O_CREAT | os.O_RDWR | os.O_APPEND)
os.write(descriptor, b"x" * 5000)
os.pwritev(descriptor, [b"a", b"b" * 10], 100)
os.preadv(descriptor, [bytearray(100)], 5)
os.sendfile(os.open("sent", os.O_CREAT | os.O_WRONLY), descriptor, 0, 1000)
os.copy_file_range(descriptor, os.open("sent", os.O_WRONLY), 100, 10)
os.truncate("data", 10)
os.utime("data", (10**9, 10**9))
os.chmod("data", 0o600)
with contextlib.suppress(OSError):  # not on every file system
    os.setxattr("data", "user.a", b"b")
os.listxattr("data")
os.closerange(20, 40)
directory = os.open("copied", os.O_DIRECTORY)
os.mkdir("new", dir_fd=directory)
os.rename("new", "newer", src_dir_fd=directory, dst_dir_fd=directory)
os.rmdir("newer", dir_fd=directory)
os.listdir(directory)
with os.scandir("copied") as entries:
    assert [entry.stat().st_size for entry in entries]
for missing in ("nothing", "nothing/at all"):
    assert not os.path.exists(missing)
with zipfile.ZipFile("x.zip", "w") as archive:
    archive.write("data")
with sqlite3.connect("x.db") as database:
    database.execute("create table t (a)")
    database.executemany("insert into t values (?)", [(number,) for number in range(100)])
# A child of vfork, then one of fork, without a call between.
subprocess.run(["cat", "data"], check=True, stdout=subprocess.DEVNULL, stderr=descriptor)
subprocess.run(["cat"], check=True, input=b"text", stdout=subprocess.DEVNULL, cwd="copied", close_fds=False)
if os.fork() == 0:
    Path("of a child").write_text("text")
    os._exit(0)
os.wait()
assert os.spawnlp(os.P_WAIT, "ls", "ls", "-lR", ".") == 0
os.chdir("copied")
os.replace("../data", "moved")
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "open('moved').read()"])

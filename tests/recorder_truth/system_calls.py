"""Which class of calls each system call is of, and where it says which file: the one table that the test goes by.

A function of the C library that makes the same system call once is counted like it. Those that make others, none or
several stand in `FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Of:
    """The operation of a system call, and the arguments that name its file."""

    operation: str
    """A word of `protocol.record_layout.OPERATIONS`."""
    descriptor: int | None = None
    """The place of a descriptor: of the file, or where there is a path of the directory that it is relative to."""
    path: int | None = None
    """The place of a path."""
    opens: bool = False
    """It returns a descriptor."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(operation: str, names: str, descriptor: int | None = None, path: int | None = None) -> dict[str, Of]:
    return {name: Of(operation, descriptor, path) for name in names.split()}


COPIES = {"sendfile": (1, 0), "copy_file_range": (0, 2), "splice": (0, 2)}
"""Copies within the kernel: the places of the descriptors that they copy from and to."""

SYSTEM_CALLS: dict[str, Of] = {
    "open": Of("open", path=0, opens=True),
    "creat": Of("open", path=0, opens=True),
    "openat": Of("open", 0, 1, opens=True),
    "openat2": Of("open", 0, 1, opens=True),
    "open_by_handle_at": Of("open", opens=True),
    "memfd_create": Of("open", opens=True),
    **_each("close", "close", 0),
    **_each("close", "close_range"),
    **_each("seek", "lseek", 0),
    **_each("sync", "fsync fdatasync sync_file_range syncfs", 0),
    **_each("sync", "sync"),
    **_each("sync", "msync"),  # of the file that is mapped there
    **_each("stat", "stat lstat access readlink statfs getxattr lgetxattr listxattr llistxattr", path=0),
    **_each("stat", "fstat fstatfs fgetxattr flistxattr", 0),
    **_each("stat", "newfstatat statx faccessat faccessat2 readlinkat name_to_handle_at", 0, 1),
    **_each("list", "getdents getdents64", 0),
    **_each("create", "mkdir mknod", path=0),
    **_each("create", "mkdirat mknodat", 0, 1),
    **_each("create", "link symlink", path=1),
    **_each("create", "linkat", 2, 3),
    **_each("create", "symlinkat", 1, 2),
    **_each("remove", "unlink rmdir", path=0),
    **_each("remove", "unlinkat", 0, 1),
    **_each("rename", "rename", path=0),
    **_each("rename", "renameat renameat2", 0, 1),
    **_each("truncate", "truncate", path=0),
    **_each("truncate", "ftruncate fallocate", 0),
    **_each("attribute", "chmod chown lchown utime utimes setxattr lsetxattr removexattr lremovexattr", path=0),
    **_each("attribute", "fchmod fchown fsetxattr fremovexattr", 0),
    **_each("attribute", "fchmodat fchmodat2 fchownat futimesat utimensat", 0, 1),
    **_each("lock", "flock", 0),
    **_each("lock", "fcntl", 0),  # `is_lock`
    **_each("advise", "fadvise64 readahead", 0),
    **_each("read", "read pread64 readv preadv preadv2", 0),
    **_each("write", "write pwrite64 writev pwritev pwritev2", 0),
    **_each("copy from", " ".join(COPIES)),
    **_each("map", "mmap", 4),  # `is_map`
}

LOCKS = frozenset({"F_GETLK", "F_SETLK", "F_SETLKW", "F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW"})
DUPLICATIONS = frozenset({"F_DUPFD", "F_DUPFD_CLOEXEC"})
"""Commands of `fcntl`."""

PROCESS_CALLS = _words("clone clone3 fork vfork execve execveat dup dup2 dup3 fcntl chdir fchdir getcwd munmap mremap")
"""System calls that change processes, open descriptors or maps."""

KERNEL_READS = _words("read pread64 readv preadv preadv2 sendfile copy_file_range")
KERNEL_WRITES = _words("write pwrite64 writev pwritev pwritev2 sendfile copy_file_range")
"""What the kernel counts of a thread (`rchar`, `syscr`; `wchar`, `syscw`)."""

STREAMS = _words(
    "fread fgets fgetc getc getchar uflow underflow gets getw getline getdelim fwrite fputs puts fputc putc putchar "
    "overflow putw printf fprintf vprintf vfprintf scanf fscanf vscanf vfscanf fgetwc getwc getwchar fgetws fputwc "
    "putwc putwchar fputws wuflow wunderflow woverflow wprintf fwprintf vwprintf vfwprintf wscanf fwscanf vwscanf "
    "vfwscanf fseek fseeko fsetpos rewind ungetc ungetwc ftell ftello fgetpos fflush fcloseall popen pclose setvbuf "
    "setbuf setlinebuf setbuffer perror fdopen"
)
"""Functions on streams: whether a call reaches the kernel is nothing that a program can see."""


def _all(functions: Iterable[str], operations: dict[str, str]) -> dict[str, dict[str, str]]:
    return dict.fromkeys(functions, operations)


FUNCTIONS: dict[str, dict[str, str]] = {
    **_all(STREAMS, {}),
    **_all(("fopen", "freopen", "tmpfile"), {"openat": "open"}),
    "fclose": {"close": "close"},
    "opendir": {"openat": "list"},
    "fdopendir": {"newfstatat": "list", "fstat": "list"},
    "closedir": {"close": "list"},
    **_all(_words("readdir readdir_r scandir scandirat ftw nftw glob"), {}),
}
"""Functions of which only some system calls are their own: these, and what they are counted as.

All others that they make pass by within the C library."""

SEVERAL: dict[str, str] = {
    **dict.fromkeys(("realpath", "canonicalize_file_name", "euidaccess", "eaccess"), "stat"),
    **dict.fromkeys(("fchmodat", "lchmod"), "attribute"),
    **dict.fromkeys(("dprintf", "vdprintf"), "write"),
    "remove": "remove",
}
"""Functions that are one call for one or more system calls, and what they are counted as: strace does not say which
belong together."""

OWN_FILES = _words(
    # locales, character sets, catalogues of messages
    "setlocale newlocale iconv_open bindtextdomain gettext dcgettext dgettext ngettext dcngettext strerror strerror_r "
    "strerror_l strsignal catopen nl_langinfo "
    # users, hosts, services, time zones
    "getpwnam getpwuid getpwnam_r getpwuid_r getpwent getgrnam getgrgid getgrnam_r getgrgid_r getgrouplist initgroups "
    "getaddrinfo gethostbyname getservbyname getlogin tzset localtime localtime_r mktime strftime ctime ctime_r "
    # libraries and what the machine has
    "dlopen dlmopen dlsym dlclose sysconf get_nprocs get_nprocs_conf getloadavg pthread_getattr_np "
    "malloc calloc realloc free libc_malloc libc_free libc_calloc libc_realloc "
    # terminals, semaphores, lists of mounts, messages
    "openpty ttyname ttyname_r isatty sem_open sem_unlink sem_close setmntent getmntent getmntent_r endmntent error "
    "error_at_line warn warnx vwarn err errx verr psignal openlog syslog wordexp abort exit "
    # where a directory or a stream is; trees of files
    "rewinddir seekdir telldir ftell ftello fgetpos fts_open fts_read fts_children fts_close "
    "fts64_open fts64_read fts64_children fts64_close pathconf fpathconf"
)
"""Functions that use files for themselves. They have no hook: where their names look like I/O, the reason is in
crates/recorder/tests/entry_points.rs."""

_PREFIXES = ("ioassay_", "__isoc99_", "__isoc23_", "__", "_IO_")
_SUFFIXES = ("_chk", "_unlocked", "64")


def plain_name(function: str) -> str:
    """The name of a function of the C library without what tells its variants apart."""
    for prefix in _PREFIXES:
        function = function.removeprefix(prefix)
    for suffix in _SUFFIXES:
        function = function.removesuffix(suffix)
    return function

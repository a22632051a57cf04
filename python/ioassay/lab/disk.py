"""Disks of a lab: files without a name behind loop devices that detach themselves when nobody uses them any more.

They have direct I/O, so that the page cache holds the pages of the file system on a disk, and not those of the file
below it a second time.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioassay.errors import CannotRun

# Constants of <linux/loop.h>.
_LOOP_CTL_GET_FREE = 0x4C82
_LOOP_CONFIGURE = 0x4C0A
_LO_FLAGS_AUTOCLEAR = 4
_LO_FLAGS_DIRECT_IO = 16
_LOOP_CONFIG = struct.Struct("=II5Q4I64s64s32s2Q8Q")
"""`struct loop_config`: file descriptor, block size, `struct loop_info64`, reserved."""

_BLOCK_BYTES = 4096
_ATTEMPTS = 20


@contextmanager
def disk(place: Path, size_bytes: int) -> Iterator[str]:
    """A new disk of this size, whose file takes room in the directory `place` as it is written.

    Yields its path, such as `/dev/loop0`. It lives as long as the context, and beyond that as long as a mount uses it.
    Raises `CannotRun`.
    """
    try:
        file = os.open(place, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotRun(
            f"{place} does not support unnamed files (O_TMPFILE): {error.strerror}.",
            "Use a directory on a local disk: --disk DIR.",
        ) from error
    try:
        os.ftruncate(file, size_bytes)
        number, device = _attach(file)
    finally:
        os.close(file)
    try:
        yield f"/dev/loop{number}"
    finally:
        os.close(device)


def _attach(file: int) -> tuple[int, int]:
    """Attaches `file` to a loop device; returns its number and its open descriptor."""
    flags = _LO_FLAGS_AUTOCLEAR | _LO_FLAGS_DIRECT_IO
    info = (0, 0, 0, 0, 0, 0, 0, 0, flags, b"", b"", b"", 0, 0)
    for _ in range(_ATTEMPTS):
        try:
            with open("/dev/loop-control", "rb") as control:
                number = fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
            device = os.open(f"/dev/loop{number}", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise CannotRun(
                f"No loop device is available: {error.strerror}.", "Load the module: modprobe loop"
            ) from error
        try:
            fcntl.ioctl(device, _LOOP_CONFIGURE, _LOOP_CONFIG.pack(file, _BLOCK_BYTES, *info, *[0] * 8))
        except OSError as error:
            os.close(device)
            if error.errno != errno.EBUSY:  # otherwise another process took it first
                raise CannotRun(f"/dev/loop{number} cannot be set up: {error.strerror}.") from error
        else:
            return number, device
    raise CannotRun("Other processes took every free loop device first.", "Try again.")


def attachment(device: str) -> int | None:
    """The sequence number of the attachment of `device`; `None` if no file is attached.

    The kernel numbers attachments. After a disk is gone, another lab may take the device a moment later.
    """
    block = Path("/sys/block") / Path(device).name
    if not (block / "loop/backing_file").exists():
        return None
    return int((block / "diskseq").read_text())

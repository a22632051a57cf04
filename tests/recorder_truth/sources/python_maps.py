"""Files in memory: maps that are read, written, synced, resized, of a part of a file, and inherited."""

import mmap
import os
import sys

PAGE = mmap.PAGESIZE

with open("mapped", "w+b") as file:
    file.truncate(16 * PAGE)
    with mmap.mmap(file.fileno(), 16 * PAGE) as shared:
        shared[:PAGE] = b"x" * PAGE
        shared.flush()
        shared[5 * PAGE : 6 * PAGE] = b"y" * PAGE
        shared.resize(20 * PAGE)
with open("data-0", "rb") as file:
    part = mmap.mmap(file.fileno(), 4 * PAGE, access=mmap.ACCESS_READ, offset=PAGE)
assert len(part[:]) == 4 * PAGE
child = os.fork()
if child == 0:
    total = sum(part[: 2 * PAGE])
    os._exit(0 if total >= 0 else 1)
assert os.waitpid(child, 0)[1] == 0
part.close()
with open("data-1", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as copy:
    copy[0] = 1
sys.exit(0)

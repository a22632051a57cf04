"""Threads that read files in pieces."""

import os
import threading
from pathlib import Path


def read(number: int) -> None:
    """Reads a file with a buffer, without one, and at offsets."""
    with Path(f"data-{number}").open("rb") as file:
        while file.read(1000):
            pass
        file.seek(5)
    descriptor = os.open(f"data-{number}", os.O_RDONLY)
    for offset in range(0, 50_000, 5000):
        os.pread(descriptor, 4096, offset)
    os.readv(descriptor, [bytearray(100), bytearray(200)])
    os.close(descriptor)


threads = [threading.Thread(target=read, args=(number % 8,)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

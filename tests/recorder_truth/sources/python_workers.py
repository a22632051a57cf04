"""Workers that load samples of files, as DataLoaders have them: `fork` or `spawn`."""

import multiprocessing
import os
import sys
from pathlib import Path


def load(number: int) -> int:
    """A sample: a part of a file, and what is known of it."""
    path = Path(f"data-{number % 8}")
    size = os.stat(path).st_size
    with path.open("rb") as file:
        file.seek(number * 1000 % size)
        return len(file.read(1000))


def main() -> None:
    """Loads samples with two workers."""
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert sum(pool.imap_unordered(load, range(40), chunksize=2)) > 30_000
        pool.close()
        pool.join()


if __name__ == "__main__":
    main()

"""A pool of workers that read files and is terminated by SIGTERM while they do."""

import multiprocessing
import os
import time

Started = multiprocessing.get_context("fork").Value("i", 0)


def read(number: int) -> None:
    """Reads a file over and over, with pauses."""
    with open(f"data-{number}", "rb", buffering=0) as file:
        while True:
            file.seek(0)
            while file.read(20_000):
                pass
            if not file.closed:
                with Started.get_lock():
                    Started.value += 1
            time.sleep(0.05)


def main() -> None:
    """Starts workers, and terminates them."""
    pool = multiprocessing.get_context("fork").Pool(2)
    pool.map_async(read, range(2))
    while Started.value < 6:
        time.sleep(0.01)
    os.stat("data-0")
    pool.terminate()
    pool.join()


if __name__ == "__main__":
    main()

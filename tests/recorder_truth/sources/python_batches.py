"""What training does to files: a pool forked for each batch, and loaders of samples that end by SIGTERM."""

import multiprocessing
import os
import signal
import sys

CONTEXT = multiprocessing.get_context("fork")
SAMPLES = 8


def load(number):
    """A part of a sample."""
    with open(f"data-{number % SAMPLES}", "rb", buffering=0) as file:
        file.seek(number * 100)
        return len(file.read(5_000))


def serve(requests, answers):
    """A worker of a loader: it answers until it is killed."""
    for number in iter(requests.get, None):
        answers.put(load(number))


def pools():
    """A pool for each batch."""
    for batch in range(3):
        with CONTEXT.Pool(2) as pool:
            assert pool.map(load, range(batch * 4, batch * 4 + 4), chunksize=1) == [5_000] * 4


def loaders():
    """Workers for all batches."""
    requests, answers = CONTEXT.SimpleQueue(), CONTEXT.SimpleQueue()
    workers = [CONTEXT.Process(target=serve, args=(requests, answers)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for number in range(12):
        requests.put(number)
    assert [answers.get() for _ in range(12)] == [5_000] * 12
    for worker in workers:
        os.kill(worker.pid, signal.SIGTERM)
        worker.join()
        assert worker.exitcode == -signal.SIGTERM


{"pools": pools, "loaders": loaders}[sys.argv[1]]()

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from ioassay.processes.garbage_collection import FIRST_LOOK, long_lived, postpone


def test_the_collector_is_paused_within_and_works_again_after_an_exception() -> None:
    def fail() -> None:
        with long_lived():
            assert not gc.isenabled()
            raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        fail()
    assert gc.isenabled()


def test_objects_created_within_are_not_collected_again() -> None:
    with long_lived():
        objects = [[number] for number in range(1000)]
    assert gc.is_tracked(objects)
    assert all(objects is not tracked for tracked in gc.get_objects())


@pytest.fixture(autouse=True)
def _as_before() -> object:
    yield
    gc.unfreeze()


def test_the_first_collection_is_postponed_and_later_ones_are_not() -> None:
    usual, callbacks = gc.get_threshold(), list(gc.callbacks)
    postpone()
    assert gc.get_threshold() == (FIRST_LOOK, *usual[1:])
    gc.collect(0)
    assert (gc.get_threshold(), gc.callbacks) == (usual, callbacks)


def test_a_short_command_ends_before_the_first_collection() -> None:
    code = (
        "import gc, sys\nfrom ioassay.__main__ import main\nsys.argv = ['ioassay', 'studies']\n"
        "before = gc.get_stats()[0]['collections']\n"
        "try: main()\nfinally: print(gc.get_stats()[0]['collections'] - before, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "0"

from __future__ import annotations

import gc

import pytest

from ioassay.garbage_collection import long_lived


def test_the_collector_is_paused_within_and_works_again_after_an_exception() -> None:
    def fail() -> None:
        with long_lived():
            assert not gc.isenabled()
            raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        fail()
    assert gc.isenabled()


def test_what_was_made_within_is_not_looked_at_again() -> None:
    with long_lived():
        made = [[number] for number in range(1000)]
    assert gc.is_tracked(made)
    assert all(made is not one for one in gc.get_objects())


@pytest.fixture(autouse=True)
def _as_before() -> object:
    yield
    gc.unfreeze()

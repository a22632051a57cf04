from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.launchers import LAUNCHERS, Placement, find_launcher


@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_returns_tokens(name: str) -> None:
    tokens = find_launcher(name).tokens(Placement(clients=4, ranks_per_client=2))
    assert all(isinstance(token, str) for token in tokens)


def test_local_puts_nothing_before_the_engine() -> None:
    assert find_launcher("local").tokens(Placement(clients=4, ranks_per_client=2)) == []


def test_an_unknown_launcher_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no launcher `slurm`") as refused:
        find_launcher("slurm")
    assert "local" in refused.value.remedy

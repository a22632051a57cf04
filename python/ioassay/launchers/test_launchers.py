from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.launchers import LAUNCHERS, Node, Placement, find_launcher

ENGINE = Path("/opt/ioassay-engine")


@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_returns_tokens(name: str) -> None:
    tokens = find_launcher(name).tokens(ENGINE, Placement(clients=4, ranks_per_client=2))
    assert str(ENGINE) in tokens


def test_local_starts_nothing_but_the_engine() -> None:
    assert find_launcher("local").tokens(ENGINE, Placement(clients=4, ranks_per_client=2)) == [str(ENGINE)]


def test_local_spreads_clients_over_the_first_nodes() -> None:
    nodes = [Node("client1", 11), Node("client2", 12), Node("client3", 13)]

    def tokens(clients: int) -> list[str]:
        return find_launcher("local").tokens(ENGINE, Placement(clients, ranks_per_client=2, nodes=nodes))

    assert tokens(2) == [str(ENGINE), "--host", "11", "--host", "12"]
    assert tokens(8) == [str(ENGINE), "--host", "11", "--host", "12", "--host", "13"]


def test_an_unknown_launcher_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no launcher `slurm`") as refused:
        find_launcher("slurm")
    assert "local" in refused.value.remedy

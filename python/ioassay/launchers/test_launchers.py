from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.launchers import LAUNCHERS, Node, Placement, find_launcher, mpirun, srun
from ioassay.launchers.hosts import allocated, typed

ENGINE = Path("/opt/ioassay-engine")
LIBRARY = Path("/cache/mpi.so")
THREE = [Node("n1"), Node("n2"), Node("n3")]


@pytest.fixture(params=["open-mpi", "mpich"])
def family(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(mpirun, "mpirun", lambda: Path("/mpi/bin/mpirun"))
    monkeypatch.setattr(mpirun, "family_of_mpirun", lambda command: request.param)
    monkeypatch.setattr(srun, "mpicc", lambda: Path("/mpi/bin/mpicc"))
    monkeypatch.setattr(srun, "family_of_mpicc", lambda compiler: request.param)
    return str(request.param)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_ends_with_the_engine_that_meets_over_its_mpi(name: str, family: str) -> None:
    placement = Placement(clients=2, ranks_per_client=2, nodes=THREE, library=LIBRARY)
    launcher = find_launcher(name)
    tokens = launcher.tokens(ENGINE, placement)
    if launcher.needs_mpi:
        assert tokens[-3:] == [str(ENGINE), "--mpi", str(LIBRARY)]
        assert tokens[:3] == [str(ENGINE), "launch", "--"]
    else:
        assert tokens[0] == str(ENGINE)


def test_local_starts_nothing_but_the_engine() -> None:
    assert find_launcher("local").tokens(ENGINE, Placement(clients=4, ranks_per_client=2)) == [str(ENGINE)]


def test_local_spreads_clients_over_the_first_nodes() -> None:
    nodes = [Node(f"client{number}", Path(f"/proc/1{number}")) for number in (1, 2, 3)]

    def tokens(clients: int) -> list[str]:
        return find_launcher("local").tokens(ENGINE, Placement(clients, ranks_per_client=2, nodes=nodes))

    assert tokens(2) == [str(ENGINE), "--host", "/proc/11", "--host", "/proc/12"]
    assert tokens(8) == [str(ENGINE), "--host", "/proc/11", "--host", "/proc/12", "--host", "/proc/13"]


def test_mpirun_takes_the_first_nodes_and_gives_each_its_ranks(family: str) -> None:
    tokens = find_launcher("mpirun").tokens(ENGINE, Placement(2, 4, THREE, LIBRARY))
    where = {
        "open-mpi": ["--host", "n1:4,n2:4", "--map-by", "slot", "-np", "8"],
        "mpich": ["-hosts", "n1:4,n2:4", "-n", "8"],
    }
    assert tokens[3:-3] == ["/mpi/bin/mpirun", *where[family]]


def test_clients_beyond_the_nodes_share_them_in_blocks(family: str) -> None:
    assert Placement(5, 2, THREE).ranks_on_each == [4, 4, 2]
    assert "n1:4,n2:4,n3:2" in find_launcher("mpirun").tokens(ENGINE, Placement(5, 2, THREE, LIBRARY))


def test_srun_uses_the_plug_in_of_each_mpi(family: str) -> None:
    tokens = find_launcher("srun").tokens(ENGINE, Placement(2, 4, THREE, LIBRARY, options=["--account=p1"]))
    assert {"--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--nodelist=n1,n2", "--account=p1"} <= set(tokens)
    assert f"--mpi={'pmix' if family == 'open-mpi' else 'pmi2'}" in tokens


def test_srun_is_refused_for_uneven_clients_and_without_an_allocation(family: str) -> None:
    for placement in (Placement(5, 2, THREE, LIBRARY), Placement(1, 1, (), LIBRARY)):
        with pytest.raises(CannotRun):
            find_launcher("srun").tokens(ENGINE, placement)


def test_a_launcher_in_a_lab_is_started_on_the_first_host(family: str) -> None:
    tokens = find_launcher("mpirun").tokens(
        ENGINE, Placement(2, 1, [Node("client1", Path("/proc/77")), Node("client2", Path("/proc/78"))], LIBRARY)
    )
    assert tokens[:5] == [str(ENGINE), "--host", "/proc/77", "launch", "--"]


def test_an_unknown_launcher_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no launcher `slurm`") as refused:
        find_launcher("slurm")
    assert "local" in refused.value.remedy


def test_hosts_are_typed_or_read_from_a_hostfile(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# the first rack\nn1 slots=8\n\nn2:4\nn1 slots=8\n")
    assert [node.name for node in typed(str(file))] == ["n1", "n2"]
    assert [node.name for node in typed("n3, n4:2")] == ["n3", "n4"]
    for wrong in ("", "a;b", "n1,$(reboot)"):
        with pytest.raises(UsageError):
            typed(wrong)


def test_no_nodes_are_allocated_outside_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    assert allocated() == []

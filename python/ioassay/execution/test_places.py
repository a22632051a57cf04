"""A lab is looked up once for each place, with its hosts, credentials and record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.execution.places import lab_access, places
from ioassay.lab import record, running

MEMBERS = [
    record.Member(name=name, role="client" if name.startswith("client") else "server", address="10.0.0.1")
    for name in ("client1", "client2", "server1")
]
TARGETS = [
    record.Target(storage="s3", about="SeaweedFS", kind="url", place="s3://bucket", api="s3", environment={"KEY": "k"}),
    record.Target(storage="nfs", about="NFS", kind="directory", place="/run/ioassay/mnt/nfs", api="posix"),
]


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of labs that were looked up: `one`, which is whole, and `lost`, of which a client has ended."""
    names: list[str] = []

    def find(name: str) -> Any:
        names.append(name)
        lab = record.Lab(
            name=name,
            title=name,
            yaml="",
            started="2026-01-01T00:00:00Z",
            hosts=MEMBERS,
            link_bits_per_s=None,
            ssh=False,
            slurm=False,
            targets=TARGETS,
            disks={},
            disk_servers={},
            disk_bytes=0,
            disk_place="/var/tmp",
        )
        up = {member.name: SimpleNamespace(first=None) for member in MEMBERS}
        if name == "lost":
            del up["client2"]
        return SimpleNamespace(name=name, hosts=lambda: up, ready=lambda: lab)

    monkeypatch.setattr(running, "find", find)
    return names


def test_a_storage_system_of_a_lab_brings_its_hosts_credentials_and_record(lookups: list[str]) -> None:
    (place,) = places(["lab:one/s3"], None, None)
    assert (place.target.place, place.storage, place.clients) == ("s3://bucket", "lab:one/s3", "lab:one")
    assert place.lab is not None
    assert [node.name for node in place.lab.nodes] == ["client1", "client2"]
    assert place.lab.secrets == {"KEY": "k"}
    assert (place.lab.entry.about, place.lab.entry.hosts) == ("SeaweedFS", ["client1", "client2"])
    assert lookups == ["one"]
    assert place.again() == place
    assert lookups == ["one", "one"]


def test_all_storage_systems_of_a_lab_are_found_with_one_lookup(lookups: list[str]) -> None:
    assert [place.name for place in places(["lab:one"], None, None)] == ["s3", "nfs"]
    assert lookups == ["one"]


def test_a_target_may_be_measured_from_the_hosts_of_another_lab(lookups: list[str]) -> None:
    (place,) = places(["lab:one/s3"], None, "lab:other")
    assert place.clients == "lab:other"
    assert place.lab is not None
    assert place.lab.secrets == {"KEY": "k"}
    assert lookups == ["one", "other"]
    assert lab_access(place.storage, place.clients) == place.lab


def test_this_node_needs_no_lab(lookups: list[str]) -> None:
    assert lab_access(None, None) is None
    assert not lookups


@pytest.mark.parametrize(
    ("typed", "clients", "error", "says"),
    [
        ("lab:", None, UsageError, "needs the name of a lab"),
        ("lab:one/tape", None, UsageError, "has no storage `tape`"),
        ("lab:one", "node1", UsageError, "is not a list of clients"),
        ("lab:lost", None, CannotRun, "has lost client2"),
    ],
)
@pytest.mark.usefixtures("lookups")
def test_a_place_that_is_not_there_is_refused(typed: str, clients: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        places([typed], None, clients)

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from ioassay.execution.clean import sees_target
from ioassay.mounts import Mount
from ioassay.store.document import RunDocument
from ioassay.testing.builder import RunBuilder

BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _node(**attributes: Any) -> dict[str, Any]:
    """A node that has this machine's root mounted, from a server."""
    root = next(mount for mount in psutil.disk_partitions(all=True) if mount.mountpoint == "/")
    mount = {"mount_point": "/", "source": root.device, "file_system": root.fstype}
    return {"boot_id": "another", "block_device": None, "mount": mount, **attributes}


def _run(**attributes: Any) -> RunDocument:
    return (
        RunBuilder().workload("w").clients(1).build().document.model_copy(update={"target": "/nowhere", **attributes})
    )


@pytest.mark.parametrize(
    ("node", "sees"),
    [
        (_node(), True),
        (_node(mount={"mount_point": "/", "source": "server:/export", "file_system": "nfs4"}), False),
        (_node(mount=None), False),
        (_node(block_device={"name": "sda"}), False),
        (_node(block_device={"name": "sda"}, boot_id=BOOT_ID), True),
    ],
    ids=["one server", "another server", "nothing known", "a disk of another machine", "a disk of this one"],
)
def test_a_target_is_seen_if_the_same_file_system_is_mounted(node: dict[str, Any], sees: bool) -> None:
    assert sees_target(_run(environment=[node])) is sees


@pytest.mark.parametrize(("boot_id", "sees"), [("another", False), (BOOT_ID, True)])
def test_a_mount_without_a_source_is_only_seen_on_its_machine(
    boot_id: str, sees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ioassay.execution.clean.mounts.mount_of", lambda path: Mount("/tmp", None, "tmpfs"))
    node = _node(boot_id=boot_id, mount={"mount_point": "/tmp", "source": None, "file_system": "tmpfs"})
    assert sees_target(_run(environment=[node])) is sees


def test_a_target_is_unknown_before_nodes_are_recorded_but_a_url_is_not() -> None:
    assert not sees_target(_run(environment=[]))
    assert sees_target(_run(target="s3://bucket", target_kind="url", environment=[]))

from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import change_of, fine, not_applicable, not_readable
from ioassay.testing.storage_nodes import (
    BEEGFS_CLIENT,
    BEEGFS_META,
    BEEGFS_STORAGE,
    MOUNTINFO,
    Node,
    beegfs_client,
    beegfs_server,
    ext4_host,
)
from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.beegfs import (
    BEEGFS_CLIENT_CACHE,
    BEEGFS_CONNECTIONS,
    BEEGFS_DURABILITY,
    BEEGFS_METADATA_ATTRIBUTES,
    BEEGFS_METADATA_RAID,
    BEEGFS_RDMA,
    BEEGFS_WORKER_BUFFERS,
    BEEGFS_WORKERS,
    RULES,
)

CLIENT_RULES, SERVER_RULES = RULES[:4], RULES[3:]


def _client(old: str, new: str) -> Node:
    return beegfs_client().with_text(BEEGFS_CLIENT, old, new)


def _server(path: str, old: str, new: str) -> Node:
    return beegfs_server().with_text(path, old, new)


@pytest.mark.parametrize("rule", CLIENT_RULES, ids=lambda rule: rule.name)
def test_a_well_set_client_is_fine(rule: Rule) -> None:
    assert fine(rule, beegfs_client())


@pytest.mark.parametrize("rule", SERVER_RULES, ids=lambda rule: rule.name)
def test_a_well_set_server_is_fine(rule: Rule) -> None:
    assert fine(rule, beegfs_server())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_beegfs(rule: Rule) -> None:
    assert "no BeeGFS" in not_applicable(rule, ext4_host())


@pytest.mark.parametrize("rule", CLIENT_RULES, ids=lambda rule: rule.name)
def test_settings_of_a_client_that_cannot_be_read(rule: Rule) -> None:
    [unreadable] = not_readable(rule, beegfs_client().with_unreadable(BEEGFS_CLIENT))
    assert unreadable.what == f"/{BEEGFS_CLIENT}"


@pytest.mark.parametrize("rule", [BEEGFS_CLIENT_CACHE, BEEGFS_CONNECTIONS, BEEGFS_RDMA], ids=lambda rule: rule.name)
def test_settings_that_are_not_listed(rule: Rule) -> None:
    node = beegfs_client().with_files({BEEGFS_CLIENT: "cfgFile = /etc/beegfs/beegfs-client.conf\n"})
    assert "snapshot lacks it" in not_readable(rule, node)[0].reason


def test_the_settings_in_force_count_and_otherwise_the_file() -> None:
    assert fine(BEEGFS_RDMA, beegfs_client())[0].startswith("RDMA")
    assert change_of(BEEGFS_RDMA, beegfs_client().with_files({BEEGFS_CLIENT: None})).value == "TCP"
    gone = beegfs_client().with_files({BEEGFS_CLIENT: None, "etc/beegfs/beegfs-client.conf": None})
    assert not_readable(BEEGFS_RDMA, gone)[0].what == "/etc/beegfs/beegfs-client.conf"


def test_another_file_of_settings() -> None:
    node = beegfs_client().with_text(MOUNTINFO, "beegfs-client.conf", "scratch.d/beegfs-client.conf")
    node = node.with_files({"etc/beegfs/scratch.d/beegfs-client.conf": "tuneFileCacheType = none\n"})
    change = change_of(BEEGFS_CLIENT_CACHE, node)
    assert "in /etc/beegfs/scratch.d/beegfs-client.conf" in change.command


def test_several_daemons_of_one_node() -> None:
    second = "storeStorageDirectory = /export/t3\ntuneNumWorkers = 4\n"
    node = beegfs_server().with_files({"etc/beegfs/second.d/beegfs-storage.conf": second})
    assert change_of(BEEGFS_WORKERS, node).subject == "/etc/beegfs/second.d/beegfs-storage.conf"


class TestClient:
    @pytest.mark.parametrize("value", ["none", "paged"])
    def test_modes_to_leave(self, value: str) -> None:
        change = change_of(BEEGFS_CLIENT_CACHE, _client("= buffered", f"= {value}"))
        assert (change.value, change.wanted) == (value, "buffered")
        assert "tuneFileCacheType = buffered in /etc/beegfs/beegfs-client.conf" in change.command

    def test_native_mode_and_where_it_is_not_valid(self) -> None:
        node = _client("= buffered", "= native")
        assert fine(BEEGFS_CLIENT_CACHE, node)[0].startswith("native")
        both = node.with_text(BEEGFS_META, "storeMetaDirectory           =", "storeMetaDirectory = /meta")
        assert "server" in change_of(BEEGFS_CLIENT_CACHE, both).because

    @pytest.mark.parametrize("name", ["tuneRemoteFSync", "sysSessionChecksEnabled"])
    def test_what_can_lose_data(self, name: str) -> None:
        change = change_of(BEEGFS_DURABILITY, _client(f"{name} = 1", f"{name} = 0"))
        assert (change.subject, change.value) == (f"/beegfs {name}", "false")

    @pytest.mark.parametrize(("now", "wanted"), [(2, "12 connections"), (128, "16 connections")])
    def test_connections(self, now: int, wanted: str) -> None:
        assert (
            change_of(BEEGFS_CONNECTIONS, _client("connMaxInternodeNum = 12", f"connMaxInternodeNum = {now}")).wanted
            == wanted
        )

    def test_tcp_beside_infiniband(self) -> None:
        assert "mlx5_0/1" in change_of(BEEGFS_RDMA, _client("connUseRDMA = 1", "connUseRDMA = 0")).because

    def test_tcp_without_infiniband(self) -> None:
        node = _client("connUseRDMA = 1", "connUseRDMA = 0")
        bare = Node(node.host, {path: text for path, text in node.files.items() if "infiniband" not in path})
        assert "RDMA port" in not_applicable(BEEGFS_RDMA, bare)


class TestServer:
    def test_workers_of_a_node_for_metadata_alone(self) -> None:
        node = beegfs_server().with_files({BEEGFS_STORAGE: None})
        change = change_of(BEEGFS_WORKERS, node)
        assert (change.value, change.wanted) == ("0, which means 32 workers", "64 workers")
        assert fine(BEEGFS_WORKERS, node.with_text(BEEGFS_META, "Workers = 0", "Workers = 80")) == ["80 workers"]

    def test_few_workers(self) -> None:
        assert change_of(BEEGFS_WORKERS, _server(BEEGFS_META, "Workers = 0", "Workers = 8")).wanted == "32 workers"
        assert change_of(BEEGFS_WORKERS, _server(BEEGFS_STORAGE, "Workers = 12", "Workers = 4")).wanted == "12 workers"

    def test_workers_that_all_targets_share(self) -> None:
        node = _server(BEEGFS_STORAGE, "PerTargetWorkers = true", "PerTargetWorkers = false")
        assert change_of(BEEGFS_WORKERS, node).wanted == "workers for each target"

    def test_small_buffers(self) -> None:
        change = change_of(BEEGFS_WORKER_BUFFERS, _server(BEEGFS_STORAGE, "WriteSize = 128k", "WriteSize = 8m"))
        assert (change.value, change.wanted) == ("4 MiB", "9 MiB")

    def test_metadata_in_files(self) -> None:
        node = _server(BEEGFS_META, "storeUseExtendedAttribs = true", "storeUseExtendedAttribs = false")
        assert change_of(BEEGFS_METADATA_ATTRIBUTES, node).value == "file contents"

    def test_metadata_on_parity(self) -> None:
        node = beegfs_server().with_files({"sys/block/md1/md/level": "raid6"})
        change = change_of(BEEGFS_METADATA_RAID, node)
        assert (change.subject, change.value) == ("/meta/beegfs", "raid6 md1")

    @pytest.mark.parametrize("rule", SERVER_RULES[1:], ids=lambda rule: rule.name)
    def test_settings_that_cannot_be_read(self, rule: Rule) -> None:
        node = beegfs_server().with_unreadable(BEEGFS_META, BEEGFS_STORAGE)
        assert not_readable(rule, node)

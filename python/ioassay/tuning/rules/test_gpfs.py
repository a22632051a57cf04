from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import change_of, fine, judged, not_applicable, not_readable
from ioassay.testing.storage_nodes import (
    MMDIAG_CONFIG,
    MMFS_CFG,
    MMLSFS,
    Node,
    ext4_host,
    gpfs_client,
    infiniband,
    plugged,
)
from ioassay.tuning.rule import NotReadable, Rule
from ioassay.tuning.rules.gpfs import (
    GPFS_ACCESS_TIMES,
    GPFS_ALLOCATION_MAP,
    GPFS_BLOCK_SIZE,
    GPFS_FILE_CACHE,
    GPFS_NUMA_INTERLEAVE,
    GPFS_PAGE_POOL,
    GPFS_RDMA,
    GPFS_THROUGHPUT_ESTIMATE,
    GPFS_WORKER_THREADS,
    RULES,
)
from ioassay.tuning.system import Array

DAEMON_RULES = RULES[:6]
FILE_SYSTEM_RULES = RULES[6:]
ARRAY = Array(data_disks=8, segment_bytes=512 << 10, parity_disks=2)


def _running(old: str, new: str) -> Node:
    assert old in MMDIAG_CONFIG
    return gpfs_client().with_printed({"mmdiag --config": MMDIAG_CONFIG.replace(old, new)})


def _file_system(old: str, new: str) -> Node:
    assert old in MMLSFS
    return gpfs_client().with_printed({"mmlsfs all -Y": MMLSFS.replace(old, new)})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_well_set_client_is_fine(rule: Rule) -> None:
    assert fine(rule, gpfs_client(), array=ARRAY)


@pytest.mark.parametrize("rule", DAEMON_RULES, ids=lambda rule: rule.name)
def test_a_well_set_client_whose_daemon_is_down(rule: Rule) -> None:
    assert fine(rule, gpfs_client().with_printed({"mmdiag --config": None}))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_gpfs(rule: Rule) -> None:
    assert not_applicable(rule, ext4_host(), array=ARRAY)


@pytest.mark.parametrize("rule", DAEMON_RULES, ids=lambda rule: rule.name)
def test_a_configuration_that_cannot_be_read(rule: Rule) -> None:
    node = gpfs_client().with_printed({"mmdiag --config": None}).with_unreadable("var/mmfs/gen/mmfs.cfg")
    assert not_readable(rule, node)


@pytest.mark.parametrize("rule", DAEMON_RULES, ids=lambda rule: rule.name)
def test_the_configuration_file_stands_in_for_a_silent_daemon_and_without_it_the_error_is_named(
    rule: Rule,
) -> None:
    node = gpfs_client().with_failed({"mmdiag --config": "mmfsd is not running"})
    assert fine(rule, node)
    unreadable = not_readable(rule, node.with_files({"var/mmfs/gen/mmfs.cfg": None}))
    assert unreadable == [NotReadable("mmdiag --config", "exit status 1: mmfsd is not running")]


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (GPFS_ALLOCATION_MAP, "blockAllocationType"),
        (GPFS_BLOCK_SIZE, "blockSize"),
        (GPFS_ACCESS_TIMES, "suppressAtime"),
    ],
)
def test_attributes_that_are_not_listed(rule: Rule, name: str) -> None:
    text = "\n".join(line for line in MMLSFS.splitlines() if f":{name}:" not in line)
    assert not_readable(rule, gpfs_client().with_printed({"mmlsfs all -Y": text}), array=ARRAY)


@pytest.mark.parametrize("rule", [GPFS_WORKER_THREADS, GPFS_FILE_CACHE, GPFS_PAGE_POOL], ids=lambda rule: rule.name)
def test_defaults_of_what_is_not_configured(rule: Rule) -> None:
    node = gpfs_client().with_printed({"mmdiag --config": None})
    assert change_of(rule, node.with_files({"var/mmfs/gen/mmfs.cfg": "clusterName x\n"})).command.startswith(
        "mmchconfig"
    )


class TestPagePool:
    def test_the_default(self) -> None:
        change = change_of(GPFS_PAGE_POOL, _running("pagepool 8589934592", "pagepool 1073741824"))
        assert (change.value, change.wanted, change.command) == (
            "1 GiB",
            "4 GiB",
            "mmchconfig pagepool=4G -i -N node17",
        )

    def test_more_than_gpfs_takes(self) -> None:
        change = change_of(GPFS_PAGE_POOL, _running("pagepool 8589934592", "pagepool 60G"))
        assert (change.value, change.wanted) == ("60 GiB", "48 GiB")

    def test_a_share_of_memory(self) -> None:
        assert fine(GPFS_PAGE_POOL, _running("pagepool 8589934592", "pagepool 25%")) == ["16 GiB"]

    def test_a_dynamic_pool(self) -> None:
        node = _running("dynamicPagepoolEnabled no", "dynamicPagepoolEnabled yes")
        assert "dynamic" in not_applicable(GPFS_PAGE_POOL, node)

    def test_no_size(self) -> None:
        assert not_readable(GPFS_PAGE_POOL, _running("pagepool 8589934592", "pagepool much"))

    def test_the_section_of_the_node_counts(self) -> None:
        node = gpfs_client().with_printed({"mmdiag --config": None})
        assert fine(GPFS_PAGE_POOL, node) == ["8 GiB"]
        other = MMFS_CFG.replace("[node17]", "[node18]")
        assert change_of(GPFS_PAGE_POOL, node.with_files({"var/mmfs/gen/mmfs.cfg": other})).value == "1 GiB"


class TestDaemon:
    def test_an_estimate_below_the_network(self) -> None:
        change = change_of(GPFS_THROUGHPUT_ESTIMATE, _running("maxMBpS 24000", "maxMBpS 2048"))
        assert (change.value, change.wanted) == ("2048 MB/s", "25000 MB/s")
        assert change.because == "its fastest link carries 12500 MB/s"

    def test_an_estimate_without_a_network(self) -> None:
        node = gpfs_client().with_files({"sys/devices/pci0000:00": None})
        assert not_readable(GPFS_THROUGHPUT_ESTIMATE, node)

    def test_threads_and_files(self) -> None:
        assert change_of(GPFS_WORKER_THREADS, _running("workerThreads 512", "workerThreads 48")).wanted == "512 threads"
        change = change_of(GPFS_FILE_CACHE, _running("maxFilesToCache 50000", "maxFilesToCache 4000"))
        assert change.because == "20000 files take about 58 MiB"

    def test_rdma(self) -> None:
        change = change_of(GPFS_RDMA, _running("verbsRdma enable", "verbsRdma disable"))
        assert change.command == 'mmchconfig verbsRdma=enable,verbsPorts="mlx5_0/1" -N node17'
        assert "InfiniBand" in not_applicable(GPFS_RDMA, gpfs_client().with_files({"sys/devices/pci0000:00": None}))

    def test_a_port_that_gpfs_does_not_use(self) -> None:
        assert (
            change_of(GPFS_RDMA, plugged(gpfs_client(), infiniband("mlx5_1"))).because
            == "mlx5_1/1 is active and unused"
        )

    def test_a_port_with_its_fabric(self) -> None:
        assert fine(GPFS_RDMA, _running("verbsPorts mlx5_0/1", "verbsPorts mlx5_0/1/2"))

    def test_numa(self) -> None:
        change = change_of(GPFS_NUMA_INTERLEAVE, _running("numaMemoryInterleave yes", "numaMemoryInterleave no"))
        assert change.because == "it has 2 NUMA nodes"
        without_second_node = gpfs_client().with_files({"sys/devices/system/node/node1": None})
        assert "one NUMA node" in not_applicable(GPFS_NUMA_INTERLEAVE, without_second_node)


class TestFileSystems:
    def test_blocks_that_are_no_stripes(self) -> None:
        change = change_of(GPFS_BLOCK_SIZE, gpfs_client(), array=Array(data_disks=8, segment_bytes=1 << 20))
        assert (change.value, change.wanted) == ("4096 KiB", "8192 KiB")

    def test_no_block_size_fits(self) -> None:
        change = change_of(GPFS_BLOCK_SIZE, gpfs_client(), array=Array(data_disks=9, segment_bytes=128 << 10))
        assert "power of two, not 9" in change.command

    def test_a_raid_that_is_not_known(self) -> None:
        assert "--raid" in not_applicable(GPFS_BLOCK_SIZE, gpfs_client())

    def test_clustered_blocks(self) -> None:
        assert change_of(GPFS_ALLOCATION_MAP, _file_system("scatter", "cluster")).because == "it was made for 512 nodes"
        few = MMLSFS.replace("scatter", "cluster").replace("512", "8")
        assert fine(GPFS_ALLOCATION_MAP, gpfs_client().with_printed({"mmlsfs all -Y": few})) == ["cluster"]

    def test_access_times(self) -> None:
        change = change_of(GPFS_ACCESS_TIMES, _file_system("relatime", "no"))
        assert change.command == "mmchfs scratch -S relatime"


def test_every_value_that_is_not_readable_names_itself() -> None:
    judgements = judged(GPFS_PAGE_POOL, _running("pagepool 8589934592", "pagepool much"))
    assert [judgement.what for judgement in judgements if isinstance(judgement, NotReadable)] == ["pagepool"]

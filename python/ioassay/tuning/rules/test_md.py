from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import assignments, change_of, changes_of, fine, not_applicable, not_readable
from ioassay.testing.storage_nodes import Node, ext4_host, nfs_server
from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.md import (
    MD_CHUNK_SIZE,
    MD_COMPLETENESS,
    MD_EQUAL_MEMBERS,
    MD_STRIPE_CACHE,
    MD_SYNC_SPEED,
    MD_WORKER_THREADS,
    RULES,
)

MD = "sys/block/md0/md"


def _with(**attributes: object) -> Node:
    return nfs_server().with_files({f"{MD}/{name}": value for name, value in attributes.items()})


def _on_flash(**attributes: object) -> Node:
    return _with(**attributes).with_files({f"sys/block/sd{letter}/queue/rotational": 0 for letter in "bcdefghijk"})


@pytest.mark.parametrize(
    "rule", [MD_COMPLETENESS, MD_STRIPE_CACHE, MD_CHUNK_SIZE, MD_EQUAL_MEMBERS], ids=lambda rule: rule.name
)
def test_a_well_set_array_is_fine(rule: Rule) -> None:
    assert fine(rule, nfs_server())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_arrays(rule: Rule) -> None:
    assert "no array" in not_applicable(rule, ext4_host())


@pytest.mark.parametrize(
    ("rule", "attribute"),
    [
        (MD_COMPLETENESS, "degraded"),
        (MD_SYNC_SPEED, "sync_action"),
        (MD_STRIPE_CACHE, "stripe_cache_size"),
        (MD_CHUNK_SIZE, "chunk_size"),
    ],
)
def test_attributes_that_cannot_be_read(rule: Rule, attribute: str) -> None:
    [unreadable] = not_readable(rule, nfs_server().with_unreadable(f"{MD}/{attribute}"))
    assert unreadable.what == f"/{MD}/{attribute}"


class TestStripeCache:
    def test_the_default(self) -> None:
        change = change_of(MD_STRIPE_CACHE, _with(stripe_cache_size=256))
        assert assignments(change) == {"block:md0/md/stripe_cache_size": "1024"}
        assert change.because == "that takes 40 MiB of memory: 1024 pages × 10 members × 4 KiB"

    def test_larger_chunks_need_more(self) -> None:
        change = change_of(MD_STRIPE_CACHE, _with(stripe_cache_size=256, chunk_size=512 << 10))
        assert change.wanted == "4096 pages a member"

    def test_memory_is_the_limit(self) -> None:
        change = change_of(MD_STRIPE_CACHE, _with(stripe_cache_size=256, chunk_size=16 << 20))
        # 2 % of 64 GiB hold 33,554 pages of ten members.
        assert change.wanted == "32768 pages a member"

    def test_levels_without_parity(self) -> None:
        assert "raid10" in not_applicable(MD_STRIPE_CACHE, _with(level="raid10"))


class TestWorkerThreads:
    def test_one_thread_for_flash(self) -> None:
        assert assignments(change_of(MD_WORKER_THREADS, _on_flash())) == {"block:md0/md/group_thread_cnt": "8"}
        assert fine(MD_WORKER_THREADS, _on_flash(group_thread_cnt=4)) == ["4 threads for each NUMA node"]

    def test_hard_disks_need_no_more(self) -> None:
        assert "hard disks" in not_applicable(MD_WORKER_THREADS, nfs_server())

    def test_not_during_a_resync(self) -> None:
        change = change_of(MD_WORKER_THREADS, _on_flash(sync_action="resync"))
        assert change.assignments == ()
        assert "hung" in change.because

    def test_a_count_that_cannot_be_read(self) -> None:
        assert not_readable(MD_WORKER_THREADS, _on_flash().with_unreadable(f"{MD}/group_thread_cnt"))
        assert not_readable(MD_WORKER_THREADS, _on_flash(group_thread_cnt=None))


class TestChunkSize:
    def test_a_stripe_beyond_a_transfer(self) -> None:
        change = change_of(MD_CHUNK_SIZE, _with(chunk_size=512 << 10))
        assert change.value == "512 KiB × 8 data disks = 4096 KiB"
        assert change.command == "mdadm --grow --chunk=128 --backup-file=FILE /dev/md0"

    def test_disks_that_are_no_power_of_two(self) -> None:
        assert "power of two" in change_of(MD_CHUNK_SIZE, _with(raid_disks=12)).command

    def test_striping_alone(self) -> None:
        assert "raid0" in not_applicable(MD_CHUNK_SIZE, _with(level="raid0"))


class TestCompleteness:
    def test_a_missing_member(self) -> None:
        assert change_of(MD_COMPLETENESS, _with(degraded=1)).value == "1 of 10 members missing"

    def test_a_recovery(self) -> None:
        change = change_of(MD_COMPLETENESS, _with(degraded=1, sync_action="recover", sync_completed="1000 / 4000"))
        assert change.value == "1 of 10 members missing, recover 25 % done"

    def test_from_the_list_alone(self) -> None:
        text = (
            "Personalities : [raid6] [raid5] [raid4]\n"
            "md0 : active raid6 sdb[10] sdk[9] sdj[8] sdi[7] sdh[6] sdg[5] sdf[4] sde[3] sdd[2] sdc[1](F)\n"
            "      31254511616 blocks super 1.2 level 6, 128k chunk, algorithm 2 [10/9] [_UUUUUUUUU]\n"
            "      [==>..................]  recovery = 12.6% (492256640/3906813952) finish=127.5min speed=33440K/sec\n"
            "\nunused devices: <none>\n"
        )
        node = nfs_server().with_files({MD: None, "proc/mdstat": text})
        assert change_of(MD_COMPLETENESS, node).value == "1 of 10 members missing, recovery 13 % done"

    def test_nothing_is_known(self) -> None:
        assert not_readable(MD_COMPLETENESS, nfs_server().with_files({MD: None, "proc/mdstat": None}))


class TestSyncSpeed:
    def test_an_idle_array(self) -> None:
        assert "not being synchronised" in not_applicable(MD_SYNC_SPEED, nfs_server())

    def test_a_resync_with_a_raised_minimum(self) -> None:
        change = change_of(MD_SYNC_SPEED, _with(sync_action="resync", sync_speed_min="50000 (local)"))
        assert assignments(change) == {"block:md0/md/sync_speed_min": "1000"}
        assert fine(MD_SYNC_SPEED, _with(sync_action="check"))

    def test_a_minimum_that_is_not_known(self) -> None:
        assert not_readable(MD_SYNC_SPEED, _with(sync_action="resync", sync_speed_min=None))


class TestEqualMembers:
    def test_one_odd_queue(self) -> None:
        node = nfs_server().with_files(
            {"sys/block/sdd/queue/scheduler": "mq-deadline kyber bfq [none]", "sys/block/sdd/queue/nr_requests": 32}
        )
        changes = changes_of(MD_EQUAL_MEMBERS, node)
        assert [assignments(change) for change in changes] == [
            {"block:sdd/scheduler": "mq-deadline"},
            {"block:sdd/nr_requests": "64"},
        ]

    def test_one_odd_disk(self) -> None:
        change = change_of(
            MD_EQUAL_MEMBERS, nfs_server().with_files({"sys/block/sdd/queue/write_cache": "write through"})
        )
        assert (change.value, change.assignments) == ("sdd: write through", ())

    def test_members_that_are_not_known(self) -> None:
        node = nfs_server().with_files({f"sys/block/sd{letter}": None for letter in "bcdefghijk"})
        assert "not known" in not_applicable(MD_EQUAL_MEMBERS, node)

    def test_a_queue_that_cannot_be_read(self) -> None:
        assert not_readable(MD_EQUAL_MEMBERS, nfs_server().with_unreadable("sys/block/sdd/queue/nr_requests"))

from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import assignments, change_of, fine, judged, not_applicable, not_readable
from ioassay.testing.storage_nodes import MOUNTINFO, Node, ext4_host, nfs_client, nfs_server
from ioassay.tuning.rule import Change, NotJudged, Rule
from ioassay.tuning.rules.nfs import (
    NFS_ATTRIBUTE_CACHE,
    NFS_CONNECTIONS,
    NFS_EXPORT_SYNC,
    NFS_HARD_MOUNT,
    NFS_LOOKUP_CACHE,
    NFS_READ_AHEAD,
    NFS_RPC_SLOTS,
    NFS_SERVER_BLOCK_SIZE,
    NFS_SERVER_POOL_MODE,
    NFS_SERVER_THREADS,
    NFS_SESSION_SLOTS,
    NFS_SYNCHRONOUS_WRITES,
    NFS_TRANSFER_SIZE,
    NFS_TRANSPORT,
    NFS_TRUNKING,
    RULES,
)

CLIENT_RULES = RULES[:11]
SERVER_RULES = RULES[11:]

_TCP = "hard,proto=tcp,nconnect=8,timeo=600,retrans=2,sec=sys,mountaddr"
"""In the options of /scratch, and nowhere else."""


def _with_option(old: str, new: str) -> Node:
    return nfs_client().with_text(MOUNTINFO, old, new)


@pytest.mark.parametrize(
    "rule",
    [rule for rule in CLIENT_RULES if rule not in (NFS_SESSION_SLOTS, NFS_TRUNKING)],
    ids=lambda rule: rule.name,
)
def test_a_well_set_client_is_fine(rule: Rule) -> None:
    assert fine(rule, nfs_client())


@pytest.mark.parametrize("rule", SERVER_RULES, ids=lambda rule: rule.name)
def test_a_well_set_server_is_fine(rule: Rule) -> None:
    assert fine(rule, nfs_server())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_nfs(rule: Rule) -> None:
    assert not_applicable(rule, ext4_host())


@pytest.mark.parametrize("rule", CLIENT_RULES, ids=lambda rule: rule.name)
def test_mounts_that_cannot_be_read(rule: Rule) -> None:
    [unreadable] = not_readable(rule, nfs_client().with_unreadable(MOUNTINFO))
    assert unreadable.what == "/proc/self/mountinfo"


def test_every_mount_is_judged_without_a_target() -> None:
    assert len(fine(NFS_TRANSFER_SIZE, Node(nfs_client().host, nfs_client().files))) == 4


class TestTransferSize:
    def test_small_transfers(self) -> None:
        change = change_of(NFS_TRANSFER_SIZE, _with_option("vers=3,rsize=1048576", "vers=3,rsize=65536"))
        assert (change.subject, change.value, change.wanted) == ("/scratch rsize", "64 KiB", "1024 KiB")
        assert assignments(change) == {"mount:/scratch/rsize": "1048576"}
        assert "umount /scratch && mount /scratch" in change.command

    def test_udp_has_other_worries(self) -> None:
        assert "UDP" in not_applicable(NFS_TRANSFER_SIZE, _with_option(_TCP, "hard,proto=udp,mountaddr"))

    def test_a_size_that_is_not_listed(self) -> None:
        [unreadable] = not_readable(NFS_TRANSFER_SIZE, _with_option("vers=3,rsize=1048576,", "vers=3,"))
        assert unreadable.what == "/scratch rsize"


class TestConnections:
    one_connection = "hard,proto=tcp,timeo=600,retrans=2,sec=sys,mountaddr"

    @pytest.mark.parametrize(("megabits", "wanted"), [(100_000, "16"), (25_000, "8"), (10_000, "8")])
    def test_one_connection_on_a_fast_link(self, megabits: int, wanted: str) -> None:
        speed = "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/net/ens1f0/speed"
        change = change_of(NFS_CONNECTIONS, _with_option(_TCP, self.one_connection).with_files({speed: megabits}))
        assert (change.value, change.wanted) == ("1 connection", wanted)
        assert assignments(change) == {"mount:/scratch/nconnect": wanted}

    def test_one_connection_fills_a_slow_link(self) -> None:
        speed = "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/net/ens1f0/speed"
        node = _with_option(_TCP, self.one_connection).with_files({speed: 1000})
        assert "1 Gb/s" in not_applicable(NFS_CONNECTIONS, node)

    def test_a_link_of_unknown_speed(self) -> None:
        speed = "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/net/ens1f0/speed"
        [unreadable] = not_readable(NFS_CONNECTIONS, _with_option(_TCP, self.one_connection).with_unreadable(speed))
        assert "speed" in unreadable.reason

    def test_rdma_and_udp(self) -> None:
        node = _with_option(_TCP, self.one_connection.replace("proto=tcp", "proto=rdma"))
        assert "RDMA" in not_applicable(NFS_CONNECTIONS, node)

    def test_other_mounts_of_the_server_are_named(self) -> None:
        node = _with_option(_TCP, self.one_connection)
        line = node.files[MOUNTINFO].splitlines()[1].replace(" / /scratch ", " / /tools ").replace("0:52", "0:54")
        node = Node(node.host, {**node.files, MOUNTINFO: f"{node.files[MOUNTINFO]}{line}\n"}, node.links)
        reasons = [judgement.because for judgement in judged(NFS_CONNECTIONS, node) if isinstance(judgement, Change)]
        assert any("set it for /tools as well" in because for because in reasons)


class TestTrunking:
    fstab = "homes:/home /home nfs vers=4.1,trunkdiscovery 0 0\n"

    def test_a_server_whose_addresses_only_the_user_knows(self) -> None:
        (judgement,) = judged(NFS_TRUNKING, nfs_client().with_target("/home"))
        assert isinstance(judgement, NotJudged)
        assert "several addresses" in judgement.why

    def test_addresses_that_are_found_and_dropped(self) -> None:
        change = change_of(NFS_TRUNKING, nfs_client().with_target("/home").with_files({"etc/fstab": self.fstab}))
        assert assignments(change) == {"mount:/home/max_connect": "16"}

    def test_addresses_that_are_used(self) -> None:
        node = nfs_client().with_target("/home").with_text(MOUNTINFO, "vers=4.1,", "vers=4.1,max_connect=4,")
        assert "other addresses" in fine(NFS_TRUNKING, node)[0]
        assert "by trunkdiscovery" in fine(NFS_TRUNKING, node.with_files({"etc/fstab": self.fstab}))[0]

    def test_nfs_3_has_no_sessions(self) -> None:
        assert "NFS 3" in not_applicable(NFS_TRUNKING, nfs_client())


class TestCaches:
    def test_noac(self) -> None:
        change = change_of(NFS_ATTRIBUTE_CACHE, _with_option("vers=3,", "vers=3,noac,"))
        assert assignments(change) == {"mount:/scratch/noac": "off"}
        assert "noac" in not_applicable(NFS_SYNCHRONOUS_WRITES, _with_option("vers=3,", "vers=3,noac,sync,"))

    def test_attributes_that_expire_at_once(self) -> None:
        zeros = "vers=3,acregmin=0,acregmax=0,acdirmin=0,acdirmax=0,"
        change = change_of(NFS_ATTRIBUTE_CACHE, _with_option("vers=3,", zeros))
        assert assignments(change)["mount:/scratch/acdirmin"] == "30"

    def test_longer_times_are_fine(self) -> None:
        assert fine(NFS_ATTRIBUTE_CACHE, _with_option("vers=3,", "vers=3,acregmax=600,")) == ["acregmax=600"]

    def test_lookups(self) -> None:
        change = change_of(NFS_LOOKUP_CACHE, _with_option("vers=3,", "vers=3,lookupcache=none,"))
        assert assignments(change) == {"mount:/scratch/lookupcache": "pos"}

    def test_synchronous_writes(self) -> None:
        change = change_of(NFS_SYNCHRONOUS_WRITES, _with_option("rw,vers=3", "rw,sync,vers=3"))
        assert assignments(change) == {"mount:/scratch/sync": "off"}


class TestSafety:
    def test_udp(self) -> None:
        change = change_of(NFS_TRANSPORT, _with_option(_TCP, "hard,proto=udp,mountaddr"))
        assert (change.value, assignments(change)) == ("UDP", {"mount:/scratch/proto": "tcp"})

    @pytest.mark.parametrize("option", ["soft", "softerr"])
    def test_soft_mounts(self, option: str) -> None:
        node = _with_option(_TCP, f"{option},proto=tcp,mountaddr")
        assert assignments(change_of(NFS_HARD_MOUNT, node)) == {f"mount:/scratch/{option}": "off"}

    def test_a_read_only_soft_mount_loses_nothing(self) -> None:
        node = _with_option("rw,vers=3", "ro,vers=3").with_text(MOUNTINFO, _TCP, "soft,mountaddr")
        assert "read-only" in not_applicable(NFS_HARD_MOUNT, node)


class TestReadAhead:
    path = "sys/devices/virtual/bdi/0:52/read_ahead_kb"

    def test_the_default_since_5_4(self) -> None:
        change = change_of(NFS_READ_AHEAD, nfs_client().with_files({self.path: 128}))
        assert assignments(change) == {"sys:class/bdi/0:52/read_ahead_kb": "15360"}

    def test_one_read_ahead_is_enough(self) -> None:
        assert fine(NFS_READ_AHEAD, nfs_client().with_files({self.path: 1024})) == ["1024 KiB"]

    def test_a_value_that_cannot_be_read(self) -> None:
        assert len(not_readable(NFS_READ_AHEAD, nfs_client().with_unreadable(self.path))) == 1
        assert len(not_readable(NFS_READ_AHEAD, nfs_client().with_files({self.path: None}))) == 1


class TestSlots:
    def test_few_slots(self) -> None:
        node = nfs_client().with_files({"proc/sys/sunrpc/tcp_max_slot_table_entries": 16})
        assert assignments(change_of(NFS_RPC_SLOTS, node)) == {"sysctl:sunrpc.tcp_max_slot_table_entries": "128"}

    def test_slots_that_cannot_be_read(self) -> None:
        assert not_readable(NFS_RPC_SLOTS, nfs_client().with_files({"proc/sys/sunrpc": None}))

    def test_sessions_have_their_own_limit(self) -> None:
        node = nfs_client().with_target("/home/u")
        assert "nfs-session-slots" in not_applicable(NFS_RPC_SLOTS, node)
        assert "nfs-rpc-slots" in not_applicable(NFS_SESSION_SLOTS, nfs_client())
        assert fine(NFS_SESSION_SLOTS, node) == ["up to 180 calls"]

    def test_the_default_of_sessions(self) -> None:
        node = nfs_client().with_target("/home/u").with_files({"sys/module/nfs/parameters/max_session_slots": 64})
        assert assignments(change_of(NFS_SESSION_SLOTS, node)) == {"module:nfs/max_session_slots": "180"}
        gone = nfs_client().with_target("/home/u").with_files({"sys/module/nfs": None})
        assert not_readable(NFS_SESSION_SLOTS, gone)


class TestServer:
    def test_the_default_number_of_threads(self) -> None:
        change = change_of(NFS_SERVER_THREADS, nfs_server().with_files({"proc/fs/nfsd/threads": 8}))
        assert (change.value, change.wanted) == ("8 threads", "64 threads")
        assert "nfsconf --set nfsd threads 64" in change.command

    def test_packets_that_wait_ask_for_threads(self) -> None:
        stats = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 1000 400 600 0\n"
        node = nfs_server().with_files({"proc/fs/nfsd/threads": 32, "proc/fs/nfsd/pool_stats": stats})
        assert change_of(NFS_SERVER_THREADS, node).because == "40% of packets found no idle thread"
        assert fine(NFS_SERVER_THREADS, node.with_files({"proc/fs/nfsd/pool_stats": None})) == ["32 threads"]

    def test_threads_from_the_statistics(self) -> None:
        node = nfs_server().with_files({"proc/fs/nfsd": None, "proc/net/rpc/nfsd": "rc 0 0 0\nth 8 0 0.000 0.000\n"})
        assert change_of(NFS_SERVER_THREADS, node).value == "8 threads"

    @pytest.mark.parametrize("rule", SERVER_RULES[:3], ids=lambda rule: rule.name)
    def test_a_server_that_is_stopped(self, rule: Rule) -> None:
        assert "no NFS server" in not_applicable(rule, nfs_server().with_files({"proc/fs/nfsd/threads": 0}))

    @pytest.mark.parametrize("rule", SERVER_RULES[:3], ids=lambda rule: rule.name)
    def test_a_server_that_cannot_be_read(self, rule: Rule) -> None:
        assert not_readable(rule, nfs_server().with_unreadable("proc/fs/nfsd/threads"))

    def test_small_blocks(self) -> None:
        change = change_of(NFS_SERVER_BLOCK_SIZE, nfs_server().with_files({"proc/fs/nfsd/max_block_size": 262144}))
        assert (change.value, change.assignments) == ("256 KiB", ())
        assert "echo 1048576 > /proc/fs/nfsd/max_block_size" in change.command
        assert not_readable(NFS_SERVER_BLOCK_SIZE, nfs_server().with_files({"proc/fs/nfsd/max_block_size": None}))

    def test_one_pool_for_two_nodes(self) -> None:
        path = "sys/module/sunrpc/parameters/pool_mode"
        change = change_of(NFS_SERVER_POOL_MODE, nfs_server().with_files({path: "global"}))
        assert (change.wanted, change.because) == ("pernode", "it has 2 NUMA nodes")
        assert not_readable(NFS_SERVER_POOL_MODE, nfs_server().with_files({path: None}))
        without_second_node = nfs_server().with_files({"sys/devices/system/node/node1": None})
        assert "one NUMA node" in not_applicable(NFS_SERVER_POOL_MODE, without_second_node)


class TestExports:
    # What exportfs of nfs-utils 2.6 printed for exports with these options.
    printed = (
        "/srv/a  \t10.0.0.0/24(async,wdelay,hide,no_subtree_check,sec=sys,rw,no_root_squash,no_all_squash)\n"
        "/srv/a_very_long_directory_name_of_an_export\n"
        "\t\t@trusted(sync,no_wdelay,hide,no_subtree_check,sec=sys,rw,root_squash,no_all_squash)\n"
        "/srv/a  \t<world>(async,wdelay,hide,no_subtree_check,sec=sys,ro,root_squash,no_all_squash)\n"
    )

    def test_async_exports(self) -> None:
        change = change_of(NFS_EXPORT_SYNC, nfs_server().with_printed({"exportfs -v": self.printed}))
        assert (change.subject, change.wanted) == ("/srv/a for 10.0.0.0/24", "sync")

    def test_exports_as_configured(self) -> None:
        files = {
            "etc/exports": '# all\n"/srv/with space" *(rw,async) \\\n  10.0.0.1(rw)\n/srv/ro *(ro,async)\n',
            "etc/exports.d/more.exports": "/srv/more host(rw,async,no_root_squash)\n",
            "etc/exports.d/ignored": "/srv/ignored host(rw,async)\n",
        }
        node = nfs_server().with_printed({"exportfs -v": None}).with_files(files)
        subjects = [judgement.subject for judgement in judged(NFS_EXPORT_SYNC, node) if isinstance(judgement, Change)]
        assert subjects == ["/srv/with space for *", "/srv/more for host"]

    def test_exports_that_cannot_be_read(self) -> None:
        node = nfs_server().with_printed({"exportfs -v": None}).with_unreadable("etc/exports")
        assert not_readable(NFS_EXPORT_SYNC, node)

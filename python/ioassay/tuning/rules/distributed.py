"""Rules about clients of Ceph, WEKA and DAOS."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import (
    Change,
    Fine,
    Judgement,
    NotApplicable,
    NotJudged,
    NotReadable,
    Rule,
    Source,
    each,
    missing,
)
from ioassay.tuning.system import System
from ioassay.tuning.system.ceph import RbdDevice, cephfs_mounts, rbd_devices
from ioassay.tuning.system.mounts import Mount, configured_options
from ioassay.tuning.system.numbers import is_whole

MOUNT_CEPH = Source("Ceph 20 (Tentacle), mount.ceph(8)", "https://docs.ceph.com/en/tentacle/man/8/mount.ceph/")
RBD = Source("Ceph 20 (Tentacle), rbd(8): kernel rbd options", "https://docs.ceph.com/en/tentacle/man/8/rbd/")

NO_CEPHFS = "the kernel mounts no CephFS here, or the target does not lie on it"
NO_RBD = "no image of RBD is mapped here, or none lies below the target"


def mount_again(point: str, what: str) -> str:
    """The command for an option that is agreed on when it is mounted."""
    return f"{what} in /etc/fstab, then: umount {point} && mount {point}"


WEKA_MOUNTING = Source(
    "WEKA 3.14, Mounting Filesystems", "https://github.com/weka/docs-weka-io/blob/3.14/fs/mounting-filesystems.md"
)
WEKA_MODES = Source(
    "WEKA 3.14, Weka Client and Mount Modes",
    "https://github.com/weka/docs-weka-io/blob/3.14/overview/weka-client-and-mount-modes.md",
)

NO_WEKA = "no file system of WEKA is mounted here, or the target does not lie on it"


def weka_mounts(system: System) -> list[Mount]:
    """The mounts to judge: the target's, or without a target all."""
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    return [mount for mount in mounts if mount.file_system == "wekafs"]


_TRANSFER_SIZE_OBJECT = 4 << 20
"""The object size of CephFS, unless a directory's layout has another."""


def _transfer_size(mount: Mount) -> Iterator[Judgement]:
    """How much one request to an OSD carries."""
    for option, operation in (("wsize", "writes"), ("rsize", "reads")):
        subject, text = f"{mount.point} {operation}", mount.options.get(option)
        if text is None:
            yield Fine(subject, f"the default {option}, at least 16 MiB")
        elif not is_whole(text):
            yield NotReadable(subject, f"{option}={text} is no size")
        elif int(text) < _TRANSFER_SIZE_OBJECT:
            now, wanted = format_bytes(int(text)), f"at least {format_bytes(_TRANSFER_SIZE_OBJECT)}"
            usual = format_bytes(_TRANSFER_SIZE_OBJECT)
            because = f"an object has {usual} unless its layout says otherwise, and takes several requests"
            yield Change(subject, now, wanted, because, command=mount_again(mount.point, f"leave {option} out"))
        else:
            yield Fine(subject, format_bytes(int(text)))


CEPHFS_TRANSFER_SIZE = Rule(
    name="cephfs-transfer-size",
    title="Let one request of CephFS carry a whole object",
    area="Ceph",
    reason="Each request costs a round trip to an OSD. The defaults of rsize and wsize, 16 MiB or more, never split "
    "an object of the default layout; writes take the smaller of wsize and the stripe unit.",
    risk="None known; memory of the client while requests are under way.",
    sources=(
        MOUNT_CEPH,
        Source("Ceph 20 (Tentacle), File layouts", "https://docs.ceph.com/en/tentacle/cephfs/file-layouts/"),
    ),
    judge=lambda system: each(cephfs_mounts(system), _transfer_size, otherwise=NO_CEPHFS),
    parameters=("rsize", "wsize"),
)


_CEPH_READ_AHEAD_DEFAULT = 8 << 20


def _ceph_read_ahead(mount: Mount) -> Iterator[Judgement]:
    """How far a client of CephFS reads ahead."""
    text = mount.options.get("rasize")
    if text is None:
        yield Fine(mount.point, f"the default, {format_bytes(_CEPH_READ_AHEAD_DEFAULT)}")
    elif not is_whole(text):
        yield NotReadable(f"read-ahead of {mount.point}", f"rasize={text} is no size")
    elif int(text) < _CEPH_READ_AHEAD_DEFAULT:
        because = "a sequential reader waits for an OSD at each object, where two could be read at once"
        command = mount_again(mount.point, f"set rasize={_CEPH_READ_AHEAD_DEFAULT}")
        yield Change(
            mount.point, format_bytes(int(text)), format_bytes(_CEPH_READ_AHEAD_DEFAULT), because, command=command
        )
    else:
        yield Fine(mount.point, format_bytes(int(text)))


CEPHFS_READ_AHEAD = Rule(
    name="cephfs-read-ahead",
    title="Read at least 8 MiB ahead on CephFS",
    area="Ceph",
    reason="Eight MiB is the default and two objects of the default layout, so that two OSDs work for one sequential "
    "reader.",
    risk="Random readers fetch data that they do not use. More can help single streams over many OSDs: sweep it.",
    sources=(MOUNT_CEPH,),
    judge=lambda system: each(cephfs_mounts(system), _ceph_read_ahead, otherwise=NO_CEPHFS),
    parameters=("rasize",),
)


def _messenger(mount: Mount) -> Iterator[Judgement]:
    """How what goes to Ceph's servers is protected on its way."""
    mode = mount.options.get("ms_mode", "legacy")
    if "nocrc" in mount.options:
        because = "data that the network damages is stored as it arrives"
        yield Change(mount.point, "nocrc", "crc", because, command=mount_again(mount.point, "leave nocrc out"))
    elif mode in ("secure", "prefer-secure"):
        why = "depends on whether others can listen on the network: encryption costs processor time on every byte"
        yield NotJudged(mount.point, f"ms_mode={mode}", why)
    else:
        yield Fine(mount.point, f"ms_mode={mode}, checksums and no encryption")


CEPH_MESSENGER = Rule(
    name="ceph-messenger",
    title="Send checksums with data to Ceph, and encrypt where the network is shared",
    area="Ceph",
    reason="nocrc sends writes without checksums, so that damage on the way is stored; secure encrypts every message.",
    risk="crc in place of secure lets others on the network read data: ask who runs the cluster.",
    sources=(MOUNT_CEPH, RBD),
    judge=lambda system: each(cephfs_mounts(system), _messenger, otherwise=NO_CEPHFS),
    parameters=("ms_mode", "nocrc"),
)


_RBD_QUEUE_DEPTH_DEFAULT = 128


def _rbd_queue_depth(device: RbdDevice) -> Iterator[Judgement]:
    """How many requests of a mapped image are under way."""
    options = device.options
    if options is None:
        yield NotReadable(f"options of {device.name}", "config_info has none; Linux has it since 4.9")
        return
    text = options.get("queue_depth", str(_RBD_QUEUE_DEPTH_DEFAULT))
    if not is_whole(text):
        yield NotReadable(f"queue_depth of {device.name}", f"{text} is no number")
    elif int(text) < _RBD_QUEUE_DEPTH_DEFAULT:
        because = "requests wait in the node while OSDs could work on them"
        command = f"rbd device unmap /dev/{device.name}, then map it with -o queue_depth={_RBD_QUEUE_DEPTH_DEFAULT}"
        yield Change(device.name, f"{text} requests", f"{_RBD_QUEUE_DEPTH_DEFAULT} requests", because, command=command)
    else:
        yield Fine(device.name, f"{text} requests")


RBD_QUEUE_DEPTH = Rule(
    name="rbd-queue-depth",
    title="Let at least 128 requests of a mapped RBD image be under way",
    area="Ceph",
    reason="Each request is a round trip to an OSD, and an image is spread over all of them: throughput is the "
    "requests under way times their size by this time. 128 is the default.",
    risk="The image has to be unmapped. Many images with deep queues can overload the OSDs.",
    sources=(RBD,),
    judge=lambda system: each(rbd_devices(system), _rbd_queue_depth, otherwise=NO_RBD),
    parameters=("queue_depth",),
)


def _network_mode(mount: Mount, system: System) -> Iterator[Judgement]:
    """How a client of WEKA reaches its servers."""
    options = {**mount.options, **configured_options(system.snapshot, mount)}
    if "net" not in options and "num_cores" not in options and "core" not in options:
        yield NotReadable(f"network of {mount.point}", "neither the kernel nor /etc/fstab lists net and num_cores")
    elif options.get("net", "") == "udp" or options.get("num_cores") == "0":
        command = (
            f"give the client a core and a device: mount -o num_cores=1 -o net=DEVICE {mount.source} {mount.point}"
        )
        because = "the kernel's network carries each message, instead of DPDK on a core of the client's own"
        yield Change(mount.point, "UDP through the kernel", "DPDK", because, command=command)
    else:
        cores = options.get("num_cores") or ("those of core=" if "core" in options else "1")
        yield Fine(mount.point, f"DPDK, frontend cores: {cores}")


WEKA_NETWORK_MODE = Rule(
    name="weka-network-mode",
    title="Connect WEKA clients by DPDK and not by UDP",
    area="WEKA",
    reason="UDP is for nodes on which DPDK cannot be used; with DPDK the client polls its network device on cores of "
    "its own, one by default.",
    risk="The cores are lost to applications, whose ranks have to be bound to others; dedicated_mode=none gives them "
    "back where the adapter's driver can.",
    sources=(
        WEKA_MOUNTING,
        Source(
            "WEKA 3.14, Networking in WekaIO",
            "https://github.com/weka/docs-weka-io/blob/3.14/overview/networking-in-wekaio.md",
        ),
    ),
    judge=lambda system: each(weka_mounts(system), lambda mount: _network_mode(mount, system), otherwise=NO_WEKA),
    parameters=("net", "num_cores"),
)


def _cache_mode(mount: Mount) -> Iterator[Judgement]:
    """When a client of WEKA confirms a write."""
    if "writecache" in mount.options:
        yield Fine(mount.point, "writecache: writes are stored in the background, fsync() waits")
    elif "readcache" in mount.options:
        why = (
            "depends on whether applications call fsync(): writecache answers writes from memory, much faster, and a "
            "crash of the client loses what was not synchronised"
        )
        yield NotJudged(mount.point, "readcache: each write waits until it is stored", why)
    else:
        yield missing(f"cache mode of {mount.point}")


WEKA_CACHE_MODE = Rule(
    name="weka-cache-mode",
    title="Know what a write to WEKA waits for",
    area="WEKA",
    reason="With readcache a write is confirmed when it is stored; with writecache, the default, when it is in the "
    "client's page cache, and stored in the background.",
    risk="writecache loses confirmed writes of a client that crashes before fsync(); rates without fsync() measure "
    "its memory. Both stay coherent between nodes.",
    sources=(WEKA_MODES, WEKA_MOUNTING),
    judge=lambda system: each(weka_mounts(system), _cache_mode, otherwise=NO_WEKA),
    parameters=("readcache", "writecache"),
)


_WEKA_READ_AHEAD_DEFAULT_KB = 32768


def _weka_read_ahead(mount: Mount) -> Iterator[Judgement]:
    """How far a client of WEKA reads ahead."""
    now = mount.options.get("readahead_kb", "")
    if not is_whole(now):
        yield missing(f"readahead_kb of {mount.point}")
    elif int(now) < _WEKA_READ_AHEAD_DEFAULT_KB:
        because = "sequential readers of large files wait for the network more often than by default"
        command = f"mount -o remount,readahead_kb={_WEKA_READ_AHEAD_DEFAULT_KB} {mount.point}"
        yield Change(mount.point, f"{now} KiB", f"{_WEKA_READ_AHEAD_DEFAULT_KB} KiB", because, command=command)
    else:
        yield Fine(mount.point, f"{now} KiB")


WEKA_READ_AHEAD = Rule(
    name="weka-read-ahead",
    title="Read at least 32 MiB ahead on WEKA",
    area="WEKA",
    reason="More read-ahead is better for sequential reads of large files; 32768 KiB is the default.",
    risk="Random reads of small blocks fetch data that nobody uses: lower it for them.",
    sources=(WEKA_MOUNTING, WEKA_MODES),
    judge=lambda system: each(weka_mounts(system), _weka_read_ahead, otherwise=NO_WEKA),
    parameters=("readahead_kb",),
)


def _interception(system: System) -> Iterator[Judgement]:
    """Whether I/O of DFuse bypasses the kernel."""
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    daos_mounts = [mount for mount in mounts if mount.file_system == "fuse.daos"]
    if not daos_mounts:
        yield NotApplicable("no DFuse is mounted here, or the target does not lie on it")
    yield from each(daos_mounts, _interception_of_mount)


def _interception_of_mount(mount: Mount) -> Iterator[Judgement]:
    why = (
        "depends on the application's environment: set LD_PRELOAD=libioil.so, or libpil4dfs.so for metadata, too; "
        "D_IL_REPORT=1 shows whether it is used"
    )
    yield NotJudged(mount.point, "DFuse, through the kernel unless a library intercepts I/O", why)


DAOS_INTERCEPTION = Rule(
    name="daos-interception",
    title="Use DAOS's interception library with DFuse",
    area="DAOS",
    reason="Each read and write of DFuse passes the kernel and a daemon; the library sends it to the servers from the "
    "application. DAOS's manual shows 4.3 instead of 1.5 GB/s for one stream of dd.",
    risk="The kernel's cache is bypassed, so that reading again is not faster. Statically linked programs are not "
    "intercepted.",
    sources=(
        Source(
            "DAOS 2.8, File System: Interception Library libioil",
            "https://github.com/daos-stack/daos/blob/v2.8.0/docs/user/filesystem.md",
        ),
    ),
    judge=_interception,
    parameters=("LD_PRELOAD",),
    weight="large",
    weight_reason="its source measured a factor of 2.9",
)


RULES: tuple[Rule, ...] = (
    CEPHFS_TRANSFER_SIZE,
    CEPHFS_READ_AHEAD,
    CEPH_MESSENGER,
    RBD_QUEUE_DEPTH,
    WEKA_NETWORK_MODE,
    WEKA_CACHE_MODE,
    WEKA_READ_AHEAD,
    DAOS_INTERCEPTION,
)

"""Rules about how commands reach a device: NVMe over fabrics, SAS adapters, multipath."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from ioassay.tuning.rule import (
    Assignment,
    Bounds,
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
from ioassay.tuning.rules.block import each_device, multipath_above
from ioassay.tuning.rules.sources import LARGE_IO_TEXT, LINUX_LARGE_IO, MPT3SAS, MULTIPATH_CONF
from ioassay.tuning.system import System
from ioassay.tuning.system.block import Adapter, BlockDevice
from ioassay.tuning.system.fabrics import Controller, Subsystem, controllers, subsystems

NVME_MULTIPATH = Source("Linux, NVMe multipath", "https://docs.kernel.org/admin-guide/nvme-multipath.html")
NVME_FABRICS = Source(
    "Linux 6.12, drivers/nvme/host/fabrics.c: nvmf_parse_options, and fabrics.h: NVMF_DEF_QUEUE_SIZE (128)",
    "https://github.com/torvalds/linux/blob/v6.12/drivers/nvme/host/fabrics.c",
)
NVME_CONNECT = Source(
    "nvme-cli, nvme-connect(1)",
    "https://github.com/linux-nvme/nvme-cli/blob/master/Documentation/nvme-connect.txt",
)

NO_FABRICS = "no controller of NVMe over fabrics is connected, or none lies below the target"


SAS_DRIVERS = ("mpt3sas", "mpt2sas")


def scsi_adapters(system: System) -> Mapping[str, Adapter]:
    """The adapters of the devices that the system is judged for, by name."""
    adapters = (device.adapter for device in system.concerned())
    return {adapter.name: adapter for adapter in adapters if adapter is not None}


def each_sas_adapter(system: System, judge: Callable[[Adapter], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each adapter of these drivers; where there is none, why the rule does not apply."""
    known = scsi_adapters(system)
    ours = [adapter for adapter in known.values() if adapter.driver in SAS_DRIVERS]
    return each(ours, judge, otherwise=_of_other_drivers(known.values()))


def _of_other_drivers(known: Iterable[Adapter]) -> str:
    """The reason where no adapter has these options, with the drivers that there are."""
    drivers = sorted({adapter.driver for adapter in known if adapter.driver})
    if not drivers:
        return "no disk hangs on a SCSI adapter"
    return f"the driver {' and '.join(drivers)} has no such option; it is one of mpt2sas and mpt3sas"


def module_of(system: System, adapter: Adapter) -> str:
    """The module that takes the options: since Linux 4.4 mpt3sas drives the adapters of mpt2sas too."""
    return "mpt3sas" if system.snapshot.exists("sys/module/mpt3sas/parameters") else adapter.driver


def reload_command(option: str, value: int, driver: str) -> str:
    """How an option is set that a module takes only when it is loaded."""
    return (
        f"echo options {driver} {option}={value} > /etc/modprobe.d/{driver}-{option}.conf; dracut -f (rebuilds the "
        "initramfs); then reboot"
    )


def _connection_state(controller: Controller) -> Iterator[Judgement]:
    """Whether all connections carry requests."""
    state, subject = controller.text("state"), f"{controller.name} ({controller.transport})"
    if not state:
        yield missing(f"/sys/class/nvme/{controller.name}/state")
    elif state == "live":
        yield Fine(subject, state)
    else:
        because = "its share of the requests goes over other paths, or waits"
        yield Change(subject, state, "live", because, command="nvme list-subsys; look at the link and at dmesg")


NVME_CONNECTION_STATE = Rule(
    name="nvme-connection-state",
    title="Measure NVMe over fabrics with all its connections",
    area="NVMe over fabrics",
    reason="A controller that reconnects carries nothing; requests wait, or the other paths carry them, until it is "
    "live or given up (ctrl_loss_tmo).",
    risk="None: repair the path.",
    sources=(NVME_FABRICS, NVME_MULTIPATH),
    judge=lambda system: each(controllers(system), _connection_state, otherwise=NO_FABRICS),
    parameters=("state",),
)


def _path_policy(subsystem: Subsystem) -> Iterator[Judgement]:
    """How a path to a subsystem is chosen."""
    paths = len(subsystem.controllers)
    if paths < 2:
        yield NotApplicable(f"{subsystem.name} has one path")
    elif not subsystem.policy:
        yield missing(f"/sys/class/nvme-subsystem/{subsystem.name}/iopolicy")
    elif subsystem.policy == "numa":
        because = f"each NUMA node uses one of {paths} paths, so that a process has the bandwidth of one"
        assignment = Assignment(f"sys:class/nvme-subsystem/{subsystem.name}/iopolicy", "round-robin")
        yield Change(subsystem.name, "numa", "round-robin", because, (assignment,))
    else:
        yield Fine(subsystem.name, f"{subsystem.policy} over {paths} paths")


NVME_PATH_POLICY = Rule(
    name="nvme-path-policy",
    title="Use all paths of NVMe over fabrics",
    area="NVMe over fabrics",
    reason="The default policy, numa, sends each request over the path nearest to its processor; round-robin uses all "
    "optimised paths in turn, queue-depth the one with the fewest requests under way, of which both raise bandwidth.",
    risk="Paths on another NUMA node cost latency. round-robin suits paths of equal speed, queue-depth small requests "
    "at a high load. The value is lost at reboot: keep it as nvme_core.iopolicy on the kernel's command line.",
    sources=(NVME_MULTIPATH,),
    judge=lambda system: each(subsystems(system), _path_policy, otherwise=NO_FABRICS),
    parameters=("iopolicy",),
)


def _queue_count(controller: Controller, processors: int) -> Iterator[Judgement]:
    """How many queues a connection has."""
    count, subject = controller.number("queue_count"), f"{controller.name} ({controller.transport})"
    if count is None:
        yield missing(f"/sys/class/nvme/{controller.name}/queue_count")
        return
    # One of them is for administration.
    now, each_has = count - 1, "its own TCP connection" if controller.transport == "tcp" else "its own queue pair"
    if now >= max(processors, 1):
        yield Fine(subject, f"{now} queues for {processors} processors")
    elif now <= 1 < processors:
        because = f"{processors} processors share one queue, which has {each_has}"
        command = f"nvme disconnect -d {controller.name}, then: nvme connect --nr-io-queues={processors} …"
        yield Change(subject, f"{max(now, 0)} queues", f"{processors} queues", because, command=command)
    else:
        why = (
            "depends on the target, which may grant no more; without --nr-io-queues the host asks for one a processor, "
            f"{processors}"
        )
        yield NotJudged(subject, f"{now} queues for {processors} processors", why)


NVME_QUEUE_COUNT = Rule(
    name="nvme-queue-count",
    title="Give each processor a queue of its own to an NVMe target",
    area="NVMe over fabrics",
    reason="Each queue has its own connection and thread; the default is one for each processor, so that none waits "
    "for another.",
    risk="A target has a limit for all hosts together: many hosts with many queues exhaust it, and those that come "
    "last get fewer. The volume has to be disconnected.",
    sources=(NVME_FABRICS, NVME_CONNECT),
    judge=lambda system: each(
        controllers(system), lambda controller: _queue_count(controller, system.processors), otherwise=NO_FABRICS
    ),
    parameters=("queue_count", "nr-io-queues"),
)


_QUEUE_SIZE_DEFAULT = 128


def _queue_size(controller: Controller) -> Iterator[Judgement]:
    """How many commands a queue of a connection holds."""
    last, subject = controller.number("sqsize"), f"{controller.name} ({controller.transport})"
    if last is None:
        yield missing(f"/sys/class/nvme/{controller.name}/sqsize")
        return
    # The protocol counts from 0.
    now = last + 1
    if now < _QUEUE_SIZE_DEFAULT:
        because = "the connection was made with a smaller one, or the target accepts no more"
        command = f"nvme disconnect -d {controller.name}, then: nvme connect --queue-size={_QUEUE_SIZE_DEFAULT} …"
        yield Change(subject, f"{now} commands", f"{_QUEUE_SIZE_DEFAULT} commands", because, command=command)
    else:
        yield Fine(subject, f"{now} commands")


NVME_QUEUE_SIZE = Rule(
    name="nvme-queue-size",
    title="Let a queue of NVMe over fabrics hold 128 commands",
    area="NVMe over fabrics",
    reason="On a network a command takes much longer than on PCI Express, so more of them have to be under way for "
    "the same rate; 128 a queue is Linux's default.",
    risk="The target has the last word. More commands under way raise latency where the target is the limit.",
    sources=(NVME_FABRICS, NVME_CONNECT),
    judge=lambda system: each(controllers(system), _queue_size, otherwise=NO_FABRICS),
    parameters=("sqsize", "queue-size"),
)


_LARGE_BYTES = 1 << 20
_MAX_SGL_ENTRIES_MOST = 256
"""The most that the kernel's configuration offers."""


def _max_sgl_entries(adapter: Adapter, system: System) -> Iterator[Judgement]:
    """How many pieces of memory one SAS command may have."""
    now, page = adapter.sg_tablesize, system.page_bytes
    wanted = min(_MAX_SGL_ENTRIES_MOST, _LARGE_BYTES // page)
    if now is None:
        yield NotReadable(f"sg_tablesize of {adapter.name}", "its driver does not say")
    elif now >= wanted:
        yield Fine(adapter.name, _max_sgl_entries_shown(now, page))
    else:
        module = module_of(system, adapter)
        old = module == "mpt2sas"
        yield Change(
            adapter.name,
            _max_sgl_entries_shown(now, page),
            _max_sgl_entries_shown(wanted, page),
            "mpt2sas takes no more than CONFIG_SCSI_MPT2SAS_MAX_SGE; where that is 128, rebuild the module"
            if old
            else "",
            (Assignment(f"module:{module}/max_sgl_entries", str(wanted)),),
            reload_command("max_sgl_entries", wanted, module),
        )


def _max_sgl_entries_shown(entries: int, page_bytes: int) -> str:
    return f"{entries} segments, {entries * page_bytes >> 10} KiB of scattered pages"


MAX_SGL_ENTRIES = Rule(
    name="max-sgl-entries",
    title="Give SAS commands enough segments for 1 MiB of scattered pages",
    area="adapter",
    reason="Pages of the page cache and of RPCs are rarely contiguous, so a command of 128 segments carries 512 KiB: "
    "the driver halves every RPC of 1 MiB, and the array reads parity for each half. This was the main cause of the "
    "study's low throughput.",
    risk="Memory for each command of the adapter grows. It takes effect when the module is loaded, which for the "
    "adapter of the root file system means a reboot. Newer mpt3sas takes 256 with a warning in the log and needs no "
    "rebuilt module, unlike the study's.",
    sources=(
        LINUX_LARGE_IO,
        LARGE_IO_TEXT,
        MPT3SAS,
        Source(
            "Linux, drivers/scsi/mpt3sas/Kconfig: SCSI_MPT3SAS_MAX_SGE",
            "https://github.com/torvalds/linux/blob/master/drivers/scsi/mpt3sas/Kconfig",
        ),
    ),
    judge=lambda system: each_sas_adapter(system, lambda adapter: _max_sgl_entries(adapter, system)),
    weight="large",
    weight_reason="this was the main cause of the study's low throughput",
    parameters=("max_sgl_entries", "sg_tablesize", "SCSI_MPT2SAS_MAX_SGE"),
)


_MAX_QUEUE_DEPTH_WANTED = 600
_OF_THE_DRIVER = 60
"""The driver keeps up to a tenth of its commands for itself, so that fewer remain for disks."""


def _max_queue_depth(adapter: Adapter, system: System) -> Iterator[Judgement]:
    """How many commands a SAS adapter holds."""
    now, module = adapter.can_queue, module_of(system, adapter)
    if now is None:
        yield NotReadable(f"can_queue of {adapter.name}", "its driver does not say")
        return
    configured = system.snapshot.number(f"sys/module/{module}/parameters/max_queue_depth")
    if now >= _MAX_QUEUE_DEPTH_WANTED - _OF_THE_DRIVER:
        yield Fine(adapter.name, f"{now} commands")
    elif configured is not None and configured >= _MAX_QUEUE_DEPTH_WANTED:
        yield Fine(adapter.name, f"{now} commands, the most that its firmware takes")
    else:
        yield Change(
            adapter.name,
            f"{now} commands",
            f"{_MAX_QUEUE_DEPTH_WANTED} commands",
            "" if configured is None or configured < 0 else f"the option max_queue_depth={configured} limits it",
            (Assignment(f"module:{module}/max_queue_depth", str(_MAX_QUEUE_DEPTH_WANTED)),),
            reload_command("max_queue_depth", _MAX_QUEUE_DEPTH_WANTED, module),
        )


MAX_QUEUE_DEPTH = Rule(
    name="max-queue-depth",
    title="Let a SAS adapter hold at least 600 commands",
    area="adapter",
    reason="All arrays behind an adapter share its commands. With six LUNs of ten disks each, fewer than 600 leave "
    "disks idle although requests wait.",
    risk="The option is an upper limit: on adapters whose firmware takes thousands, as most of 12 Gbit/s do, setting "
    "600 would lower it, so it is recommended only below that. It takes effect when the module is loaded.",
    sources=(LINUX_LARGE_IO, LARGE_IO_TEXT, MPT3SAS),
    judge=lambda system: each_sas_adapter(system, lambda adapter: _max_queue_depth(adapter, system)),
    parameters=("max_queue_depth", "can_queue"),
)


_FULL_NCQ = 32
"""The commands that one SATA disk queues (NCQ); SAS disks and arrays take more."""

_LIBATA = Source("Linux, libata: NCQ", "https://docs.kernel.org/driver-api/libata.html")
_QUEUE_DEPTH_BOUNDS = Bounds(
    _LIBATA, least=2, below="its command queueing is switched off, and it works on one command at a time"
)


def _queue_depth(device: BlockDevice) -> Iterator[Judgement]:
    """How many commands a LUN holds."""
    now = device.number("device/queue_depth") if device.kind == "scsi" else None
    if now is None:
        yield NotApplicable(f"{device.name} is no SCSI disk with a queue depth")
        return
    wanted, because = max(now, _deepest_sibling(device)), "the other paths of its multipath device take more"
    adapter = device.adapter
    breach = _QUEUE_DEPTH_BOUNDS.breach(now)
    if breach and adapter is not None and adapter.can_queue == now:
        yield Fine(device.name, f"{now} command, all that {adapter.name} takes")
        return
    if breach:
        wanted, because = max(wanted, _FULL_NCQ), breach
    if wanted == now:
        yield Fine(device.name, f"{now} commands")
    else:
        assignment = Assignment(f"block:{device.name}/device/queue_depth", str(wanted))
        yield Change(
            device.name, f"{now} commands", f"{wanted} commands", because, (assignment,), is_harmful=bool(breach)
        )


def _deepest_sibling(device: BlockDevice) -> int:
    """The largest depth among the paths of the same multipath device."""
    upper = multipath_above(device)
    depths = [path.number("device/queue_depth") or 0 for path in upper.below] if upper else []
    return max(depths, default=0)


QUEUE_DEPTH = Rule(
    name="queue-depth",
    title="Give all paths of a LUN the same queue depth, with command queueing on",
    area="adapter",
    reason="A LUN stands for many disks, which work at once only on several commands. The kernel lowers a path's depth "
    "when the array reports a full queue, and drivers set 1 after errors; the path then carries less than its share.",
    risk="An array whose queue is full rejects commands; where the log shows that, lower the depth of all paths "
    "instead. SATA disks behind the adapter take at most 32.",
    sources=(
        Source("Linux, SCSI mid_low_api: scsi_track_queue_full", "https://docs.kernel.org/scsi/scsi_mid_low_api.html"),
        _LIBATA,
    ),
    judge=lambda system: each_device(system, _queue_depth),
    parameters=("queue_depth",),
    bounds={"queue_depth": _QUEUE_DEPTH_BOUNDS},
)


def each_multipath(system: System, judge: Callable[[BlockDevice], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each multipath device; where there is none, that."""
    devices = [device for device in system.concerned() if device.kind == "multipath"]
    return each(devices, judge, otherwise="there is no multipath device")


_BY_LOAD = ("service-time", "queue-length", "historical-service-time", "io-affinity")


def _path_selector(device: BlockDevice, system: System) -> Iterator[Judgement]:
    """How multipath chooses a path for a request."""
    if len(device.below) < 2:
        yield NotApplicable(f"{device.name} has one path")
    elif (table := _path_selector_table(device, system)) is None:
        yield NotReadable(f"the path selector of {device.name}", "the snapshot has no output of `dmsetup table`")
    else:
        selectors = [name for name in (*_BY_LOAD, "round-robin") if re.search(rf"(?<![\w-]){name} ", table)]
        if selectors and "round-robin" not in selectors:
            yield Fine(device.name, selectors[0])
        elif not selectors:
            yield NotReadable(f"the path selector of {device.name}", "its table names none that is known")
        else:
            yield Change(
                device.name,
                "round-robin",
                "service-time",
                command='In /etc/multipath.conf: defaults { path_selector "service-time 0" }. Then: multipathd '
                "reconfigure",
            )


def _path_selector_table(device: BlockDevice, system: System) -> str | None:
    """The device's line of `dmsetup table`."""
    printed = system.snapshot.printed("dmsetup", "table")
    name = device.text("dm/name")
    if printed is None or not name:
        return None
    return next((line for line in printed.splitlines() if line.startswith(f"{name}:")), None)


MULTIPATH_PATH_SELECTOR = Rule(
    name="multipath-path-selector",
    title="Choose the path by its load and not in turn",
    area="adapter",
    reason="Paths in turn give a slow path as many requests as a fast one, so the slow one sets the pace; service-time "
    "sends each request where it is expected to finish first.",
    risk="With paths of equal speed nothing is gained. Follow the array's vendor where its guide names a selector.",
    sources=(
        MULTIPATH_CONF,
        Source("Linux, dm-service-time", "https://docs.kernel.org/admin-guide/device-mapper/dm-service-time.html"),
    ),
    judge=lambda system: each_multipath(system, lambda device: _path_selector(device, system)),
    parameters=("path_selector",),
)


_MULTIPATH_PATHS_PATH = re.compile(r"\d+:\d+:\d+:\d+\s+(?P<name>\S+)\s+\d+:\d+\s+(?P<states>.+)$")
"""`|- 1:0:0:1 sdb 8:16 active ready running`: what the device mapper, the checker and the kernel say of it."""
_MULTIPATH_PATHS_GOOD = ({"active", "undef"}, {"ready", "ghost", "undef"}, {"running", "unknown"})


def _multipath_paths(device: BlockDevice, system: System) -> Iterator[Judgement]:
    """Whether all paths to a device are up."""
    states = _multipath_paths_states(system.snapshot.printed("multipath", "-ll") or "", device.name)
    if not states:
        yield missing(f"the paths of {device.name} in multipath -ll")
        return
    bad = [
        f"{name}: {' '.join(words)}"
        for name, words in states.items()
        if any(word not in good for word, good in zip(words, _MULTIPATH_PATHS_GOOD, strict=False))
    ]
    if bad:
        because = "the other paths carry its requests, and what is measured is not what all paths can do"
        command = "multipathd show paths; look at cable, switch and dmesg"
        yield Change(device.name, ", ".join(bad), f"{len(states)} paths up", because, command=command)
    else:
        yield Fine(device.name, f"{len(states)} paths up")


def _multipath_paths_states(printed: str, name: str) -> dict[str, list[str]]:
    """The paths of a device, `dm-3`, with the three states of each."""
    states: dict[str, list[str]] = {}
    is_own = False
    for line in printed.splitlines():
        if re.match(r"\S", line) and (header := re.search(r"(?<!\S)(dm-\d+)(?!\S)", line)):
            is_own = header[1] == name
        elif is_own and (path := _MULTIPATH_PATHS_PATH.search(line)):
            states[path["name"]] = path["states"].split()[:3]
    return states


MULTIPATH_PATHS = Rule(
    name="multipath-paths",
    title="Measure multipath devices with all their paths",
    area="adapter",
    reason="A failed path takes its bandwidth with it, and requests that were on it were repeated after a timeout.",
    risk="None: repair the path.",
    sources=(
        Source(
            "multipath-tools 0.14, multipath(8)",
            "https://github.com/opensvc/multipath-tools/blob/0.14.3/multipath/multipath.8.in",
        ),
    ),
    judge=lambda system: each_multipath(system, lambda device: _multipath_paths(device, system)),
    parameters=("paths",),
)


RULES: tuple[Rule, ...] = (
    NVME_CONNECTION_STATE,
    NVME_PATH_POLICY,
    NVME_QUEUE_COUNT,
    NVME_QUEUE_SIZE,
    MAX_SGL_ENTRIES,
    MAX_QUEUE_DEPTH,
    QUEUE_DEPTH,
    MULTIPATH_PATH_SELECTOR,
    MULTIPATH_PATHS,
)

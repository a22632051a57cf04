"""How a client of WEKA reaches its servers."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.rules.weka.sources import NO_WEKA, WEKA_MOUNTING, weka_mounts
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount, configured_options


def _judge(system: System) -> Iterator[Judgement]:
    return each(weka_mounts(system), lambda mount: _mount(mount, system), otherwise=NO_WEKA)


def _mount(mount: Mount, system: System) -> Iterator[Judgement]:
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


RULE = Rule(
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
    judge=_judge,
    parameters=("net", "num_cores"),
)

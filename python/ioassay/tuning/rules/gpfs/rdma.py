"""Whether GPFS moves data with RDMA."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.gpfs.sources import MMCHCONFIG, NO_GPFS
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import gpfs_config
from ioassay.tuning.system.network import ports


def _judge(system: System) -> Iterator[Judgement]:
    config = gpfs_config(system.snapshot)
    if config is None:
        yield NotApplicable(NO_GPFS)
        return
    active = [port for port in ports(system.snapshot) if port.is_active and port.is_infiniband]
    if not active:
        yield NotApplicable("this node has no active InfiniBand port")
        return
    names = " ".join(port.name for port in active)
    now = config.text("verbsRdma") or "disable"
    used = (config.text("verbsPorts") or "").split()
    if now != "enable":
        command = f'mmchconfig verbsRdma=enable,verbsPorts="{names}" -N {system.host}'
        yield Change(system.host, f"verbsRdma={now}", "verbsRdma=enable", f"{names} is active", command=command)
    elif used and (idle := [port.name for port in active if not _is_used(port.name, used)]):
        because = f"{' '.join(idle)} is active and unused"
        command = f'mmchconfig verbsPorts="{names}" -N {system.host}'
        yield Change(system.host, f"verbsPorts={' '.join(used)}", f"verbsPorts={names}", because, command=command)
    else:
        yield Fine(system.host, "verbsRdma=enable")


def _is_used(port: str, listed: list[str]) -> bool:
    """Whether `mlx5_0/1` is among ports like `mlx5_0/1/2`, with a fabric, or `mlx5_0`, all of an adapter."""
    return any(port == name or port.split("/", maxsplit=1)[0] == name or name.startswith(f"{port}/") for name in listed)


RULE = Rule(
    name="gpfs-rdma",
    title="Let GPFS use RDMA on InfiniBand",
    area="GPFS",
    reason="Without RDMA, data between servers and clients passes through TCP on IP over InfiniBand, which copies it "
    "and costs processor time.",
    risk="It takes effect when GPFS restarts on the node; both ends need it. The whole page pool is registered with "
    "the adapter: with old mlx4 adapters registration fails above what their translation tables cover.",
    sources=(
        MMCHCONFIG,
        Source(
            "IBM Storage Scale, RDMA tuning",
            "https://www.ibm.com/docs/en/storage-scale/5.2.3?topic=administering-rdma-tuning",
        ),
    ),
    judge=_judge,
    parameters=("verbsRdma", "verbsPorts"),
)

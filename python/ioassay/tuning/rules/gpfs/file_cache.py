"""How many files' metadata GPFS keeps."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.gpfs.sources import CACHES, NO_GPFS, TUNING
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import gpfs_config

_DEFAULT = 4000
_WANTED = 20_000
_BYTES_EACH = 3 << 10


def _judge(system: System) -> Iterator[Judgement]:
    config = gpfs_config(system.snapshot)
    if config is None:
        yield NotApplicable(NO_GPFS)
        return
    now = config.number("maxFilesToCache") or _DEFAULT
    if now > _DEFAULT:
        yield Fine(system.host, f"{now} files")
    else:
        because = f"{_WANTED} files take about {_WANTED * _BYTES_EACH >> 20} MiB"
        command = f"mmchconfig maxFilesToCache={_WANTED} -N {system.host}"
        yield Change(system.host, f"{now} files", f"{_WANTED} files", because, command=command)


RULE = Rule(
    name="gpfs-file-cache",
    title="Let GPFS cache more than 4000 files",
    area="GPFS",
    reason="Files that are open or were used lately need an entry; a node that works on more of them than "
    "maxFilesToCache evicts and fetches inodes and tokens all the time.",
    risk="It takes effect when GPFS restarts on the node. Each cached file is a token, which the token managers keep "
    "in memory: multiply by the number of nodes before raising it on all clients. IBM's case study used 20,000, "
    "protocol nodes of ESS 2,000,000.",
    sources=(
        TUNING,
        CACHES,
        Source(
            "IBM, Important Spectrum Scale parameters",
            "https://www.ibm.com/docs/en/linux-on-systems?topic=scale-important-spectrum-parameters",
        ),
    ),
    judge=_judge,
    parameters=("maxFilesToCache", "maxStatCache"),
)

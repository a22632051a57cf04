"""When a client of WEKA confirms a write."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Fine, Judgement, NotJudged, Rule, each, missing
from ioassay.tuning.rules.weka.sources import NO_WEKA, WEKA_MODES, WEKA_MOUNTING, weka_mounts
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    return each(weka_mounts(system), _mount, otherwise=NO_WEKA)


def _mount(mount: Mount) -> Iterator[Judgement]:
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


RULE = Rule(
    name="weka-cache-mode",
    title="Know what a write to WEKA waits for",
    area="WEKA",
    reason="With readcache a write is confirmed when it is stored; with writecache, the default, when it is in the "
    "client's page cache, and stored in the background.",
    risk="writecache loses confirmed writes of a client that crashes before fsync(); rates without fsync() measure "
    "its memory. Both stay coherent between nodes.",
    sources=(WEKA_MODES, WEKA_MOUNTING),
    judge=_judge,
    parameters=("readcache", "writecache"),
)
